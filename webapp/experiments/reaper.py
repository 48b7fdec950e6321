"""Once a second: what has been forgotten is picked up. Any number of reapers may run."""

from __future__ import annotations

from django.db import transaction

from webapp.archive import retention, work
from webapp.comparisons import going
from webapp.experiments import jobs, leases, loop
from webapp.experiments.models import Job
from webapp.review import ballot, panels
from webapp.studies import assigning, enrolment


def tick() -> None:
    """Take back stale leases, lock due votes, let people go on, ring for queued jobs, set going what stands still."""
    leases.take_back_stale()
    ballot.lock_due()
    panels.settle_due()
    assigning.begin_due()
    enrolment.finish_due()
    for experiment in loop.without_work():
        with transaction.atomic():
            loop.lock(experiment.pk)
            if experiment in loop.without_work():
                jobs.add(experiment, Job.Kind.ADVANCE)
    going.pick_up()
    jobs.ring_again()
    work.pick_up()
    retention.tick()
