"""Rewards: a candidate is a reward function, and trying it is training a robot under it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from llm import extract
from llm.forms.form import Form
from llm.messages import first_prompt, format_inputs, format_problem, format_states, format_trace
from llm.prompts import render
from llm.records import Candidate, Message, Outcome, Train


class Reward(Form):
    """A task for which a reward function is written."""

    prefix = ""
    trial = Train
    traced = True
    checked = True

    @property
    def statement(self) -> str:
        """Task, observation code, inputs and writing tips."""
        return format_problem(self.problem)

    @property
    def first_prompt(self) -> tuple[Message, ...]:
        """The statement, and that a reward function is wanted."""
        return first_prompt(self.problem)

    def format_candidate(self, candidate: Candidate) -> str:
        """The program in a fence."""
        return f"```python\n{candidate.annotated_source}\n```"

    def format_outcome(self, outcome: Outcome) -> str:
        """The program with its reward trace, or with why it could not be trained."""
        program = self.format_candidate(outcome.candidate)
        if not outcome.ok:
            return f"{program}\n\nIt could not be trained: {outcome.reason}"
        return f"{program}\n\nReward trace:\n{format_trace(outcome.trace)}"

    def format_entry(self, number: int, candidate: Candidate) -> str:
        """A heading that the offline writer knows, and the program."""
        return render("program", title=f"Parent {number}", source=candidate.annotated_source)

    def example(self, outcome: Outcome, measures: bool = False) -> dict[str, str]:
        """Program and reward trace; what the film shows in numbers where that is wanted and known."""
        measured = format_states(outcome.states) if measures else ""
        seen = f"\n\nMeasured in its film:\n{measured}" if measured else ""
        return {"source": outcome.candidate.annotated_source, "trace": format_trace(outcome.trace) + seen}

    def describe_text(self, earlier: Outcome, later: Outcome, traces: bool) -> str:
        """Both programs, with their traces only where prompts show traces, because the answer speaks of them."""
        programs = {"earlier": earlier.candidate.source.strip(), "later": later.candidate.source.strip()}
        description = self.problem.description.strip()
        if not traces:
            return render("describe_programs", description=description, **programs)
        numbers = {"earlier_trace": format_trace(earlier.trace), "later_trace": format_trace(later.trace)}
        return render("describe", description=description, **programs, **numbers)

    def judge_text(self, order: Sequence[Outcome], worst: bool, pictures: Sequence[int]) -> str:
        """Program and trace of each under its number, and which pictures show it."""
        entries = [render("judge_entry", number=number, **self.example(o)) for number, o in enumerate(order, 1)]
        return render(
            "judge",
            description=self.problem.description.strip(),
            inputs=format_inputs(self.problem),
            entries="\n\n".join(entries),
            sight=format_sight(pictures),
            worst=", and which made it do the task worst" if worst else "",
            answer="Best: <number>\nWorst: <number>" if worst else "Best: <number>",
        )

    def final_answer(self, outcome: Outcome) -> str:
        """The set of inputs that it rewards or punishes."""
        return f"Rewards what it reads from: {', '.join(sorted(extract.list_arguments(outcome.candidate.source)))}"

    def same_answer(self, first: str, second: str) -> bool | None:
        """True for the same inputs; else None, because only a model can decide."""
        return first == second or None

    def read(self, text: str) -> str | None:
        """The last program that defines compute_reward."""
        return extract.find_source(text)

    @property
    def wanted(self) -> str:
        """The function."""
        return f"Python function {extract.FUNCTION}"


def format_sight(pictures: Sequence[int]) -> str:
    """Which pictures show which number."""
    if not any(pictures):
        return render("judge_unseen").strip()
    ends = accumulate(pictures)
    places = [
        f"{end - count + 1} to {end} of number {number}" if count else f"none of number {number}"
        for number, (count, end) in enumerate(zip(pictures, ends, strict=True), 1)
    ]
    return render("judge_seen", places=", ".join(places)).strip()
