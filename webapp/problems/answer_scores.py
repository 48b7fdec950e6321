"""Score answers: against the reference answer, by rule and then by a model; programs on test cases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from llm.prompts import render
from llm.reasoning import answer_parts, equivalence
from llm.records import Ask
from programs.judging import compute_share, grade_subtasks, judge
from programs.records import Report
from webapp.problems.models import Problem

AskModel = Callable[[Ask], str]
"""Asks the judging model and returns its reply; exceptions go to the caller."""
FINAL_ANSWER = "final_answer"
"""The name in a written answer's details under which its final answer is kept, so that no page looks for it again."""
_VERDICT = re.compile(r"^[^\w\n]*(same|different)[^\w\n]*$", re.IGNORECASE | re.MULTILINE)
UNDECIDED = "No rule could compare the final answer with the reference."


@dataclass(frozen=True)
class Score:
    """The score of one answer."""

    value: float | None
    """Between 0 and 1; None if it cannot be scored."""
    reason: str = ""
    """The compiler's message, or how or why not an answer was compared."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """For people: subtasks and cases of a program, the final answer of a written one."""
    outputs: str = ""
    """Digest of a program's output, equal for programs that print the same; empty without output."""


def score_answers(problem: Problem, texts: Sequence[str], ask: AskModel | None, seed: int) -> list[Score]:
    """Compare each written answer with the reference answer; equal final answers are compared once.

    Without `ask`, an answer that no rule can compare has no score.
    """
    reference = problem.answer.strip()
    known: dict[str, Score] = {}
    scores = []
    for text in texts:
        final = answer_parts.final_answer(text, problem.sections) or ""
        if final not in known:
            known[final] = _score_answer(problem, reference, final, ask, seed) if reference else Score(None)
        scores.append(replace(known[final], details={FINAL_ANSWER: final}))
    return scores


def _score_answer(problem: Problem, reference: str, final: str, ask: AskModel | None, seed: int) -> Score:
    same = equivalence.compare_answers(reference, final, problem.tolerance) if final else False
    if same is None and ask is None:
        return Score(None, UNDECIDED)
    if same is None and ask is not None:
        same = read_verdict(ask(build_question(problem, reference, final, seed)))
        return Score(float(bool(same)), "A model compared the final answer with the reference.")
    return Score(float(bool(same)))


def build_question(problem: Problem, reference: str, final: str, seed: int) -> Ask:
    text = render("reasoning_same", problem=problem.statement.strip(), reference=reference, answer=final)
    system = {"role": "system", "content": render("reasoning_judge_system")}
    return Ask(0, (system, {"role": "user", "content": text}), seed, "judge")


def read_verdict(reply: str) -> bool | None:
    """Whether the last line that says Same or Different says Same; None if there is no such line."""
    found = _VERDICT.findall(reply)
    return found[-1].lower() == "same" if found else None


def score_programs(problem: Problem, sources: Sequence[str], stop_check: Callable[[], None]) -> list[Score]:
    """Run each program on the test cases.

    Raises programs.records.JailError if this machine cannot, and HarnessError if the problem's grader or checker does
    not work.
    """
    reports = judge(sources, problem.language, problem.test_cases(), problem.limits, stop_check, problem.harness)
    return [_score_program(problem, report) for report in reports]


def _score_program(problem: Problem, report: Report) -> Score:
    cases = problem.test_cases()
    subtasks = grade_subtasks(report, cases, problem.points())
    details = {
        "subtasks": [{**asdict(subtask), "earned": subtask.earned} for subtask in subtasks],
        "cases": [
            {
                "subtask": case.subtask,
                "verdict": r.verdict,
                "seconds": r.seconds,
                "memory_mb": r.memory_mb,
                "note": r.note,
            }
            for case, r in zip(cases, report.results, strict=False)
        ],
    }
    printed = [result.output for result in report.results]
    digest = hashlib.sha256(" ".join(printed).encode()).hexdigest() if any(printed) else ""
    return Score(compute_share(subtasks) if cases else None, report.message, details, digest)
