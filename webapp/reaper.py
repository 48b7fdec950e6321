"""Pick up what has been forgotten: within a second where something waits. Any number of reapers may run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import QuerySet

from webapp.archive import work
from webapp.comparisons import background
from webapp.comparisons.models import Comparison
from webapp.experiments import jobs, leases, loop
from webapp.experiments.models import Job
from webapp.review import ballot, panels
from webapp.review.models import Vote
from webapp.studies import assigning, enrolment

log = logging.getLogger(__name__)


def wake_idle_experiments() -> None:
    """Have experiments that stand still look for their next step."""
    for experiment in loop.find_idle():
        with transaction.atomic():
            loop.lock(experiment.pk)
            if experiment in loop.find_idle():
                jobs.add(experiment, Job.Kind.ADVANCE)


STEPS: tuple[Callable[[], object], ...] = (
    leases.requeue_abandoned,
    ballot.lock_due_votes,
    panels.settle_due_requests,
    assigning.begin_due,
    enrolment.finish_due,
    wake_idle_experiments,
    background.continue_running,
    jobs.ring_again,
    work.requeue_abandoned,
)


TICK_SECONDS = 1.0
IDLE_SECONDS = 60.0
"""Where nobody writes and nothing waits for its time, all is looked at this often."""


def list_waiting() -> tuple[QuerySet[Any], ...]:
    """Rows that a step may act upon though nobody writes: work that may die or be unheard, votes not locked yet."""
    active = (Job.Status.QUEUED, Job.Status.RUNNING)
    return (
        Job.objects.filter(status__in=active).exclude(status=Job.Status.QUEUED, experiment__paused=True),
        Vote.objects.filter(undone_at=None, locked_at=None, request__experiment__status__in=ballot.LIVE),
        Comparison.objects.filter(status=Comparison.Status.RUNNING),
        *(
            task._default_manager.filter(status__in=(task.Status.QUEUED, task.Status.RUNNING))
            for task in work.KINDS.values()
        ),
    )


def seconds_to_next() -> float:
    """How long nothing needs a tick, unless somebody writes."""
    return TICK_SECONDS if any(rows.exists() for rows in list_waiting()) else IDLE_SECONDS


def tick() -> None:
    """Take back stale leases, lock due votes, let people go on, ring for queued jobs, set going what stands still."""
    for step in STEPS:
        try:
            step()
        except ObjectDoesNotExist as error:  # deleted between our look and our lock: the next tick does the rest
            log.info("%s.%s stopped at a row that is gone: %s", step.__module__, step.__name__, error)
