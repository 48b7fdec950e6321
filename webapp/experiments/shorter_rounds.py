"""Later rounds that train for a part of the first one's length: they go on from an earlier round's best policy."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from simulation import catalog
from trainer.records import apply_overrides
from webapp.experiments.models import Experiment, Iteration
from webapp.experiments.models.loop_settings import TrainingStart

SHARE = 0.6
"""Six Humanoids then take less than five minutes on two cores, and each round runs faster (docs/benchmarks.md)."""


def trains_shorter(experiment: Experiment, number: int | None = None) -> bool:
    """Whether the round with this number, or the next, trains for a part of the usual length."""
    if experiment.training_start != TrainingStart.BEST_SHORT or experiment.pk is None:
        return False
    before = experiment.iterations.filter(aside=False) if number is None else find_rounds_before(experiment, number)
    return before.exclude(best=None).exists()


def find_rounds_before(experiment: Experiment, number: int) -> QuerySet[Iteration]:
    """The rounds that count before the one with this number, in order."""
    return experiment.iterations.filter(number__lt=number, aside=False)


def find_overrides(experiment: Experiment, number: int) -> dict[str, Any]:
    """The fields of its preset that an experiment replaces in the round with this number."""
    overrides: dict[str, Any] = experiment.overrides
    if not trains_shorter(experiment, number):
        return overrides
    preset = apply_overrides(catalog.get_preset(experiment.task, experiment.preset), overrides)
    return overrides | {"iterations": shorten(preset.iterations)}


def shorten(iterations: int) -> int:
    """The iterations of a later round's training, from those of the first."""
    return max(1, round(SHARE * iterations))
