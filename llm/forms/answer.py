"""Written answers: a candidate is the whole answer, and trying it is comparing its final answer with the reference."""

from __future__ import annotations

from collections.abc import Sequence

from llm.extract import strip_thinking
from llm.forms.form import Form
from llm.reasoning import answer_parts, equivalence
from llm.records import Candidate, Message, Outcome, Run


class Answer(Form):
    """A problem with a written answer. Prompts never hold a score, a reference answer or a test case."""

    prefix = "reasoning_"
    trial = Run
    traced = False
    checked = False

    @property
    def statement(self) -> str:
        """The problem and the headings of an answer."""
        sections = self.problem.sections
        return self.render(
            "answer",
            description=self.problem.description.strip(),
            headings="\n".join(f"## {title}" for title in sections),
            first=f"Under {sections[0]!r} write only the answer itself, with nothing around it.",
        )

    @property
    def first_prompt(self) -> tuple[Message, ...]:
        """The statement alone."""
        return self.chat(self.statement)

    def format_candidate(self, candidate: Candidate) -> str:
        """The answer itself, without its result."""
        return candidate.source.strip()

    def format_outcome(self, outcome: Outcome) -> str:
        """The answer itself, because its only result is a score."""
        return self.format_candidate(outcome.candidate)

    def format_entry(self, number: int, candidate: Candidate) -> str:
        """A number and the answer."""
        return self.render("judge_entry", number=number, answer=self.format_candidate(candidate))

    def example(self, outcome: Outcome, measures: bool = False) -> dict[str, str]:
        """The answer itself: it has no film."""
        return {"answer": self.format_candidate(outcome.candidate)}

    def describe_text(self, earlier: Outcome, later: Outcome, traces: bool) -> str:
        """Both answers: they have no traces."""
        shown = {"earlier": self.format_candidate(earlier.candidate), "later": self.format_candidate(later.candidate)}
        return self.render("describe", description=self.problem.description.strip(), **shown)

    def judge_text(self, order: Sequence[Outcome], worst: bool, pictures: Sequence[int]) -> str:
        """The problem and the answers under their numbers."""
        return self.render(
            "judge",
            description=self.problem.description.strip(),
            entries="\n\n".join(self.format_entry(number, o.candidate) for number, o in enumerate(order, 1)),
            worst=" and which is worst" if worst else "",
            answer="Best: <number>\nWorst: <number>" if worst else "Best: <number>",
        )

    def final_answer(self, outcome: Outcome) -> str:
        """The final answer, or the whole where it has none."""
        source = outcome.candidate.source
        return answer_parts.final_answer(source, self.problem.sections) or source

    def same_answer(self, first: str, second: str) -> bool | None:
        """Whether two final answers are equal by the rules; None where no rule decides."""
        return equivalence.compare_answers(first, second, self.problem.tolerance)

    def read(self, text: str) -> str | None:
        """The whole answer, if it has a final answer."""
        answer = strip_thinking(text).strip()
        return answer if answer_parts.final_answer(answer, self.problem.sections) else None

    @property
    def wanted(self) -> str:
        """The section of the final answer."""
        return f"section {self.problem.sections[0]!r}"
