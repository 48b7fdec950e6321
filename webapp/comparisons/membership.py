"""Which comparisons an experiment belongs to: plans name their experiments, and no row points back."""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass

from webapp.comparisons.models import Comparison


@dataclass(frozen=True)
class Membership:
    comparison: Comparison
    arm: str
    """The label of the experiment's arm in that comparison."""


def map_memberships() -> dict[uuid.UUID, list[Membership]]:
    """By public id of an experiment, newest comparison first; without plans that cannot be read any more."""
    found: dict[uuid.UUID, list[Membership]] = {}
    for comparison in Comparison.objects.select_related("model", "vision", "describer", "judge_model"):
        with suppress(ValueError):
            plan = comparison.plan
            for cell in plan.cells():
                found.setdefault(plan.public_id(cell), []).append(Membership(comparison, cell.arm.label))
                if plan.retrains(cell):
                    own = Membership(comparison, f"{cell.arm.label}, retrained")
                    found.setdefault(plan.retraining_id(cell), []).append(own)
            for one in plan.references:
                found.setdefault(plan.reference_id(*one), []).append(Membership(comparison, one[1]))
    return found
