"""How long a candidate takes on this installation, for the time that is left of a comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, Func, IntegerField, Max, Q, Sum

from llm.methods import ASKING_PAIRS
from webapp.comparisons.plan import Plan
from webapp.experiments.job_kinds import CLIP_KINDS, TRAINING_KINDS
from webapp.experiments.models import Job

SETTINGS = ("experiment__task", "experiment__preset")
REMEMBERED_EXPERIMENTS = 20
"""The seconds of a candidate are an average over this many experiments."""


def measure_seconds_per_candidate(plan: Plan, settings: Iterable[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """By task and preset, the seconds of all jobs of a candidate: writing, asking, training, filming.

    Averaged over the newest experiments on the task with the plan's other settings and writing model; tasks without any
    are left out, and methods that learn a reward while they train. Two queries, however many tasks there are.
    """
    wanted = set(settings)
    tasks, presets = {task for task, _ in wanted}, {preset for _, preset in wanted}
    like = Q(experiment__task__in=tasks, experiment__preset__in=presets, experiment__overrides=dict(plan.overrides))
    like &= ~Q(experiment__method__in=ASKING_PAIRS)
    done = Job.objects.filter(like, experiment__model=plan.model, status=Job.Status.DONE, attempt=1).order_by()
    trained = done.filter(kind__in=TRAINING_KINDS).values_list(*SETTINGS, "experiment").annotate(newest=Max("pk"))
    lately: dict[tuple[str, str], list[int]] = defaultdict(list)
    for task, preset, experiment, _ in trained.order_by("-newest"):
        lately[task, preset].append(experiment)
    newest = [experiment for own in lately.values() for experiment in own[:REMEMBERED_EXPERIMENTS]]
    found = done.filter(experiment__in=newest).values_list(*SETTINGS)
    sums = found.annotate(
        took=Sum(
            ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField()),
            filter=~Q(kind__in=CLIP_KINDS, percent__lt=100),
        ),
        count=Sum(_CandidateCount("request__payload"), filter=Q(kind__in=TRAINING_KINDS)),
    )
    paces = {(task, preset): took.total_seconds() / count for task, preset, took, count in sums if took and count}
    return {place: seconds for place, seconds in paces.items() if place in wanted}


class _CandidateCount(Func):
    """SQL: how many candidates a request's payload lists."""

    output_field = IntegerField()
    template = "JSON_ARRAY_LENGTH(%(expressions)s, '$.candidates')"

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(
            compiler, connection, template="JSONB_ARRAY_LENGTH(%(expressions)s -> 'candidates')", **context
        )
