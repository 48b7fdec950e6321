"""The experiments of a comparison in the order in which they run: the references, then each search and, after it, the
training of its winner's reward with seeds that no search has seen.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from llm.methods.retrain import EPISODES
from simulation import catalog
from webapp.comparisons.plan import Cell, Plan, save_once
from webapp.experiments import judges
from webapp.experiments.models import Experiment
from webapp.experiments.repeating import LONGEST_NAME, RETRAINING

UNSEEN_SEEDS = 500_000
"""Retrainings count their seeds from here: above those of searches, and equal for all methods of one repetition."""
METRIC_WORDS = "# No program: the reward is the hidden metric of the task itself, where it counts, and 0 elsewhere.\n"
Rows = Mapping[uuid.UUID, Experiment]
OVER = (Experiment.Status.FINISHED, Experiment.Status.CANCELLED)


@dataclass(frozen=True)
class Step:
    """One experiment of a comparison."""

    public_id: uuid.UUID
    task: str
    preset: str
    candidates: int
    """Policies that it may train, or answers that it may have."""
    draft: Callable[[Rows], Experiment | None]
    """(the comparison's experiments) -> a row that is not saved; None where what it follows has left nothing."""
    cell: Cell | None = None
    """None for a reference."""
    follows: uuid.UUID | None = None
    """The search whose winner it trains again."""

    @property
    def is_search(self) -> bool:
        """Whether a method runs in it, which may ask language models; the others only train rewards that exist."""
        return self.cell is not None and self.follows is None

    def is_ready(self, rows: Rows) -> bool:
        """Whether what it follows has finished here."""
        before = rows.get(self.follows) if self.follows else None
        return self.follows is None or (before is not None and before.status == Experiment.Status.FINISHED)

    def is_over(self, rows: Rows, elsewhere: Collection[uuid.UUID]) -> bool:
        """Whether it has ended, here or elsewhere, or can never begin here."""
        row = rows.get(self.public_id)
        if row is not None:
            return row.status in OVER or self.public_id in elsewhere
        if self.follows is None:
            return self.public_id in elsewhere
        before = rows.get(self.follows)
        lost = before is not None and before.status in OVER and self.draft(rows) is None
        return lost or (self.follows in elsewhere and (before is None or before.status not in OVER))


def list_steps(plan: Plan) -> Iterator[Step]:
    for task, name in plan.references:
        yield _build_reference(plan, task, name)
    for cell in plan.cells():
        number = plan.public_id(cell)
        place = (cell.task, plan.find_preset(cell))
        yield Step(number, *place, cell.arm.candidates, lambda rows, cell=cell: plan.draft(cell), cell)  # type: ignore[misc]
        if plan.retrains(cell):
            yield _build_retraining(plan, cell, number)


def create(step: Step, rows: Rows) -> Experiment | None:
    """The step's experiment, created if needed; None where what it follows has left nothing."""
    draft = step.draft(rows)
    return save_once(draft) if draft else None


def _build_reference(plan: Plan, task: str, name: str) -> Step:
    by_metric = name == "Sparse"
    reward = METRIC_WORDS if by_metric else catalog.read_reference_reward(task)
    number = plan.reference_id(task, name)

    def draft(rows: Rows) -> Experiment:
        return _draft(plan, number, f"{name} on {task}", task, plan.preset, reward, UNSEEN_SEEDS, by_metric)

    return Step(number, task, plan.preset, plan.retrain, draft)


def _build_retraining(plan: Plan, cell: Cell, search: uuid.UUID) -> Step:
    number, preset = plan.retraining_id(cell), plan.find_preset(cell)

    def draft(rows: Rows) -> Experiment | None:
        winner = rows[search].winner if search in rows else None
        if winner is None:
            return None
        name = f"{rows[search].name[: LONGEST_NAME - 12]}, retrained"
        seed = UNSEEN_SEEDS + plan.seed + cell.index
        row = _draft(plan, number, name, cell.task, preset, winner.source, seed)
        row.retrains = winner
        return row

    return Step(number, cell.task, preset, plan.retrain, draft, cell, search)


def _draft(
    plan: Plan, number: uuid.UUID, name: str, task: str, preset: str, reward: str, seed: int, by_metric: bool = False
) -> Experiment:
    given = {"reward": reward, "episodes": EPISODES, "films": False, "by_metric": by_metric}
    return Experiment(
        public_id=number,
        name=name,
        task=task,
        method=RETRAINING.name,
        options=RETRAINING.settings(given),
        judge=judges.WITHOUT_PEOPLE,
        k=plan.retrain,
        n=RETRAINING.n,
        preset=preset,
        overrides=dict(plan.overrides),
        seed=seed,
    )
