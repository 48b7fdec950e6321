"""Charts of an experiment and of its candidates: pages draw them, and exports write them to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import StatisticsError, correlation
from typing import Any

from webapp.base.charts import Chart, Series, drop_infinite
from webapp.experiments.models import Candidate, Experiment


def make_training_series(name: str, values: Sequence[float | None], intervals: int = 0) -> Series:
    """Interval means over a training run: interval i of n ends at i/n of the budget."""
    intervals = max(intervals, len(values))
    return Series(name, tuple(100 * (i + 1) / intervals for i in range(len(values))), tuple(map(drop_infinite, values)))


def make_component_charts(trace: Mapping[str, Mapping[str, Any]], complete: bool = True) -> list[Chart]:
    """One small chart per reward component, all over the same x: the total, the components, the episode length.

    A run that was not completed has fewer than its ten intervals.
    """
    names = sorted(trace, key=lambda name: (name != "total", name == "episode_length", name))
    return [
        Chart(
            slug=f"component-{name}",
            title=name.replace("_", " "),
            x_label="training (%)",
            y_label="episode length (steps)" if name == "episode_length" else "reward per step",
            series=(make_training_series(name, trace[name].get("samples", []), 0 if complete else 10),),
        )
        for name in names
    ]


def make_metric_chart(metric: str, metric_trace: Mapping[str, Any], complete: bool = True) -> Chart:
    """The hidden metric over training, all of its up to fifty intervals."""
    values = metric_trace.get("all") or metric_trace.get("samples") or []
    series = make_training_series("hidden metric", values, 0 if complete else 50)
    return Chart("metric", "Hidden metric", "training (%)", shorten_metric(metric), (series,))


SESSION_SERIES = {
    "held_out": "right on held-out answers",
    "accuracy_before": "right on new answers",
    "accuracy": "right on those learned from",
    "correlation_before": "correlation with the true sums",
    "metric_correlation": "correlation with the metric",
    "disagreement": "disagreement of the members",
}
"""Figures of a session (`complete_sessions`) -> their names; all lie between -1 and 1."""
LEAST_POINTS = 3
"""Fewer are no scatter, and always correlate."""


def complete_sessions(sessions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The sessions (trainer.preferences.session_figures) with the correlation of learned sums and the metric's, where
    both are kept; without a share of right answers where no answer so far prefers a segment: rows of earlier versions
    have 1 there, and none of held-out answers.
    """
    decided, shown = 0, []
    for session in sessions:
        decided += session["asked"] - session["skipped"] - session["equal"]
        own = {"metric_correlation": _correlate(list_metric_points(session))}
        shown.append({"held_out": None, **session, **own, **({} if decided else {"accuracy": None})})
    return shown


def list_metric_points(session: Mapping[str, Any]) -> list[tuple[float, float | None]]:
    """(the metric's sum, the learned sum) of the segments of a session that the metric says something of; none in
    sessions of earlier versions.
    """
    found = zip(session.get("points", ()), session.get("metrics", ()), strict=False)
    return [(metric, drop_infinite(learned)) for (learned, _), metric in found if drop_infinite(metric) is not None]


def has_own_metric(session: Mapping[str, Any]) -> bool:
    """Whether the metric says something else of segments than their true sums. Where the teacher compares the metric,
    both are one.
    """
    found = zip(session.get("points", ()), session.get("metrics", ()), strict=False)
    return any(metric not in (None, true) for (_, true), metric in found)


def _correlate(points: Sequence[tuple[float, float | None]]) -> float | None:
    known = [(x, y) for x, y in points if y is not None]
    if len(known) < LEAST_POINTS:
        return None
    try:
        return correlation(*zip(*known, strict=True))
    except StatisticsError:  # all are equal
        return None


def make_sessions_chart(given: Sequence[Mapping[str, Any]]) -> Chart:
    """How well a reward model that learns from answers about pairs predicts them, session by session."""
    sessions = complete_sessions(given)
    answers = tuple(float(session["labels"]) for session in sessions)
    values = {name: tuple(drop_infinite(session[name]) for session in sessions) for name in SESSION_SERIES}
    if not any(map(has_own_metric, sessions)):
        del values["metric_correlation"]
    if all(share is None for share in values["held_out"]):
        del values["held_out"]
    series = tuple(Series(SESSION_SERIES[name], answers, found) for name, found in values.items())
    last = max(answers, default=1.0)
    return Chart("sessions", "Reward model by session", "answers", "share, correlation", series, (0, last), True)


def make_sums_chart(sessions: Sequence[Mapping[str, Any]]) -> Chart:
    """What a reward model expected of segments of the last session that has any, and what they were worth."""
    shown: Mapping[str, Any] = next((session for session in reversed(sessions) if session.get("points")), {})
    points = [(true, drop_infinite(learned)) for learned, true in shown.get("points", ())]
    title = f"Segments of session {shown['session']}" if shown else "Segments"
    return _make_scatter("sums", title, "true sum", {"segments": points})


def make_metric_sums_chart(sessions: Sequence[Mapping[str, Any]]) -> Chart:
    """The same beside the task's metric, of the last session in which it says something of enough segments. Empty where
    the true sums are the metric's.
    """
    title, points = "Segments, by the metric", list[tuple[float, float | None]]()
    for session in filter(has_own_metric, sessions):
        found = list_metric_points(session)
        if len(found) >= LEAST_POINTS:
            title, points = f"Segments of session {session['session']}, by the metric", found
    return _make_scatter("metric-sums", title, "sum of the hidden metric", {"segments": points})


def make_arms_scatter(task: str, points: Mapping[str, Sequence[tuple[float, float | None]]]) -> Chart:
    """The same of the reward models of a comparison's arms."""
    title = f"{task}: learned reward and the metric, segments of the last sessions"
    return _make_scatter(f"learned-{task}", title, "sum of the hidden metric", points)


def _make_scatter(
    slug: str, title: str, x_label: str, points: Mapping[str, Sequence[tuple[float, float | None]]]
) -> Chart:
    """(true sum, learned sum) of segments, by the name of their series."""
    series = tuple(
        Series(name, tuple(x for x, _ in found), tuple(y for _, y in found), look="points")
        for name, found in points.items()
    )
    places = [x for one in series for x in one.x]
    ends = (min(places, default=0.0), max(places, default=1.0))
    margin = (ends[1] - ends[0] or 1.0) / 20
    y_label = "learned sum, before it learned"
    return Chart(slug, title, x_label, y_label, series, (ends[0] - margin, ends[1] + margin))


def make_rounds_chart(metric: str, rounds: Sequence[tuple[int, Sequence[float]]], n: int, score: str = "RTS") -> Chart:
    """The scores of `n` rounds, as (number, scores of its candidates): best, mean, best so far; `score` names them."""
    numbers = tuple(float(number) for number, scores in rounds if scores)
    scored = [scores for _, scores in rounds if scores]
    best = tuple(max(scores) for scores in scored)
    series = (
        Series("best of the round", numbers, best),
        Series("mean of the round", numbers, tuple(sum(scores) / len(scores) for scores in scored)),
        Series("best so far", numbers, tuple(max(best[: i + 1]) for i in range(len(best)))),
    )
    y_label = f"{score} ({shorten_metric(metric)})"
    return Chart("rounds", f"{score[0].upper()}{score[1:]} by round", "round", y_label, series, (1, max(2, n)), True)


def read_rounds_chart(experiment: Experiment) -> Chart:
    """The rounds' chart of an experiment as its rows are now."""
    scores: dict[int, list[float]] = {number: [] for number in experiment.iterations.values_list("number", flat=True)}
    rows = Candidate.objects.filter(iteration__experiment=experiment).exclude(status=Candidate.Status.ASIDE)
    rows = rows.order_by("iteration__number", "index")
    for number, rts in rows.values_list("iteration__number", "rts"):
        if (score := drop_infinite(rts)) is not None:
            scores[number].append(score)
    metric = experiment.task_info.metric or ""
    return make_rounds_chart(metric, list(scores.items()), experiment.rounds, experiment.medium.score)


def shorten_metric(metric: str) -> str:
    """What an axis has room for: the metric's words up to the first comma, unit included."""
    return metric.partition(",")[0]
