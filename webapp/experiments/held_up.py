"""Jobs that are held up by something outside of Prefine: a full disk, or a store that is away.

Such a job is tried again and again, and each attempt ends at once. Pages must not change with every attempt.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, F, When
from django.db.models.functions import Now

from webapp.experiments.models import Job

LASTING = timedelta(seconds=10)
"""What has lasted this long is said on pages, and no longer counts as a short attempt."""


def note_time() -> Any:
    """The value of `held_up_at` for a job whose attempt was held up: the first of a row of short attempts counts."""
    again = When(held_up_at__isnull=False, started_at__gt=Now() - LASTING, then=F("held_up_at"))
    return Case(again, default=Now())


def is_shown(job: Job, now: datetime) -> bool:
    """Whether pages say that it is held up."""
    if job.held_up_at is None or now - job.held_up_at < LASTING:
        return False
    tries = job.status == Job.Status.RUNNING and job.started_at is not None and now - job.started_at < LASTING
    return job.status == Job.Status.QUEUED or tries
