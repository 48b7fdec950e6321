"""The seed of a new experiment for which none is given."""

from __future__ import annotations

from webapp.experiments.models import Experiment

SETTINGS = (
    "task",
    "method",
    "judge",
    "k",
    "n",
    "preset",
    "training_start",
    "shared_experience",
    "model",
    "describer",
    "judge_model",
    "vision",
    "prompt_set",
)
OPTIONS = ("options", "judge_options", "overrides")
"""Compared here, because databases compare JSON differently."""


def find_next_seed(experiment: Experiment) -> int:
    """One more than the highest seed of an equal experiment, so that it is a repetition of its own; 0 without one."""
    equal = Experiment.objects.exclude(pk=experiment.pk).filter(
        **{name: getattr(experiment, name) for name in SETTINGS}
    )
    own = tuple(getattr(experiment, name) for name in OPTIONS)
    return max((seed + 1 for seed, *given in equal.values_list("seed", *OPTIONS) if tuple(given) == own), default=0)
