"""What differs between kinds of candidates: how a prompt states the problem and shows one, what of it a vote counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from llm import messages
from llm.reasoning import prompts
from llm.records import REWARD, Candidate, Message, Outcome, Problem


@dataclass(frozen=True)
class Form:
    """The texts of one problem."""

    chat: Callable[[str], tuple[Message, ...]]
    problem: str
    first: tuple[Message, ...]
    turn: str
    """Name of the prompt that asks for a revision."""
    judge_system: str
    """Name of the prompt that says who a judge is."""
    answer: Callable[[Candidate], str]
    """The candidate itself."""
    example: Callable[[Outcome], str]
    """The candidate with what trying it showed that is no score."""
    gist: Callable[[Outcome], str]
    """Its final answer."""
    same: Callable[[str, str], bool | None]
    """Whether two final answers are one; None where only a model could say."""


def form_of(problem: Problem) -> Form:
    """How this problem and answers to it are put into words."""
    if problem.form == REWARD:
        return Form(
            messages.chat,
            messages.problem_text(problem),
            messages.first_prompt(problem),
            "turn",
            "judge_system",
            messages.answer_text,
            messages.example_text,
            lambda outcome: messages.gist(outcome.candidate),
            lambda first, second: first == second or None,
        )
    return Form(
        prompts.chat,
        prompts.problem_text(problem),
        prompts.first_prompt(problem),
        "reasoning_turn",
        "reasoning_judge_system",
        partial(prompts.answer_text, problem),
        partial(prompts.example_text, problem),
        partial(prompts.gist, problem),
        partial(prompts.same, problem),
    )
