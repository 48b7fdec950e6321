"""A further experiment with the settings of another."""

from __future__ import annotations

import re

from django.db import transaction

from webapp.experiments import loop
from webapp.experiments.models import Experiment, LoopSettings
from webapp.experiments.seeds import find_next_seed

COPIED = tuple(field.name for field in LoopSettings._meta.get_fields())
LONGEST_NAME = 120


def explain_refusal(experiment: Experiment) -> str:
    """Why no experiment with its settings and the next seed can be started; empty if one can."""
    if experiment.judge_info.asks_people:
        return "People judged it. Its study gives each new participant, or panel, an experiment with the next seed."
    return ""


def copy_settings(experiment: Experiment) -> Experiment:
    """A draft with the same settings and the next free seed, not saved."""
    draft = Experiment(overrides=experiment.overrides, **{name: getattr(experiment, name) for name in COPIED})
    draft.seed = find_next_seed(draft)
    stem = re.sub(r", seed \d+$", "", experiment.name)
    draft.name = f"{stem[: LONGEST_NAME - 18]}, seed {draft.seed}"
    return draft


@transaction.atomic
def start_next_seed(experiment: Experiment, owner: str) -> Experiment:
    """Start an experiment with the same settings and the next free seed. Raises ValueError with the reason if it
    cannot be started.
    """
    if reason := explain_refusal(experiment):
        raise ValueError(reason)
    loop.lock(experiment.pk)
    draft = copy_settings(experiment)
    draft.owner = owner
    draft.save()
    loop.start(draft)
    return draft
