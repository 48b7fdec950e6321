"""The interface of a kind of problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from llm.prompts import render
from llm.records import Candidate, Message, Outcome, Problem, Run, Train


@dataclass(frozen=True)
class Form(ABC):
    """A problem of one kind."""

    problem: Problem
    prefix: ClassVar[str]
    """How the names of its prompt files begin."""
    trial: ClassVar[type[Train] | type[Run]]
    """The request that tries its candidates."""
    traced: ClassVar[bool]
    """Whether trying a candidate leaves a trace that prompts show."""
    checked: ClassVar[bool]
    """Whether a candidate is checked before it is tried, and repaired where it fails; else it is replaced."""

    def render(self, name: str, /, **values: str | int) -> str:
        """The prompt of this name for this kind of problem."""
        return render(self.prompt_name(name), **values)

    def prompt_name(self, name: str) -> str:
        """The file of the prompt of this name."""
        return self.prefix + name

    def chat(self, user: str) -> tuple[Message, ...]:
        """The two messages of every first request: who the model is, and what it is asked."""
        return self._messages("system", user)

    def judge_chat(self, user: str) -> tuple[Message, ...]:
        """The two messages to a model that judges."""
        return self._messages("judge_system", user)

    def _messages(self, system: str, user: str) -> tuple[Message, ...]:
        return ({"role": "system", "content": self.render(system)}, {"role": "user", "content": user})

    @property
    @abstractmethod
    def statement(self) -> str:
        """The problem and how to write a candidate, as prompts state it."""

    @property
    @abstractmethod
    def first_prompt(self) -> tuple[Message, ...]:
        """The prompt before there is any feedback."""

    @abstractmethod
    def format_candidate(self, candidate: Candidate) -> str:
        """The candidate as a prompt shows it."""

    @abstractmethod
    def format_outcome(self, outcome: Outcome) -> str:
        """The candidate with its results except scores."""

    @abstractmethod
    def format_entry(self, number: int, candidate: Candidate) -> str:
        """The candidate under a heading with its number."""

    @abstractmethod
    def example(self, outcome: Outcome, measures: bool = False) -> dict[str, str]:
        """The variables by which a prompt shows a candidate; `measures`: with the measurements of its film."""

    @abstractmethod
    def describe_text(self, earlier: Outcome, later: Outcome, traces: bool) -> str:
        """The question how the later of two bests differs; `traces`: whether it shows their traces."""

    @abstractmethod
    def judge_text(self, order: Sequence[Outcome], worst: bool, pictures: Sequence[int]) -> str:
        """The question which of these is best, and worst; `pictures`: the number that the model sees of each."""

    @abstractmethod
    def final_answer(self, outcome: Outcome) -> str:
        """What a vote counts."""

    @abstractmethod
    def same_answer(self, first: str, second: str) -> bool | None:
        """Whether two final answers are the same; None where only a model can decide."""

    @abstractmethod
    def read(self, text: str) -> str | None:
        """The candidate in what a model wrote; None where it holds none."""

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What `read` looks for, in words."""
