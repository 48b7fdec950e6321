"""Takes up what was left behind: stale claims, due votes, idle experiments. Any number of reapers may run."""

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
from webapp.review import ballot, pairs, panels
from webapp.review.models import Vote
from webapp.studies import assigning, enrolment
from webapp.votes import lifecycle as polls

log = logging.getLogger(__name__)


def wake_idle_experiments() -> None:
    """Queue the next step of experiments that stand still."""
    for experiment in loop.find_idle():
        with transaction.atomic():
            loop.lock(experiment.pk)
            if experiment in loop.find_idle():
                jobs.add(experiment, Job.Kind.ADVANCE)


STEPS: tuple[Callable[[], object], ...] = (
    leases.requeue_abandoned,
    ballot.lock_due_votes,
    panels.settle_due_requests,
    pairs.settle_due_sessions,
    assigning.begin_due,
    enrolment.finish_due,
    wake_idle_experiments,
    background.continue_running,
    jobs.ring_again,
    work.requeue_abandoned,
    polls.close_full_polls,
)


TICK_SECONDS = 1.0
IDLE_SECONDS = 60.0
"""How often everything is looked at when nothing is written and nothing waits for its time."""


def list_waiting() -> tuple[QuerySet[Any], ...]:
    """Rows on which a step may act without a new write: jobs whose worker may die, votes that are not locked yet."""
    active = (Job.Status.QUEUED, Job.Status.RUNNING)
    return (
        Job.objects.filter(status__in=active).exclude(status=Job.Status.QUEUED, experiment__paused=True),
        Vote.objects.filter(undone_at=None, locked_at=None, request__experiment__status__in=ballot.LIVE),
        pairs.list_waiting_sessions(),
        Comparison.objects.filter(status=Comparison.Status.RUNNING),
        polls.list_full_polls(),
        *(
            task._default_manager.filter(status__in=(task.Status.QUEUED, task.Status.RUNNING))
            for task in work.KINDS.values()
        ),
    )


def count_seconds_to_next() -> float:
    """Seconds until the next tick, unless something is written before."""
    return TICK_SECONDS if any(rows.exists() for rows in list_waiting()) else IDLE_SECONDS


def tick() -> None:
    """Run every step: take back stale leases, lock due votes, let people go on, call workers, wake idle experiments."""
    for step in STEPS:
        try:
            step()
        except ObjectDoesNotExist as error:  # deleted before it could be locked: the next tick does the rest
            log.info("%s.%s stopped at a row that is gone: %s", step.__module__, step.__name__, error)
