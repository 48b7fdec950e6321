"""Film the segments of a session's pairs; then people are asked. Those of a simulated teacher are answered already."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from trainer.preferences.exchange import get_segment_file
from webapp.base.store import store
from webapp.experiments import events, jobs, pair_sessions
from webapp.experiments.execute.film import NO_REPORT, ClipOrder, film_pending, publish_film
from webapp.experiments.leases import Cancelled, Lease
from webapp.experiments.models import Clip, PairSession, Segment


def film_pairs(lease: Lease) -> None:
    assert lease.job.request is not None
    session = lease.job.request.pair_sessions.get(number=lease.job.percent)
    errors = film_pending(lease, partial(list_orders, session), save_segment)
    missing = list(session.segments.filter(status=Clip.Status.PENDING))
    if len(missing) == session.segments.count():
        lease.fail(f"None of the pairs could be filmed: {next(iter(errors.values()), NO_REPORT)}")
        return
    with lease.settle() as experiment:
        for segment in missing:
            segment.status, segment.error = Clip.Status.FAILED, errors.get(segment.pk, NO_REPORT)
            segment.save(update_fields=["status", "error"])
            text = f"A segment of session {session.number} could not be filmed: {segment.error}"
            events.emit(experiment, "clip failed", text)
        pair_sessions.open_session(experiment, session)


def film_answered_pairs(lease: Lease) -> None:
    """With low priority, on one core."""
    assert lease.job.request is not None
    session = lease.job.request.pair_sessions.filter(number=lease.job.percent).first()
    errors = film_pending(lease, partial(list_orders, session), save_segment, early=True) if session else {}
    with lease.settle():
        for segment in session.segments.filter(status=Clip.Status.PENDING) if session else ():
            segment.status, segment.error = Clip.Status.FAILED, errors.get(segment.pk, NO_REPORT)
            segment.save(update_fields=["status", "error"])
        jobs.ring_next(lease.job.info)


def list_orders(session: PairSession, folder: Path) -> list[ClipOrder]:
    """The segments that are still to be filmed."""
    orders = []
    for segment in session.segments.filter(status=Clip.Status.PENDING):
        name = get_segment_file(Path(), 0, session.number, segment.number)
        with suppress(FileNotFoundError):  # the film process reports the missing rollout
            store.fetch(f"{session.request.run_key}/{name.as_posix()}", folder / name.name)
        orders.append(ClipOrder(segment, folder / name.name, folder / f"{segment.number}.mp4"))
    return orders


def save_segment(lease: Lease, segment: Segment, film: Path) -> None:
    """Publish a segment and its poster, then mark it as ready."""
    publish_film(lease, segment, film)
    with lease.lock_experiment():
        if not Segment.objects.filter(pk=segment.pk).update(status=Clip.Status.READY, error=""):
            raise Cancelled  # deleted meanwhile
