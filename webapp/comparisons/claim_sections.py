"""The part of a report about claims: what was claimed, what was found, one figure each; all tasks together."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.base.statistics.proportions import Interval, format_p
from webapp.comparisons.findings import Evidence, Finding
from webapp.comparisons.markdown_tables import format_number, render_table

SCORE_TEXT = """\
The score of an experiment is that of its winner, trained again with {seeds} seeds that no search has seen: the task's
metric over {episodes} whole episodes of each final policy's mean actions, mean over these policies. A search picks its
winner by one training, which favours a lucky seed; RTS and TS carry that luck and stand beside the score. Human and
Sparse were trained here in the same way: by the task's human-written reward, and by its hidden metric itself, where it
counts. Normalised: (score - Sparse) / |Human - Sparse|. Best moment: the mean RTS of the same trainings, the highest
that the metric was in each while its policy explored; the score is of the end, without exploration, and so may be
higher. The RF-Agent paper prints the best checkpoint of five such trainings: compare its numbers with this column. All
of them begin with random weights, also where the winner's own training went on from an earlier policy (RDA)."""
TEST_TEXT = """\
Each contrast was tested once, over all pairs of experiments with the same task and seed: a two-sided sign-flip
permutation test, with Holm's correction for {count}. Intervals are percentiles of SciPy's bootstrap, stratified by
task (95%, uncorrected); of few pairs they are too short. Improvement: the probability that an experiment of the first
scores higher than one of the second. The noise floor is what chance makes of a mean of as many pairs in 95 of 100
cases, from pairs of a method and the same method again (A/A)."""


def build_claims(evidence: Evidence, pictures: Sequence[str]) -> list[str]:
    """Every contrast: what is claimed, what was found, its figure."""
    count = len(evidence.findings)
    contrasts = "this one contrast" if count == 1 else f"these {count} contrasts"
    parts = ["## Claims", TEST_TEXT.format(count=contrasts), describe_noise(evidence), evidence.power_words]
    for number, finding in enumerate(evidence.findings, 1):
        parts += [
            f"### {number}. {finding.contrast.words}",
            f"Found: {finding.verdict}.",
            _build_row(finding, evidence),
        ]
        parts += [f"![{name}]({name})" for name in pictures if name == f"claim-{number}.svg"]
    return parts


def describe_noise(evidence: Evidence) -> str:
    if not evidence.noise:
        return "No method was run twice (A/A): how much chance alone makes is not known here."
    each = ", ".join(format_number(gap) for gap in evidence.noise)
    pairs = len(evidence.noise)
    return f"A/A differences, {pairs} pair{'' if pairs == 1 else 's'} ({evidence.unit}): {each}."


def _build_row(finding: Finding, evidence: Evidence) -> str:
    head = [f"difference ({evidence.unit})", "95% interval", "pairs", "p", "p (Holm)", "improvement", "noise floor"]
    p, corrected = (format_p(value) if value is not None else "-" for value in (finding.p, finding.corrected))
    better = finding.improvement
    chance = "-" if better is None else f"{better:.2f}{_format_interval(finding.improvement_interval, ' (', ')')}"
    row = [format_number(finding.difference), _format_interval(finding.interval), f"{finding.count}", p, corrected]
    return render_table(head, [[*row, chance, format_number(finding.floor)]])


def _format_interval(interval: Interval | None, before: str = "", after: str = "") -> str:
    if interval is None:
        return "" if before else "-"
    return f"{before}{format_number(interval.low)} to {format_number(interval.high)}{after}"


def build_aggregates(evidence: Evidence, pictures: Sequence[str]) -> list[str]:
    """Every method over all tasks."""
    rows = [
        [one.name, f"{one.runs}", format_number(one.interquartile_mean), _format_interval(one.interval)]
        for one in evidence.aggregates
    ]
    left = f" Left out, because Human and Sparse are equal or not known there: {', '.join(evidence.left_out)}."
    said = f"Interquartile mean of the scores of all experiments, {evidence.unit}, with its 95% interval (bootstrap, "
    text = f"{said}stratified by task); of the references, of their policies.{left if evidence.left_out else ''}"
    head = ["all tasks" if len(evidence.tasks) > 1 else "method", "n", "interquartile mean", "95% interval"]
    figures = [f"![{name}]({name})" for name in pictures if name == "profile.svg"]
    return ["## All tasks together", text, render_table(head, rows), *figures]
