"""What an experiment's page says of policies that learn their rewards from answers about pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString

from llm.methods import METHODS
from webapp.base import charts
from webapp.bench.chart_html import draw_figure
from webapp.experiments import figures, pair_sessions
from webapp.experiments.candidates import describe_answers
from webapp.experiments.models import Candidate, Experiment, PairSession, Segment, SegmentPair
from webapp.experiments.options import format_value

ANSWERED = {
    "first": "the first is better",
    "second": "the second is better",
    "equal": "equally good",
    "skip": "skipped",
}
TRUTHS = {"reward": "the task's human-written reward", "metric": "the hidden metric"}


@dataclass(frozen=True)
class Learning:
    """One policy: from how many answers it learned, and the figures of the sessions in which it asked for them."""

    candidate: Candidate
    address: str
    """The address of the candidate's page, where its charts can be downloaded."""
    films: Mapping[int, str]
    """Session -> the address of the page with its pairs; none where nothing was filmed."""

    @property
    def words(self) -> str:
        return describe_answers(self.candidate)

    @property
    def sessions(self) -> Sequence[Mapping[str, Any]]:
        held = figures.complete_sessions(self.candidate.sessions)
        return [{**session, "films": self.films.get(session["session"], "")} for session in held]

    @property
    def with_metric(self) -> bool:
        """Whether the metric is known of enough segments to correlate, in a session at least."""
        return any(session["metric_correlation"] is not None for session in self.sessions)

    @property
    def with_held_out(self) -> bool:
        """Whether a simulated teacher gave answers that nothing learns from; none where an earlier version trained."""
        return any(session["held_out"] is not None for session in self.sessions)

    @property
    def undecided(self) -> bool:
        """Whether answers were learned from of which none prefers a segment, in a session at least."""
        return any(session["labels"] and session["accuracy"] is None for session in self.sessions)

    @property
    def sorts(self) -> bool:
        """Whether answers that it does not trust are left out or turned round (RIME)."""
        return any(session.get("left_out") is not None for session in self.sessions)

    @property
    def chart(self) -> charts.Chart:
        return figures.make_sessions_chart(self.sessions)

    @property
    def figure(self) -> SafeString:
        return draw_figure(self.chart, f"{self.address}sessions")

    @property
    def sums_chart(self) -> charts.Chart:
        return figures.make_sums_chart(self.candidate.sessions)

    @property
    def sums_figure(self) -> SafeString:
        """Empty before the second session: no model has expected anything, or trainings of earlier versions."""
        chart = self.sums_chart
        return SafeString() if chart.empty else draw_figure(chart, f"{self.address}sums", titled=True)

    @property
    def metric_chart(self) -> charts.Chart:
        return figures.make_metric_sums_chart(self.candidate.sessions)

    @property
    def metric_figure(self) -> SafeString:
        """Empty where `sums_figure` is, where it shows the metric, and where the metric says nothing of segments."""
        chart = self.metric_chart
        return SafeString() if chart.empty else draw_figure(chart, f"{self.address}{chart.slug}", titled=True)

    @property
    def all_charts(self) -> tuple[charts.Chart, ...]:
        return (self.chart, self.sums_chart, self.metric_chart)

    @property
    def asked(self) -> int:
        """Pairs asked, the skipped ones included; another pair is asked in place of a skipped one."""
        return sum(session["asked"] for session in self.sessions)


def read_learning(experiment: Experiment, url: str) -> tuple[Learning, ...]:
    """Every policy of an experiment that asks about pairs; none of others. `url`: of its page."""
    if not experiment.asks_pairs:
        return ()
    rows = Candidate.objects.filter(iteration__experiment=experiment).exclude(status=Candidate.Status.ASIDE)
    rows = rows.select_related("iteration").only("iteration__number", "index", "status", "sessions")
    films = find_filmed_sessions(experiment)
    return tuple(Learning(row, f"{url}{row.key}/", films) for row in rows)


def find_filmed_sessions(experiment: Experiment) -> dict[int, str]:
    """The sessions of which pairs are filmed, and the pages that show them. Of a simulated teacher's they may be filmed
    later.
    """
    filmed = PairSession.objects.filter(request__experiment=experiment).exclude(status=PairSession.Status.FILMING)
    numbers = filmed.values_list("number", flat=True)
    return {number: reverse("bench:asked_pairs", args=[experiment.public_id, number]) for number in numbers}


@dataclass(frozen=True)
class AskedPair:
    """A pair whose films staff see."""

    row: SegmentPair

    @property
    def number(self) -> int:
        return self.row.number + 1

    @property
    def words(self) -> str:
        """What the policy learned from it."""
        return ANSWERED.get(self.row.answer, "not answered yet")

    @property
    def filmed(self) -> bool:
        return Segment.Status.READY in (self.row.first.status, self.row.second.status)

    @property
    def sides(self) -> tuple[tuple[str, Segment, bool], ...]:
        """Name, film, and whether it was preferred."""
        films = {"first": self.row.first, "second": self.row.second}
        return tuple((name, film, self.row.answer == name) for name, film in films.items())


def list_asked_pairs(experiment: Experiment, number: int) -> list[AskedPair]:
    """The pairs of one session in their order, of which there are films."""
    asked = SegmentPair.objects.filter(session__request__experiment=experiment, session__number=number)
    asked = (
        asked.exclude(session__status=PairSession.Status.FILMING).select_related("first", "second").order_by("number")
    )
    return [AskedPair(pair) for pair in asked]


def describe_plan(experiment: Experiment) -> str:
    """How many answers about what; empty where it asks about no pairs."""
    if not experiment.asks_pairs:
        return ""
    value_of = METHODS[experiment.method].value_of
    filmed = pair_sessions.asks_outside(experiment)
    name, unit = ("seconds", "s") if filmed else ("segment", "steps")
    queries, segment = (value_of(option, experiment.options) for option in ("queries", name))
    about = f"segments of {segment:g} {unit}" if segment else "whole episodes"
    beside = ", added to its winner’s program" if experiment.options.get("reward") else ""
    return f"{queries} answers about pairs of {about}{beside}"


def describe_teacher(experiment: Experiment) -> str:
    """Who answers, and how."""
    if not experiment.asks_pairs:
        return ""
    if pair_sessions.asks_vision(experiment):
        pictures = METHODS[experiment.method].value_of("pictures", experiment.options)
        return f"the vision model {experiment.vision} answers, from {pictures} pictures of each segment"
    if experiment.judge_info.asks_people:
        return "people answer, in sessions for which the training stops"
    truth = str(METHODS[experiment.method].value_of("truth", experiment.options))
    errs = ", ".join(f"{name} {format_value(value)}" for name, value in sorted(experiment.judge_options.items()))
    return f"a simulated teacher compares {TRUTHS.get(truth, truth)}{f', with {errs}' if errs else ''}"
