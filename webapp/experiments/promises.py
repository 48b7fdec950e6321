"""What pages say about the time left: one promise per round, kept steady, and stored with the job it was made for.

The worker that holds a job renews the promise (`webapp.experiments.leases`). Pages read it, so that all say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from webapp.experiments.job_kinds import PROMISED_KINDS
from webapp.experiments.models import Job

FIRST_PAUSE, PAUSE_SHARE = 5.0, 0.05
"""A promise is renewed after 5 seconds, and after 5% of the time that the job has taken if that is longer."""
TOLERANCE, TOLERANCE_SECONDS = 1.2, 5.0
"""A promise is kept while the newest estimate is at most so much longer."""
SHORT_SECONDS = 60.0
"""A promise below this that is taken back was the last of its kind: "less than a minute" is not said twice."""
GRACE_SECONDS = 5.0
"""So long after the promised moment pages say that it takes longer."""


@dataclass(frozen=True)
class Promise:
    made_at: datetime
    seconds: float
    """The time left that was promised."""
    late: bool
    """An earlier promise of this round was too short."""
    vague: bool = False
    """One of less than a minute was: from a minute on nobody is told a time again."""

    def count_left(self, now: datetime) -> float:
        """The seconds left of it; negative once it is broken."""
        return self.seconds - (now - self.made_at).total_seconds()


def renew_promise(earlier: Promise | None, estimate: float, now: datetime) -> Promise:
    """The promise from now on. It falls smoothly; it rises only when it cannot be kept, and then says so."""
    if earlier is None:
        return Promise(now, estimate, late=False)
    left = earlier.count_left(now)
    if estimate <= left:
        return replace(earlier, made_at=now, seconds=(left + estimate) / 2)
    if left > 0 and estimate <= left * TOLERANCE + TOLERANCE_SECONDS:
        return replace(earlier, made_at=now, seconds=left)
    return Promise(now, estimate, late=True, vague=earlier.vague or left < SHORT_SECONDS)


def read_promises(job: Job) -> list[Promise]:
    return [
        Promise(job.created_at + timedelta(seconds=at), left, late=late > 0, vague=late > 1)
        for at, left, late in job.estimates
    ]


def write_promise(job: Job, promise: Promise) -> list[list[float]]:
    """The job's promises with this one, as its row stores them."""
    at = (promise.made_at - job.created_at).total_seconds()
    return [*job.estimates, [round(at, 1), round(promise.seconds, 1), promise.late + promise.vague]]


def find_promise(job: Job) -> Promise | None:
    """The promise in force: the job's own, or that of an earlier job of the same round."""
    if job.estimates:
        return read_promises(job)[-1]
    if job.request is None:
        return None
    same = {"experiment": job.experiment_id, "request__payload__iteration": job.request.payload["iteration"]}
    jobs = Job.objects.filter(pk__lt=job.pk, kind__in=PROMISED_KINDS, **same).exclude(estimates=[])
    before = jobs.order_by("-pk").first()
    return read_promises(before)[-1] if before else None


def is_due(job: Job, now: datetime) -> bool:
    """Whether the job's promise should be renewed, by the database's clock."""
    if not job.info.promised or job.films_early:
        return False
    if not job.estimates:
        return True
    age = (now - job.created_at).total_seconds()
    return age - float(job.estimates[-1][0]) >= max(FIRST_PAUSE, PAUSE_SHARE * age)
