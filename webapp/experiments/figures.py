"""Charts of an experiment and of its candidates: pages draw them, and exports write them to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    "accuracy_before": "right on new answers",
    "accuracy": "right on those learned from",
    "correlation_before": "correlation with the true sums",
    "disagreement": "disagreement of the members",
}
"""Figures of a session (trainer.preferences.session_figures) -> their names; all lie between -1 and 1."""


def hide_undecided(sessions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The sessions, without a share of right answers where no answer so far prefers a segment: rows of earlier versions
    have 1 there.
    """
    decided, shown = 0, []
    for session in sessions:
        decided += session["asked"] - session["skipped"] - session["equal"]
        shown.append(session if decided else {**session, "accuracy": None})
    return shown


def make_sessions_chart(given: Sequence[Mapping[str, Any]]) -> Chart:
    """How well a reward model that learns from answers about pairs predicts them, session by session."""
    sessions = hide_undecided(given)
    answers = tuple(float(session["labels"]) for session in sessions)
    series = tuple(
        Series(title, answers, tuple(drop_infinite(session[name]) for session in sessions))
        for name, title in SESSION_SERIES.items()
    )
    last = max(answers, default=1.0)
    return Chart("sessions", "Reward model by session", "answers", "share, correlation", series, (0, last), True)


def make_sums_chart(sessions: Sequence[Mapping[str, Any]]) -> Chart:
    """What a reward model expected of segments of the last session that has any, and what they were worth."""
    shown: Mapping[str, Any] = next((session for session in reversed(sessions) if session.get("points")), {})
    points = [(true, learned) for learned, true in shown.get("points", ())]
    true = tuple(value for value, _ in points)
    title = f"Segments of session {shown['session']}" if shown else "Segments"
    series = (Series("segments", true, tuple(drop_infinite(value) for _, value in points), look="points"),)
    ends = (min(true, default=0.0), max(true, default=1.0))
    width = ends[1] - ends[0] or 1.0
    x_range = (ends[0] - width / 20, ends[1] + width / 20)
    return Chart("sums", title, "true sum", "learned sum, before it learned", series, x_range)


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
