"""Once a second: what has been forgotten is picked up. Any number of reapers may run."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction

from webapp.archive import work
from webapp.comparisons import background
from webapp.experiments import jobs, leases, loop
from webapp.experiments.models import Job
from webapp.review import ballot, panels
from webapp.studies import assigning, enrolment

log = logging.getLogger(__name__)


def set_going() -> None:
    """Have experiments that stand still look for their next step."""
    for experiment in loop.without_work():
        with transaction.atomic():
            loop.lock(experiment.pk)
            if experiment in loop.without_work():
                jobs.add(experiment, Job.Kind.ADVANCE)


STEPS: tuple[Callable[[], object], ...] = (
    leases.take_back_stale,
    ballot.lock_due,
    panels.settle_due,
    assigning.begin_due,
    enrolment.finish_due,
    set_going,
    background.pick_up,
    jobs.ring_again,
    work.pick_up,
)


def tick() -> None:
    """Take back stale leases, lock due votes, let people go on, ring for queued jobs, set going what stands still."""
    for step in STEPS:
        try:
            step()
        except ObjectDoesNotExist as error:  # deleted between our look and our lock: the next tick does the rest
            log.info("%s.%s stopped at a row that is gone: %s", step.__module__, step.__name__, error)
