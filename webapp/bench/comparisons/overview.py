"""What the page of a comparison shows, from the rows as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.comparisons import experiment_results, published
from webapp.comparisons.accuracy import Accuracy, accuracies
from webapp.comparisons.ceiling import Ceiling, ceiling
from webapp.comparisons.experiment_results import Score
from webapp.comparisons.foreground import OVER, State, state
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Arm, Plan
from webapp.experiments import progress
from webapp.experiments.models import Experiment


@dataclass(frozen=True)
class Line:
    """A method on a task."""

    score: Score
    wanted: int
    queries: float | None
    cost: float | None
    """US dollars an experiment; None where some price is unknown."""
    tokens: float | None
    """Read and written."""
    seconds: float | None
    """Of training, wall time; and those of them on a GPU, None where some training does not say where it ran."""
    gpu_seconds: float | None
    printed: str
    baseline: bool
    """The others are tested against it."""

    @property
    def shape(self) -> str:
        arm = self.score.arm
        return f"{arm.budget} in all" if arm.budget else f"{arm.k} × {arm.n}"


@dataclass(frozen=True)
class TaskScores:
    task: str
    lines: tuple[Line, ...]

    @property
    def drawn(self) -> bool:
        """Whether the report has figures of it."""
        return any(line.score.values for line in self.lines)


@dataclass(frozen=True)
class Place:
    """One experiment of the plan, begun or not."""

    task: str
    arm: Arm
    number: int
    experiment: Experiment | None


@dataclass(frozen=True)
class Board:
    comparison: Comparison
    state: State
    tasks: tuple[TaskScores, ...]
    accuracies: tuple[Accuracy, ...]
    """Of each method over all problems; empty where there are not several."""
    places: tuple[Place, ...]
    running: Experiment | None
    now: progress.Progress | None

    @property
    def unwritten(self) -> bool:
        """Whether all is over but the records, which are kept on the disk: until they are, it does not end."""
        rows = [place.experiment for place in self.places]
        ended = all(row is not None and row.status in (*OVER, Experiment.Status.FAILED) for row in rows)
        return ended and self.comparison.status == Comparison.Status.RUNNING

    @property
    def baseline(self) -> Arm:
        return self.comparison.plan.baseline

    @property
    def to_train(self) -> int:
        return self.state.budget - self.state.candidates

    @property
    def most(self) -> Ceiling:
        return ceiling(self.comparison.plan, self.state.experiments - self.state.finished)

    @property
    def fraction(self) -> float:
        return self.state.candidates / self.state.budget

    @property
    def reused(self) -> int:
        """Experiments that were over before this comparison was planned."""
        planned = self.comparison.created_at
        rows = [place.experiment for place in self.places if place.experiment is not None]
        return sum(row.status in OVER and row.finished_at is not None and row.finished_at < planned for row in rows)


def of(comparison: Comparison) -> Board:
    """Raises ValueError where a task or method of the plan is not there any more."""
    plan = comparison.plan
    scores = experiment_results.scores(plan, experiment_results.results(plan))
    rows = plan.existing()
    places = tuple(Place(c.task, c.arm, c.index + 1, rows.get(plan.public_id(c))) for c in plan.cells())
    running = next((p.experiment for p in places if p.experiment is not None and p.experiment.live), None)
    tasks = tuple(TaskScores(t, tuple(_line(s, plan) for s in scores if s.task == t)) for t in plan.tasks)
    now = progress.of(running) if running else None
    return Board(comparison, state(plan), tasks, tuple(accuracies(plan, scores)), places, running, now)


def _line(score: Score, plan: Plan) -> Line:
    found = published.of(score.task, score.arm, plan.faultless)
    printed = dict.fromkeys(f"{row.shown} ({row.paper})" for row in found)
    costs = [result.cost for result in score.results]
    known = [cost for cost in costs if cost is not None]
    return Line(
        score=score,
        wanted=plan.experiments,
        queries=_mean([result.queries for result in score.results]),
        cost=_mean(known) if len(known) == len(costs) else None,
        tokens=_mean([result.prompt_tokens + result.completion_tokens for result in score.results]),
        seconds=score.mean_of("train_seconds"),
        gpu_seconds=score.mean_of("gpu_seconds"),
        printed=", ".join(printed),
        baseline=score.arm == plan.baseline,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
