"""What the page of a comparison shows, from the rows as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llm import methods
from webapp.base.charts import Chart
from webapp.comparisons import alignments, experiment_results, findings, planned_queries, published, report_figures
from webapp.comparisons.accuracy import Accuracy, measure_accuracies
from webapp.comparisons.arms import Arm
from webapp.comparisons.ceiling import Ceiling, compute_ceiling
from webapp.comparisons.experiment_results import Score
from webapp.comparisons.findings import Evidence, References
from webapp.comparisons.follow_ups import OVER
from webapp.comparisons.foreground import State, read_state
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import REFERENCES, Plan
from webapp.comparisons.plan_warnings import list_warnings
from webapp.comparisons.unread import find_unread
from webapp.experiments import progress
from webapp.experiments.alignment import NONE, Alignment
from webapp.experiments.models import Experiment
from webapp.problems.media import get_medium


@dataclass(frozen=True)
class MethodRow:
    """A method on a task: one row of the task's table. Means are over its finished experiments."""

    score: Score
    planned: int
    """Experiments."""
    queries: float | None
    cost: float | None
    """US dollars; None where a price is unknown."""
    tokens: float | None
    """Prompt and completion together."""
    seconds: float | None
    """Wall time of training."""
    gpu_seconds: float | None
    """The part of it on a GPU; None where a training does not say where it ran."""
    published: str
    """Scores of the papers."""
    baseline: bool
    """Whether the other methods are tested against it."""
    normalised: float | None
    """Its score as a share of the way from Sparse to Human."""

    @property
    def planned_queries(self) -> int | None:
        """Pairwise comparisons that one experiment asks for; None where that is not known before."""
        return planned_queries.count(self.score.task, self.score.arm)

    @property
    def shape(self) -> str:
        arm = self.score.arm
        return f"{arm.budget} in all" if arm.budget else f"{arm.k} × {arm.n}"


@dataclass(frozen=True)
class ReferenceRow:
    """A reward that methods are measured by."""

    name: str
    each: tuple[float, ...]
    mean: float | None
    normalised: float | None
    alignment: Alignment


@dataclass(frozen=True)
class TaskScores:
    task: str
    rows: tuple[MethodRow, ...]
    references: References
    """The scores of Human and Sparse here, by task and name; empty before they are known."""
    evaluated: bool
    """Whether winners are trained again on this task."""
    aligned: alignments.Aligned
    """How Human and Sparse were rated."""

    @property
    def rated(self) -> bool:
        """Whether anybody rated films of its policies."""
        scores = [row.score for row in self.rows]
        return bool(alignments.list_rows(self.task, scores, self.references, self.aligned))

    @property
    def charts(self) -> list[Chart]:
        return report_figures.build_charts(self.task, [row.score for row in self.rows], self.references, self.aligned)

    @property
    def reference_rows(self) -> list[ReferenceRow]:
        rows = [(name, self.references.get((self.task, name), ())) for name in REFERENCES if self.evaluated]
        return [
            ReferenceRow(name, tuple(each), *self._summarize(each), self.aligned.get((self.task, name), NONE))
            for name, each in rows
        ]

    def _summarize(self, values: Sequence[float]) -> tuple[float | None, float | None]:
        mean = _compute_mean(values)
        return mean, findings.normalise(mean, self.task, self.references)


@dataclass(frozen=True)
class PlannedExperiment:
    """One experiment of the plan, which may not exist yet."""

    task: str
    arm: Arm
    number: int
    experiment: Experiment | None
    shortfall: str
    """How many of its rounds it had where it was ended early; else empty."""
    elsewhere: bool
    """Its result is read from the uploaded report."""


@dataclass(frozen=True)
class ComparisonOverview:
    comparison: Comparison
    state: State
    tasks: tuple[TaskScores, ...]
    evidence: Evidence
    """What was found about each contrast."""
    accuracies: tuple[Accuracy, ...]
    """Each method over all problems; empty where there are fewer than two problems."""
    experiments: tuple[PlannedExperiment, ...]
    running: Experiment | None
    running_progress: progress.Progress | None

    @property
    def tests_contrasts(self) -> bool:
        return bool(self.evidence.findings) and self.comparison.plan.tests_contrasts

    @property
    def evidence_charts(self) -> list[Chart]:
        return report_figures.build_evidence_charts(self.comparison.plan, self.evidence)

    @property
    def charts(self) -> list[Chart]:
        """All figures that it can be asked for."""
        return [*self.evidence_charts, *(chart for scores in self.tasks for chart in scores.charts)]

    @property
    def films_robots(self) -> bool:
        """Whether any of its tasks is a robot's."""
        return any(get_medium(scores.task).filmed for scores in self.tasks)

    @property
    def lacks_records(self) -> bool:
        """Whether every experiment is over and a record is still to be written, as when the disk is full."""
        rows = [planned.experiment for planned in self.experiments if not planned.elsewhere]
        ended = all(row is not None and row.status in (*OVER, Experiment.Status.FAILED) for row in rows)
        return ended and self.comparison.status == Comparison.Status.RUNNING

    @property
    def begun_by_others(self) -> int:
        """Experiments that `./prefine compare` or another comparison began while this one is only planned."""
        if self.comparison.status != Comparison.Status.PLANNED:
            return 0
        rows = [planned.experiment for planned in self.experiments if not planned.elsewhere]
        return sum(row is not None and row.status != Experiment.Status.DRAFT for row in rows)

    @property
    def baseline(self) -> Arm:
        return self.comparison.plan.baseline

    @property
    def writes(self) -> bool:
        """Whether a language model, or the offline writer, writes for any of its methods."""
        return any(methods.get_method(arm.method).writes for arm in self.comparison.plan.arms)

    @property
    def warnings(self) -> list[str]:
        """What to know before it starts."""
        return list_warnings(self.comparison.plan)

    @property
    def to_train(self) -> int:
        return self.state.budget - self.state.candidates

    @property
    def to_run(self) -> str:
        """The experiments that are not over, in words."""
        left, searches = self.state.experiments - self.state.finished, self.state.searches_left
        kinds = f": {searches} of methods, {left - searches} of winners and references" if left > searches else ""
        return f"{left} experiment{'' if left == 1 else 's'} one after another{kinds}"

    @property
    def ceiling(self) -> Ceiling:
        return compute_ceiling(self.comparison.plan, self.state.searches_left)

    @property
    def fraction(self) -> float:
        return self.state.candidates / self.state.budget

    @property
    def elsewhere(self) -> int:
        """Experiments whose results are read from the uploaded report."""
        return sum(planned.elsewhere for planned in self.experiments)

    @property
    def reused(self) -> int:
        """Experiments that were over before this comparison was planned."""
        start = self.comparison.created_at
        rows = [planned.experiment for planned in self.experiments if planned.experiment is not None]
        return sum(row.status in OVER and row.finished_at is not None and row.finished_at < start for row in rows)


def build_overview(comparison: Comparison) -> ComparisonOverview:
    """Raises ValueError where a task or method of the plan does not exist any more."""
    plan, elsewhere = comparison.plan, comparison.finished_elsewhere
    results = experiment_results.read_results(plan, elsewhere)
    scores = experiment_results.group_scores(plan, results)
    rows = plan.find_experiments()
    known = {result.public_id: (result.shortfall, bool(result.folder)) for result in results}
    ids = [(cell, plan.public_id(cell)) for cell in plan.cells()]
    experiments = tuple(
        PlannedExperiment(c.task, c.arm, c.index + 1, rows.get(key), *known.get(key, ("", False))) for c, key in ids
    )
    running = next((p.experiment for p in experiments if p.experiment is not None and p.experiment.live), None)
    references, aligned = experiment_results.read_references(plan, elsewhere), alignments.read_references(plan)
    tasks = tuple(
        TaskScores(
            task,
            tuple(_build_row(score, plan, references) for score in scores if score.task == task),
            references,
            bool(plan.retrain) and get_medium(task).filmed,
            aligned,
        )
        for task in plan.tasks
    )
    return ComparisonOverview(
        comparison=comparison,
        state=read_state(plan, elsewhere),
        tasks=tasks,
        evidence=findings.collect_evidence(plan, scores, references, find_unread(plan)),
        accuracies=tuple(measure_accuracies(plan, scores)),
        experiments=experiments,
        running=running,
        running_progress=progress.read_progress(running) if running else None,
    )


def _build_row(score: Score, plan: Plan, references: References) -> MethodRow:
    found = published.find_beside(score, plan)
    texts = dict.fromkeys(f"{row.shown} ({row.paper})" for row in found)
    costs = [result.cost for result in score.results]
    known = [cost for cost in costs if cost is not None]
    return MethodRow(
        score=score,
        planned=plan.experiments,
        queries=_compute_mean([result.queries for result in score.results]),
        cost=_compute_mean(known) if len(known) == len(costs) else None,
        tokens=_compute_mean([result.prompt_tokens + result.completion_tokens for result in score.results]),
        seconds=score.mean_of("train_seconds"),
        gpu_seconds=score.mean_of("gpu_seconds"),
        published=", ".join(texts),
        baseline=score.arm == plan.baseline,
        normalised=findings.normalise(score.score, score.task, references),
    )


def _compute_mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
