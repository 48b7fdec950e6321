"""Programs: a candidate is a program in C++ or Python, and trying it is running it on the test cases."""

from __future__ import annotations

from llm.forms.answer import Answer
from llm.reasoning import answer_parts
from llm.records import Candidate, Outcome

NAMES = {"cpp": "C++17", "python": "Python 3"}
SKELETONS = {"cpp": "#include <bits/stdc++.h>\nint main() {\n    ...\n}", "python": "import sys\n..."}


class Program(Answer):
    """A problem that a program solves."""

    @property
    def statement(self) -> str:
        """The problem and what a program may do."""
        language = self.problem.language
        if self.problem.header:
            return self.render(
                "functions",
                description=self.problem.description.strip(),
                header=self.problem.header.strip(),
                header_name=self.problem.header_name,
            )
        return self.render(
            "program",
            description=self.problem.description.strip(),
            language=NAMES[language],
            fence=language,
            skeleton=SKELETONS[language],
        )

    def format_candidate(self, candidate: Candidate) -> str:
        """The program in a fence."""
        return f"```{self.problem.language}\n{candidate.source.strip()}\n```"

    def format_outcome(self, outcome: Outcome) -> str:
        """The program with the compiler's message, without the test cases."""
        said = f"\n\nThe compiler said:\n\n{outcome.reason}" if outcome.reason else ""
        return self.format_candidate(outcome.candidate) + said

    def final_answer(self, outcome: Outcome) -> str:
        """What it prints; a program that prints nothing is equal to no other."""
        return str(outcome.states.get("outputs") or f"{outcome.candidate.id} printed nothing")

    def same_answer(self, first: str, second: str) -> bool | None:
        """Whether both programs print the same."""
        return first == second

    def read(self, text: str) -> str | None:
        """The last complete program in the problem's language; one that implements functions includes their header."""
        return answer_parts.find_program(text, self.problem.language, self.problem.header_name)

    @property
    def wanted(self) -> str:
        """A program that is complete."""
        return "complete fenced program"
