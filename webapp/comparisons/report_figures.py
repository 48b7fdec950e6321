"""The figures of a comparison: learning curves by candidates spent, and the task scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

from webapp.base.charts import Chart, Series, to_svg
from webapp.base.statistics import aggregates, group_tests
from webapp.comparisons import alignments, csv_tables
from webapp.comparisons.experiment_results import Score
from webapp.comparisons.findings import Evidence, Finding, References
from webapp.comparisons.plan import REFERENCES, Plan
from webapp.experiments.figures import list_metric_points, make_arms_scatter

PROFILE_STEPS = 40


def write_figures(charts: Sequence[Chart], folder: Path) -> list[str]:
    """Write the figures as SVG; returns the names of the files."""
    for chart in charts:
        csv_tables.replace_file(folder / f"{chart.slug}.svg", to_svg(chart))
    return [f"{chart.slug}.svg" for chart in charts]


def build_charts(
    task: str, scores: Sequence[Score], references: References, aligned: alignments.Aligned = alignments.NOBODY
) -> list[Chart]:
    """The figures of a task; none before an experiment has finished."""
    scored = [score for score in scores if score.task == task and score.values]
    if not scored:
        return []
    evaluated = any(result.retrained for score in scored for result in score.results)
    own = [build_evaluation_chart(task, scored, references)] if evaluated else []
    rated = alignments.list_rows(task, scored, references, aligned)
    own += [alignments.build_chart(task, rated)] if rated else []
    limited = all(score.arm.settings.get("context") for score in scored)
    found = [
        *own,
        build_curves_chart(task, scored),
        *([build_curves_chart(task, scored, by_tokens=True)] if limited else []),
        build_gain_chart(task, scored),
        build_scores_chart(task, scored),
        build_learning_chart(task, scored),
    ]
    return [chart for chart in found if not chart.empty]


def build_evidence_charts(plan: Plan, evidence: Evidence) -> list[Chart]:
    """A figure for each contrast that has pairs, and the performance profile where tasks can be set side by side."""
    if not plan.tests_contrasts:
        return []
    charts = [
        build_claim_chart(number, finding, evidence)
        for number, finding in enumerate(evidence.findings, 1)
        if finding.count
    ]
    profiled = evidence.is_normalised and any(one.runs for one in evidence.aggregates)
    return [*charts, *([build_profile_chart(evidence)] if profiled else [])]


def build_claim_chart(number: int, finding: Finding, evidence: Evidence) -> Chart:
    """The difference of every pair, its mean with the interval, and the noise floor on either side of 0."""
    tasks = list(finding.differences)
    rows = [*tasks, "all tasks"] if len(tasks) > 1 else tasks
    places = [(float(row), gap) for row, task in enumerate(tasks) for gap in finding.differences[task]]
    series = [Series("each pair", tuple(x for x, _ in places), tuple(y for _, y in places), look="points", quiet=True)]
    interval, last = finding.interval, float(len(rows) - 1)
    if finding.difference is not None:
        low, high = ((interval.low,), (interval.high,)) if interval else ((), ())
        series.append(Series("mean, 95% interval", (last,), (finding.difference,), low, high, look="points"))
    if finding.floor is not None:
        floors = (finding.floor, -finding.floor)
        series.append(Series("noise floor of the mean", (last, last), floors, look="marks"))
    return Chart(
        slug=f"claim-{number}",
        title=f"{number}. {finding.contrast.words}: {finding.verdict}",
        x_label="task",
        y_label=f"{finding.contrast.first.label} less {finding.contrast.second.label}, {evidence.unit}",
        series=tuple(series),
        categories=tuple(rows),
        reference=0.0,
        covers=(0.0,),
    )


def build_profile_chart(evidence: Evidence) -> Chart:
    """The share of each method's experiments above every normalised score, mean over the tasks."""
    held = [one for one in evidence.aggregates if one.runs]
    values = [value for one in held for own in one.strata for value in own]
    low, high = min(values), max(values)
    steps = tuple(low + (high - low) * step / PROFILE_STEPS for step in range(PROFILE_STEPS + 1))
    series = []
    for one in held:
        shares = aggregates.compute_profile(one.strata, steps)
        known = all(bounds is not None for _, bounds in shares)
        lows = tuple(bounds.low for _, bounds in shares if bounds) if known else ()
        highs = tuple(bounds.high for _, bounds in shares if bounds) if known else ()
        series.append(Series(one.name, steps, tuple(share for share, _ in shares), lows, highs))
    return Chart(
        slug="profile",
        title="Performance profile",
        x_label="normalised score",
        y_label="share of experiments above it, with 95% interval",
        series=tuple(series),
        x_range=(low, high),
        covers=(0.0, 1.0),
    )


def build_evaluation_chart(task: str, scores: Sequence[Score], references: References) -> Chart:
    """The score of every experiment, and of every policy of a reference, with the means."""
    columns = [(score.arm.label, tuple(score.scores.values())) for score in scores]
    columns += [(name, tuple(references.get((task, name), ()))) for name in REFERENCES]
    shown = [(name, values) for name, values in columns if values]
    series = [
        Series(name, (float(place),) * len(values), values, look="points") for place, (name, values) in enumerate(shown)
    ]
    means = tuple(mean(values) for _, values in shown)
    series.append(Series("mean", tuple(map(float, range(len(shown)))), means, look="marks"))
    return Chart(
        slug=f"evaluated-{task}",
        title=f"{task}: score of every winner's retrainings",
        x_label="method",
        y_label="score with mean actions",
        series=tuple(series),
        categories=tuple(name for name, _ in shown),
        names="none",
    )


def build_curves_chart(task: str, scores: Sequence[Score], by_tokens: bool = False) -> Chart:
    """Best RTS so far over the candidates tried, or over B x T x C, the most tokens that these may have: where answers
    are limited to C. Mean and deviation of each arm.
    """
    series = tuple(draw_curve(score, score.arm.settings["context"] if by_tokens else 1) for score in scores)
    return Chart(
        slug=f"budget-{task}" if by_tokens else f"curves-{task}",
        title=f"{task}: best RTS so far{' by tokens' if by_tokens else ''}",
        x_label="most tokens of the candidates tried (B x T x C)" if by_tokens else "candidates tried",
        y_label="best RTS so far, mean and deviation",
        series=series,
        x_range=(0, max((one.x[-1] for one in series if one.x), default=1)),
        whole_x=True,
    )


def draw_curve(score: Score, cost: int) -> Series:
    """An arm's best RTS so far over what its candidates cost, each this much."""
    spent, means, spreads = compute_curve(score)
    around = list(zip(means, spreads, strict=True))
    low, high = tuple(m - s for m, s in around), tuple(m + s for m, s in around)
    return Series(score.arm.label, tuple(float(cost * one) for one in spent), tuple(means), low, high)


def build_gain_chart(task: str, scores: Sequence[Score]) -> Chart:
    """How far each round's best lies above the first round's, mean over the experiments with its 95% interval."""
    series = []
    for score in scores:
        gains = list_gains(score)
        found = [group_tests.summarize_mean(values) for values in gains.values()]
        known = all(one.interval is not None for one in found)
        low = tuple(one.interval.low for one in found if one.interval) if known else ()
        high = tuple(one.interval.high for one in found if one.interval) if known else ()
        if found:
            means = tuple(one.mean for one in found)
            series.append(Series(score.arm.label, tuple(map(float, gains)), means, low, high))
    return Chart(
        slug=f"gain-{task}",
        title=f"{task}: gain over the first round",
        x_label="round",
        y_label="best RTS of the round less the first round's, with 95% interval",
        series=tuple(series),
        x_range=(1, max((one.x[-1] for one in series), default=1)),
        whole_x=True,
        reference=0.0,
        covers=(0.0,),
    )


def build_learning_chart(task: str, scores: Sequence[Score]) -> Chart:
    """What the reward models of each arm expected of the last session's segments, over the metric's sums."""
    held = {score.arm.label: [r.sessions[-1] for r in score.results if r.sessions] for score in scores}
    points = {label: [point for one in last for point in list_metric_points(one)] for label, last in held.items()}
    return make_arms_scatter(task, {label: found for label, found in points.items() if found})


def list_gains(score: Score) -> dict[int, list[float]]:
    """By round from the second on, its best RTS less that of the first round, of each experiment that has both."""
    gains: dict[int, list[float]] = defaultdict(list)
    for result in score.results:
        first, *later = result.rounds or (None,)
        for one in later:
            if first is not None and first.best is not None and one.best is not None:
                gains[one.number].append(one.best - first.best)
    return dict(sorted(gains.items()))


def compute_curve(score: Score) -> tuple[list[int], list[float], list[float]]:
    """Candidates spent, mean and deviation of the best RTS so far, where all finished experiments have a round."""
    spent, means, spreads = [], [], []
    for rounds in zip(*(result.rounds for result in score.results), strict=False):
        values = [r.best_so_far for r in rounds if r.best_so_far is not None]
        if values:
            spent.append(rounds[0].candidates)
            means.append(mean(values))
            spreads.append(stdev(values) if len(values) > 1 else 0.0)
    return spent, means, spreads


def build_scores_chart(task: str, scores: Sequence[Score]) -> Chart:
    """Every experiment's TS as a point, those of one number (with one seed) joined, and each arm's mean as a bar."""
    series = []
    for seed in sorted({result.index for score in scores for result in score.results}):
        found = [(x, r.ts) for x, s in enumerate(scores) for r in s.results if r.index == seed and r.ts is not None]
        if found:
            places, values = zip(*found, strict=True)
            series.append(Series(f"no. {seed + 1}", places, values, quiet=True))
    for index, score in enumerate(scores):
        values = tuple(score.values)
        series.append(Series(score.arm.label, (float(index),) * len(values), values, look="points"))
    means = tuple(score.mean for score in scores)
    series.append(Series("mean", tuple(map(float, range(len(scores)))), means, look="marks"))
    return Chart(
        slug=f"scores-{task}",
        title=f"{task}: TS of every experiment",
        x_label="method",
        y_label="TS",
        series=tuple(series),
        categories=tuple(score.arm.label for score in scores),
        names="ends",
    )
