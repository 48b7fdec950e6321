"""Where pairs of a vote can come from: arms of studies, variants of comparisons, methods on a task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llm.methods import LOOKING_ON
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Experiment
from webapp.studies.models import Arm

MOST_COMPARISONS = 50
"""The newest."""


@dataclass(frozen=True)
class Source:
    """Finished experiments under one name."""

    key: str
    group: str
    name: str
    experiments: tuple[int, ...]
    """Primary keys, in the order of participants or of repetitions."""

    @property
    def label(self) -> str:
        return f"{self.name} ({len(self.experiments)} finished)"


def list_sources() -> list[Source]:
    """All that have a finished experiment, in groups."""
    return [one for one in (*_list_arms(), *_list_variants(), *_list_methods()) if one.experiments]


def _list_arms() -> Iterator[Source]:
    arms = Arm.objects.select_related("study").order_by("-study", "position", "pk")
    for arm in arms:
        ended = arm.assignments.filter(experiment__status=Experiment.Status.FINISHED, participant__pilot=False)
        keys = ended.order_by("participant", "position").values_list("experiment", flat=True)
        yield Source(f"arm-{arm.pk}", f"Study: {arm.study}", arm.name, tuple(dict.fromkeys(keys)))


def _list_variants() -> Iterator[Source]:
    for row in Comparison.objects.all()[:MOST_COMPARISONS]:
        try:
            plan = row.plan
        except ValueError:  # a task or method of it is gone
            continue
        known = plan.find_experiments()
        for number, arm in enumerate(plan.arms):
            rows = (known.get(plan.public_id(cell)) for cell in plan.cells() if cell.arm == arm)
            ended = tuple(one.pk for one in rows if one and one.status == Experiment.Status.FINISHED)
            yield Source(f"variant-{row.pk}-{number}", f"Comparison: {row}", arm.label, ended)


def _list_methods() -> Iterator[Source]:
    """The experiments that no study has, by task and method."""
    alone = Experiment.objects.filter(status=Experiment.Status.FINISHED, assignments=None)
    alone = alone.exclude(method__in=LOOKING_ON).order_by("task", "method", "pk")
    groups: dict[tuple[str, str], list[Experiment]] = {}
    for row in alone:
        groups.setdefault((row.task, row.method), []).append(row)
    for (task, method), rows in groups.items():
        keys = tuple(row.pk for row in rows)
        yield Source(f"method-{method}-{task}", f"Experiments on {task}", rows[0].get_method_display(), keys)
