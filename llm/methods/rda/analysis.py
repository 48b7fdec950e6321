"""The trajectory analysis of RDA: what was seen of each subtask, and its summary for each candidate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from llm.records import Outcome

UNSEEN = "the analysis does not speak of it"
_BLOCK = re.compile(r"^\W*(?:\d+[.)][^\w\n]*)?subtask\W*(\d+)\b", re.IGNORECASE | re.MULTILINE)
_SCALE = r"(?:[^\w\n]{0,6}[(\[<][^\n)\]>]*[)\]>](?=[^\w\n]{1,6}[01.\u00bd]))?"
"""The scale in brackets before the score itself, as the question writes it."""
_SCORE = re.compile(rf"score{_SCALE}\W{{0,6}}(1\s*/\s*2|\u00bd|[01](?:[.,]\d+)?|[.,]5)", re.IGNORECASE)
_MERGED = re.compile(r"^\W*subtask\W*(\d+)\W*:\s*(.+?)\s*\[([\d,\s]+)\]\W*$", re.IGNORECASE | re.MULTILINE)
_NOTHING = re.compile(r"^\W*(none|no|nothing|n/?a|-)?\W*$", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """One subtask in one film."""

    score: float
    """0, 0.5 or 1."""
    behaviour: str = ""
    evidence: str = ""
    """Evidence that it was done although an earlier one failed; empty for none."""
    reason: str = ""


def read_analysis(text: str, count: int) -> tuple[Finding, ...]:
    """One finding for each of `count` subtasks; one that the answer leaves out, or does not score, was not seen. With a
    count of 0 the analysis is of the whole, and one finding.
    """
    if not count:
        return (_read_finding(text),)
    blocks = _split_blocks(text)
    return tuple(_read_finding(blocks.get(number, "")) for number in range(1, count + 1))


def scores_any(text: str, count: int) -> bool:
    """Whether it is an analysis: at least one of `count` subtasks has a score, or the whole where there are none."""
    if not count:
        return _score(text) is not None
    return any(_score(block) is not None for number, block in _split_blocks(text).items() if 1 <= number <= count)


def _split_blocks(text: str) -> dict[int, str]:
    """What is said of each subtask: first of all where it has a score, for what follows only comes back to it."""
    found = list(_BLOCK.finditer(text))
    ends = [*(m.start() for m in found), len(text)][1:]
    blocks = [(int(m[1]), text[m.start() : end]) for m, end in zip(found, ends, strict=True)]
    scored = [(number, block) for number, block in blocks if _score(block) is not None]
    return dict([*reversed(blocks), *reversed(scored)])


def _score(block: str) -> float | None:
    """0, 0.5 or 1; None where there is none."""
    found = _SCORE.search(block)
    if found is None:
        return None
    if "/" in found[1] or found[1] == "\u00bd":
        return 0.5
    return round(2 * min(float(found[1].replace(",", ".")), 1.0)) / 2


def _read_finding(block: str) -> Finding:
    score = _score(block)
    if score is None:
        return Finding(0.0, _find_labelled_text(block, "behaviour"), reason=UNSEEN)
    evidence = _find_labelled_text(block, "evidence")
    evidence = "" if _NOTHING.match(evidence) else evidence
    return Finding(score, _find_labelled_text(block, "behaviour"), evidence, _find_labelled_text(block, "reason"))


def _find_labelled_text(block: str, label: str) -> str:
    found = re.search(rf"{label}\W{{0,4}}:\W*(.+)", block, re.IGNORECASE)
    return found[1].strip().strip("*").strip() if found else ""


def cascade_failures(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Subtasks after a failed one fail too, unless there is evidence for them. An unseen one has not failed."""
    result: list[Finding] = []
    failed = 0
    for number, finding in enumerate(findings, 1):
        if failed and not finding.evidence and finding.score > 0:
            finding = replace(finding, score=0.0, reason=f"subtask {failed} failed before it")
        result.append(finding)
        if finding.score == 0 and finding.reason != UNSEEN and not failed:
            failed = number
    return tuple(result)


@dataclass(frozen=True)
class Failure:
    """One way in which a subtask fails, and in how many analyses."""

    text: str
    count: int


@dataclass(frozen=True)
class Summary:
    """All analyses of one candidate."""

    outcome: Outcome
    scores: tuple[float, ...]
    """Mean over the analyses, for each subtask; of an analysis of the whole, one."""
    failures: tuple[tuple[Failure, ...], ...]
    """For each subtask the different reasons given where it was not fully done, the most frequent first."""

    @property
    def score(self) -> float:
        """Mean over the subtasks: what candidates are ranked by."""
        return sum(self.scores) / len(self.scores)


def summarise(outcome: Outcome, analyses: Sequence[Sequence[Finding]]) -> Summary:
    """The mean scores and the recurring failure modes; every analysis has one finding for each subtask."""
    columns = list(zip(*analyses, strict=True))
    scores = tuple(sum(f.score for f in column) / len(column) for column in columns)
    return Summary(outcome, scores, tuple(_count_reasons(column) for column in columns))


def _count_reasons(column: Sequence[Finding]) -> tuple[Failure, ...]:
    said = [f.reason or f.behaviour for f in column if f.score < 1 and (f.reason or f.behaviour)]
    return _sort(Failure(reason, said.count(reason)) for reason in dict.fromkeys(said))


def _sort(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    return tuple(sorted(failures, key=lambda failure: -failure.count))


def list_worded_differently(summary: Summary) -> dict[int, list[str]]:
    """By subtask, from 1, the reasons of those with several, which may mean the same."""
    several = [(i, failures) for i, failures in enumerate(summary.failures, 1) if len(failures) > 1]
    return {number: [failure.text for failure in failures] for number, failures in several}


def merge_failures(summary: Summary, answer: str) -> Summary:
    """The summary with those failures joined that the answer calls the same; a subtask of which it does not name each
    reason once stays as it was.
    """
    merged = list(summary.failures)
    named: dict[int, list[tuple[str, list[int]]]] = {}
    for subtask, text, numbers in _MERGED.findall(answer):
        named.setdefault(int(subtask), []).append((text.strip(), [int(n) for n in re.findall(r"\d+", numbers)]))
    for number, groups in named.items():
        places = [place for _, group in groups for place in group]
        if 1 <= number <= len(merged) and sorted(places) == list(range(1, len(merged[number - 1]) + 1)):
            own = merged[number - 1]
            merged[number - 1] = _sort(Failure(text, sum(own[p - 1].count for p in group)) for text, group in groups)
    return replace(summary, failures=tuple(merged))


def format_summary(summary: Summary, subtasks: Sequence[str]) -> str:
    """Mean score, subtasks that are done, and those that are not, with the reasons."""
    if not subtasks:
        return f"Score: {summary.score:.2f}. {_list_reasons(summary.failures[0])}"
    done = [str(i) for i, score in enumerate(summary.scores, 1) if score == 1]
    lines = [f"Mean score of all subtasks: {summary.score:.2f}. Done: {', '.join(done) or 'none'}."]
    for i, (subtask, score, failures) in enumerate(zip(subtasks, summary.scores, summary.failures, strict=True), 1):
        if score < 1:
            lines.append(f"- Subtask {i} ({subtask}) scores {score:.2f}: {_list_reasons(failures)}")
    return "\n".join(lines)


def _list_reasons(failures: Sequence[Failure]) -> str:
    """The reasons, each with how often it was given where that is more than once."""
    said = [f.text if f.count == 1 else f"{f.text} ({f.count} times)" for f in failures]
    return "; ".join(said) or "no reason was given"
