"""The values of the training settings with which trainings ran, and where today's settings of that name differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from simulation import catalog
from trainer.records import apply_overrides
from trainer.saved_preset import describe_values
from webapp.base.store import store
from webapp.experiments.models import Experiment, Request, Run
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.experiments.shorter_rounds import shorten


@dataclass(frozen=True)
class Setting:
    """One value."""

    name: str
    used: Any
    today: Any
    """What a training that begins now would have; None where today's settings lack it."""

    @property
    def differs(self) -> bool:
        return bool(self.used != self.today)

    @property
    def used_in_words(self) -> str:
        return _show(self.used)

    @property
    def today_in_words(self) -> str:
        return _show(self.today)


def read_values(request: Request, run: Run | None) -> dict[str, Any]:
    """The values with which a training ran, or runs; empty where an earlier version saved none."""
    if run is not None and run.preset:
        return dict(run.preset)
    with suppress(OSError, ValueError), store.open(f"{request.run_key}/checkpoints/preset.json") as file:
        found = json.loads(file.read())
        return found if isinstance(found, dict) else {}
    return {}


def compare_settings(experiment: Experiment, values: Mapping[str, Any]) -> list[Setting]:
    """Each value beside today's."""
    today = _read_today(experiment)
    shortened = experiment.training_start == TrainingStart.BEST_SHORT and "iterations" in today
    if shortened and values.get("iterations") == shorten(today["iterations"]):
        today["iterations"] = values["iterations"]
    return [Setting(name.replace("_", " "), used, today.get(name)) for name, used in values.items()]


def describe_changed_settings(experiment: Experiment) -> str:
    """Which rounds were trained with other values than today's settings have; empty where none was."""
    rows = Run.objects.filter(request__experiment=experiment).exclude(preset={}).order_by("pk")
    parts = []
    for number, values in rows.values_list("request__payload__iteration", "preset"):
        if changed := [one for one in compare_settings(experiment, values) if one.differs]:
            parts.append(f"round {number} ({_join_settings(changed)})")
    if not parts:
        return ""
    return (
        f"The settings “{experiment.preset}” have changed since these were trained: {', '.join(parts)}. Scores of "
        "different settings do not compare."
    )


def list_used(experiment: Experiment) -> list[dict[str, Any]]:
    """The values of each finished training with the place of its request, for records."""
    rows = Run.objects.filter(request__experiment=experiment).exclude(preset={}).order_by("pk")
    places = rows.values_list("request__step", "request__slot", "preset")
    return [{"step": step, "slot": slot, "preset": preset} for step, slot, preset in places]


def _join_settings(settings: Sequence[Setting]) -> str:
    return ", ".join(f"{one.name} {one.used_in_words}, today {one.today_in_words}" for one in settings)


def _show(value: Any) -> str:
    return "none" if value is None else " × ".join(map(str, value)) if isinstance(value, list) else str(value)


def _read_today(experiment: Experiment) -> dict[str, Any]:
    """Today's values in the form in which files have them; empty where there are no such settings any more."""
    try:
        preset = apply_overrides(catalog.get_preset(experiment.task, experiment.preset), experiment.overrides)
    except ValueError:
        return {}
    return describe_values(preset)
