"""What is asked about reasoning problems, and what of an answer is shown to whom. Nothing here reads a score."""

from __future__ import annotations

from collections.abc import Sequence

from llm.extract import without_thinking
from llm.prompts import render
from llm.reasoning import equivalence, extract
from llm.records import PROGRAM, Candidate, Message, Outcome, Problem

NAMES = {"cpp": "C++17", "python": "Python 3"}
SKELETONS = {"cpp": "#include <bits/stdc++.h>\nint main() {\n    ...\n}", "python": "import sys\n..."}


def chat(user: str) -> tuple[Message, ...]:
    """The two messages of every first request."""
    return ({"role": "system", "content": render("reasoning_system")}, {"role": "user", "content": user})


def problem_text(problem: Problem) -> str:
    """The problem and how to write the answer."""
    description = problem.description.strip()
    if problem.form == PROGRAM:
        return render(
            "reasoning_program",
            description=description,
            language=NAMES[problem.language],
            fence=problem.language,
            skeleton=SKELETONS[problem.language],
        )
    headings = "\n".join(f"## {title}" for title in problem.sections)
    first = f"Under {problem.sections[0]!r} write only the answer itself, with nothing around it."
    return render("reasoning_answer", description=description, headings=headings, first=first)


def first_prompt(problem: Problem) -> tuple[Message, ...]:
    """The prompt before there is any feedback."""
    return chat(problem_text(problem))


def answer_text(problem: Problem, candidate: Candidate) -> str:
    """The answer itself, as prompts show it: never what became of it."""
    if problem.form == PROGRAM:
        return f"```{problem.language}\n{candidate.source.strip()}\n```"
    return candidate.source.strip()


def example_text(problem: Problem, outcome: Outcome) -> str:
    """The answer to reflect on; of a program also what the compiler said, but nothing of the test cases."""
    said = f"\n\nThe compiler said:\n\n{outcome.reason}" if outcome.reason and problem.form == PROGRAM else ""
    return answer_text(problem, outcome.candidate) + said


def gist(problem: Problem, outcome: Outcome) -> str:
    """What a vote counts: the final answer. A program's is what it prints; one that prints nothing stands alone."""
    if problem.form == PROGRAM:
        return str(outcome.states.get("outputs") or f"{outcome.candidate.id} printed nothing")
    return extract.final_answer(outcome.candidate.source, problem.sections) or outcome.candidate.source


def same(problem: Problem, first: str, second: str) -> bool | None:
    """Whether two gists are the same answer: by rule, None where no rule says. Programs print alike or do not."""
    if problem.form == PROGRAM:
        return first == second
    return equivalence.equivalent(first, second, problem.tolerance)


def judge_text(problem: Problem, order: Sequence[Outcome], worst: bool) -> str:
    """The question to a model that judges: problem and answers, no reference, no test case."""
    entries = [
        render("reasoning_judge_entry", number=number, answer=answer_text(problem, o.candidate))
        for number, o in enumerate(order, 1)
    ]
    return render(
        "reasoning_judge",
        description=problem.description.strip(),
        entries="\n\n".join(entries),
        worst=" and which is worst" if worst else "",
        answer="Best: <number>\nWorst: <number>" if worst else "Best: <number>",
    )


def source(problem: Problem, text: str) -> str | None:
    """The candidate in what a model wrote: the program, or the whole answer, if it has a final answer."""
    if problem.form == PROGRAM:
        return extract.program(text, problem.language)
    answer = without_thinking(text).strip()
    return answer if extract.final_answer(answer, problem.sections) else None
