"""The trainings of an experiment that were copied from another one, where the same rewards had the same seed."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.experiments.models import Experiment


@dataclass(frozen=True)
class ReusedTraining:
    step: int
    slot: int
    iteration: int
    source: Experiment | None
    """Where it was trained; None if that was deleted."""


def read_reused_trainings(experiment: Experiment) -> list[ReusedTraining]:
    events = experiment.events.filter(kind="trained before", payload__has_key="experiment").order_by("id")
    places = list(events.values_list("payload", flat=True))
    if not places:
        return []
    rows = Experiment.objects.filter(public_id__in={place["experiment"] for place in places})
    sources = {str(row.public_id): row for row in rows}
    return [
        ReusedTraining(place["step"], place["slot"], place["iteration"], sources.get(place["experiment"]))
        for place in places
    ]
