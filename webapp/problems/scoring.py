"""What an answer is worth: against the reference answer, by rule and then by a model; a program on the test cases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from llm.prompts import render
from llm.reasoning import answer_parts, equivalence
from llm.records import Ask
from programs.judging import by_subtask, judge, share
from programs.records import Report
from webapp.problems.models import Problem

AskModel = Callable[[Ask], str]
"""Asks the judging model and returns what it says; raises what the caller handles."""
_VERDICT = re.compile(r"^[^\w\n]*(same|different)[^\w\n]*$", re.IGNORECASE | re.MULTILINE)
UNDECIDED = "No rule could compare the final answer with the reference."


@dataclass(frozen=True)
class Score:
    """What became of one answer."""

    value: float | None
    """Between 0 and 1; None where the problem has nothing to score by."""
    reason: str = ""
    """The compiler's words, or why an answer could not be compared."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Subtasks and cases of a program, for people."""
    outputs: str = ""
    """Digest of all that a program printed: equal for programs that do the same. Empty where it printed nothing."""


def score_answers(problem: Problem, texts: Sequence[str], ask: AskModel | None, seed: int) -> list[Score]:
    """Each written answer against the reference answer. Equal final answers are asked about once.

    Without `ask`, one that no rule can compare has no score.
    """
    reference = problem.answer.strip()
    known: dict[str, Score] = {}
    scores = []
    for text in texts:
        final = answer_parts.final_answer(text, problem.sections) or ""
        if final not in known:
            known[final] = _score_answer(problem, reference, final, ask, seed) if reference else Score(None)
        scores.append(known[final])
    return scores


def _score_answer(problem: Problem, reference: str, final: str, ask: AskModel | None, seed: int) -> Score:
    said = equivalence.equivalent(reference, final, problem.tolerance) if final else False
    if said is None and ask is None:
        return Score(None, UNDECIDED)
    if said is None and ask is not None:
        said = read_verdict(ask(build_question(problem, reference, final, seed)))
        return Score(float(bool(said)), "A model compared the final answer with the reference.")
    return Score(float(bool(said)))


def build_question(problem: Problem, reference: str, final: str, seed: int) -> Ask:
    text = render("reasoning_same", problem=problem.statement.strip(), reference=reference, answer=final)
    system = {"role": "system", "content": render("reasoning_judge_system")}
    return Ask(0, (system, {"role": "user", "content": text}), seed, "judge")


def read_verdict(said: str) -> bool | None:
    """The last line that says Same or Different; None where none does."""
    found = _VERDICT.findall(said)
    return found[-1].lower() == "same" if found else None


def score_programs(problem: Problem, sources: Sequence[str], stop_check: Callable[[], None]) -> list[Score]:
    """Each program on the test cases. Raises programs.records.JailError where this machine cannot run them."""
    reports = judge(sources, problem.language, problem.test_cases(), problem.limits, stop_check)
    return [_score_program(problem, report) for report in reports]


def _score_program(problem: Problem, report: Report) -> Score:
    cases = problem.test_cases()
    subtasks = by_subtask(report, cases, problem.points())
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
    return Score(share(subtasks) if cases else None, report.message, details, digest)
