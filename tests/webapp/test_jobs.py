from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from tests.webapp.fake_workers import advance, fall_silent, find_job, start_to_write
from tests.webapp.servers import wait_for
from webapp.base import claims, processes
from webapp.experiments import jobs, leases, loop, request_results
from webapp.experiments.execute import film
from webapp.experiments.models import Candidate, Clip, Event, Experiment, Job, Request

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def row() -> Experiment:
    return start_to_write()


def claim(row: Experiment, kind: str = "write") -> leases.Lease:
    lease = leases.claim(find_job(row, kind).pk)
    assert lease is not None
    lease._beaten_at = 0.0  # the next beat is due
    return lease


def age(row: Job, seconds: float) -> None:
    Job.objects.filter(pk=row.pk).update(heartbeat=timezone.now() - timedelta(seconds=seconds))


class TestClaim:
    def test_one_of_many_gets_it(self, row: Experiment) -> None:
        wanted = find_job(row, "write").pk

        def attempt(_: int) -> bool:
            try:
                return leases.claim(wanted) is not None
            finally:
                connection.close()

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(24))) == 1
        assert Job.objects.get(pk=wanted).attempt == 1

    def test_nobody_gets_a_job_of_a_paused_experiment(self, row: Experiment) -> None:
        loop.pause(row)
        assert leases.claim(find_job(row, "write").pk) is None
        loop.resume(row)
        assert leases.claim(find_job(row, "write").pk) is not None

    def test_nobody_gets_a_cancelled_job(self, row: Experiment) -> None:
        loop.cancel(row)
        assert leases.claim(find_job(row, "write").pk) is None
        assert find_job(row, "write").status == Job.Status.CANCELLED


class TestLease:
    def test_progress_renews_it(self, row: Experiment) -> None:
        lease = claim(row)
        age(lease.job, 60)
        lease.beat({"fraction": 0.5})
        saved = find_job(row, "write")
        assert saved.progress["fraction"] == 0.5
        assert saved.heartbeat is not None and saved.heartbeat > timezone.now() - timedelta(seconds=30)

    def test_progress_is_written_once_a_beat(self, row: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
        lease = claim(row)
        monkeypatch.setattr(claims, "BEAT_SECONDS", 60.0)
        lease._beaten_at = -60.0
        for number in range(100):
            lease.beat({"fraction": number / 100})
        assert find_job(row, "write").progress == {"fraction": 0.0}

    def test_a_result_takes_effect_once(self, row: Experiment) -> None:
        """A worker that was taken for dead comes back with a result, after another has given one."""
        request = row.requests.get(kind="Write")
        late = claim(row)
        fall_silent()
        assert leases.requeue_abandoned() == 1
        with claim(row) as lease, lease.settle():
            request_results.complete(request, [{"id": "1-1", "source": "second", "parent": None}])
        with late:
            with late.settle():
                request_results.complete(request, [{"id": "1-1", "source": "first", "parent": None}])
            pytest.fail("a lost lease settled")
        request.refresh_from_db()
        assert request.result[0]["source"] == "second"
        assert [c.source for c in row.iterations.get().candidates.all()] == ["second"]

    def test_who_lost_it_stops_at_the_next_beat(self, row: Experiment) -> None:
        lease = claim(row)
        fall_silent()
        leases.requeue_abandoned()
        with pytest.raises(leases.ClaimLost):
            lease.beat()

    def test_who_works_for_a_deleted_experiment_stops(self, row: Experiment) -> None:
        with claim(row) as lease:
            row.delete()
            with lease.settle():
                pytest.fail("went on")
        assert not Job.objects.exists()

    def test_cancelling_stops_the_work(self, row: Experiment) -> None:
        with claim(row) as lease:
            loop.cancel(row)
            lease.beat()
            pytest.fail("went on")
        assert find_job(row, "write").status == Job.Status.CANCELLED

    def test_pausing_puts_a_training_back_without_a_strike(self, row: Experiment) -> None:
        Job.objects.filter(experiment=row, kind="write").update(kind="train")
        with claim(row, "train") as lease:
            loop.pause(row)
            lease.beat()
            pytest.fail("went on")
        saved = find_job(row, "train")
        assert (saved.status, saved.strikes) == (Job.Status.QUEUED, 0)

    def test_an_interruption_puts_it_back_without_a_strike(self, row: Experiment) -> None:
        with pytest.raises(KeyboardInterrupt), claim(row):
            raise KeyboardInterrupt
        saved = find_job(row, "write")
        assert (saved.status, saved.strikes) == (Job.Status.QUEUED, 0)

    def test_a_worker_that_is_to_end_puts_it_back_without_a_strike(self, row: Experiment) -> None:
        processes.stopping.set()
        try:
            with claim(row) as lease:
                lease.beat()
                pytest.fail("went on")
        finally:
            processes.stopping.clear()
        saved = find_job(row, "write")
        assert (saved.status, saved.strikes) == (Job.Status.QUEUED, 0)

    @pytest.mark.slow
    def test_a_thread_keeps_it_while_the_worker_waits(self, row: Experiment) -> None:
        lease = claim(row)
        age(lease.job, 3600)
        stale = Job.objects.filter(pk=lease.job.pk, heartbeat__lt=timezone.now() - timedelta(seconds=3000))
        with lease.beat_in_background():
            wait_for(lambda: not stale.exists(), "a heartbeat")
        assert leases.requeue_abandoned() == 0

    def test_a_database_that_is_away_for_a_moment_costs_nothing(
        self, row: Experiment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lease = claim(row)

        def away() -> None:
            raise OperationalError("the database system is shutting down")

        with monkeypatch.context() as broken:
            broken.setattr(lease, "renew", away)
            lease.beat({"fraction": 0.5})
            lease._beaten_at, lease._renewed_at = 0.0, lease._renewed_at - settings.LEASE_SECONDS
            with pytest.raises(OperationalError):
                lease.beat()
        lease._beaten_at = 0.0
        lease.beat()
        assert find_job(row, "write").progress["fraction"] == 0.5

    def test_a_database_that_stays_away_hides_no_error(
        self, row: Experiment, monkeypatch: pytest.MonkeyPatch, settings: Any
    ) -> None:
        def away(*_: Any) -> None:
            raise OperationalError("the database system is shutting down")

        settings.LEASE_SECONDS = 0
        with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError), claim(row):
            broken.setattr(leases, "count_strike", away)
            raise ZeroDivisionError
        assert find_job(row, "write").status == Job.Status.RUNNING
        fall_silent()
        assert leases.requeue_abandoned() == 1

    @pytest.mark.slow
    def test_who_waits_is_told_when_nobody_renews_it_any_more(
        self, row: Experiment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any) -> None:
            raise RuntimeError("the heartbeat stops")

        monkeypatch.setattr(threading, "excepthook", lambda said: None)
        lease = claim(row)
        monkeypatch.setattr(lease, "beat", broken)
        with pytest.raises(leases.ClaimLost), lease.beat_in_background() as stop_check:
            for _ in range(3000):
                stop_check()
                time.sleep(0.1)

    @pytest.mark.slow
    @pytest.mark.parametrize(("act", "status"), [(loop.cancel, Job.Status.CANCELLED), (loop.pause, Job.Status.QUEUED)])
    def test_who_waits_is_told_of_a_cancellation_or_pause(
        self, row: Experiment, act: Callable[[Experiment], bool], status: str
    ) -> None:
        asked_for = 0
        with claim(row) as lease, lease.beat_in_background() as stop_check:
            act(row)
            while asked_for < 3000:  # as many answers as a writer would go on to buy
                stop_check()
                asked_for += 1
                time.sleep(0.1)
        assert 0 < asked_for < 3000 and find_job(row, "write").status == status
        assert find_job(row, "write").strikes == 0


def train_request(row: Experiment) -> Request:
    """The open request of the fixture, as a Train request of one candidate."""
    payload = {"iteration": 1, "candidates": [{"id": "1-1"}]}
    row.requests.update(kind="Train", payload=payload)
    return row.requests.get()


class TestStrikes:
    def strike(self, row: Experiment, fraction: float = 0.0) -> None:
        with pytest.raises(ZeroDivisionError), claim(row) as lease:
            lease.beat({"fraction": fraction})
            raise ZeroDivisionError("boom")

    def test_three_in_a_row_stop_the_experiment_with_the_reason(self, row: Experiment) -> None:
        for _ in range(settings.ATTEMPTS):
            self.strike(row)
        saved, request = find_job(row, "write"), row.requests.get(kind="Write")
        row.refresh_from_db()
        assert (saved.status, request.status, row.status) == ("failed", "failed", "failed")
        assert "ZeroDivisionError: boom" in row.error
        assert row.error == request.error == saved.error

    @pytest.mark.slow
    def test_progress_wipes_the_slate(self, row: Experiment) -> None:
        for number in range(2 * settings.ATTEMPTS):
            self.strike(row, fraction=(number + 1) / 10)
        row.refresh_from_db()
        assert row.status == Experiment.Status.RUNNING

    def test_progress_that_was_made_before_wipes_nothing(self, row: Experiment) -> None:
        for fraction in (0.5, 0.48, 0.49):
            self.strike(row, fraction)
        row.refresh_from_db()
        assert row.status == Experiment.Status.FAILED

    def test_early_clips_that_cannot_be_filmed_stop_nothing(self, row: Experiment) -> None:
        request = train_request(row)
        early = jobs.add(row, Job.Kind.FILM, request, percent=10)
        for _ in range(settings.ATTEMPTS):
            self.strike_at(early.pk)
        early.refresh_from_db()
        request.refresh_from_db()
        row.refresh_from_db()
        assert (early.status, request.status, row.status) == ("failed", "open", "running")
        assert Event.objects.get(kind="clip failed").text == "No more clips at 10%: ZeroDivisionError: boom"

    def test_a_clip_that_cannot_be_filmed_once_more_stops_nothing(self, row: Experiment) -> None:
        request = train_request(row)
        Request.objects.update(status=Request.Status.DONE)  # its round is being judged
        Experiment.objects.update(status=Experiment.Status.WAITING)
        candidate = Candidate.objects.create(iteration=row.iterations.get(), index=1)
        clip = Clip.objects.create(candidate=candidate, percent=100)
        again = jobs.add(row, Job.Kind.FILM, request, percent=100)
        for _ in range(settings.ATTEMPTS):
            self.strike_at(again.pk)
        clip.refresh_from_db()
        row.refresh_from_db()
        assert (clip.status, clip.error, row.status) == ("failed", "ZeroDivisionError: boom", "waiting")

    def test_a_film_process_that_says_something_else_is_not_waited_for(self) -> None:
        process = subprocess.Popen(["echo", "libEGL warning"], stdout=subprocess.PIPE, text=True)
        lines: queue.Queue[film.FilmReport | None] = queue.Queue()
        with pytest.raises(ValueError):
            film.read_reports(process, lines)
        process.wait()
        assert lines.get_nowait() is None

    def strike_at(self, pk: int) -> None:
        lease = leases.claim(pk)
        assert lease is not None
        with pytest.raises(ZeroDivisionError), lease:
            raise ZeroDivisionError("boom")

    def test_retry_starts_with_a_clean_slate(self, row: Experiment) -> None:
        for _ in range(settings.ATTEMPTS):
            self.strike(row)
        assert loop.retry(row)
        saved, request = find_job(row, "write"), row.requests.get(kind="Write")
        assert (saved.status, saved.strikes, request.status, row.error) == ("queued", 0, "open", "")
        assert not loop.retry(row)


class TestStale:
    def test_a_silent_worker_loses_its_job(self, row: Experiment) -> None:
        claim(row)
        assert leases.requeue_abandoned() == 0
        fall_silent()
        assert leases.requeue_abandoned() == 1
        saved = find_job(row, "write")
        assert (saved.status, saved.strikes, saved.owner) == ("queued", 1, "")
        assert leases.requeue_abandoned() == 0

    def test_a_process_that_ended_loses_it_at_once(self, row: Experiment) -> None:
        lease = claim(row)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        Job.objects.filter(pk=lease.job.pk).update(owner=f"{processes.get_machine()}:{child}:x")
        assert leases.requeue_abandoned() == 1

    def test_processes_of_other_machines_are_not_judged(self, row: Experiment) -> None:
        lease = claim(row)
        Job.objects.filter(pk=lease.job.pk).update(owner="another/1:999999999:x")
        assert leases.requeue_abandoned() == leases.requeue_stopped() == 0

    @pytest.mark.parametrize("take_back", [leases.requeue_abandoned, leases.requeue_stopped])
    def test_an_advance_gives_way_to_the_one_that_waits(self, row: Experiment, take_back: Callable[[], int]) -> None:
        first = jobs.add(row, Job.Kind.ADVANCE)
        assert leases.claim(first.pk)
        Job.objects.filter(pk=first.pk).update(owner=f"{processes.get_machine()}:999999999:x")
        second = jobs.add(row, Job.Kind.ADVANCE)
        assert take_back() == 1
        first.refresh_from_db()
        second.refresh_from_db()
        assert (first.status, second.status) == ("cancelled", "queued")

    def test_after_an_ordered_stop_there_is_no_strike(self, row: Experiment) -> None:
        lease = claim(row)
        Job.objects.filter(pk=lease.job.pk).update(owner=f"{processes.get_machine()}:999999999:x")
        assert leases.requeue_stopped() == 1
        assert (find_job(row, "write").status, find_job(row, "write").strikes) == ("queued", 0)


def test_advancing_is_queued_once_while_it_waits(row: Experiment) -> None:
    first = jobs.add(row, "advance")
    assert jobs.add(row, "advance") == first
    leases.claim(first.pk)
    assert jobs.add(row, "advance") != first


def test_a_failure_is_told_once(row: Experiment) -> None:
    with claim(row) as lease:
        lease.fail("no credit left")
    advance(row)
    assert row.requests.get().status == Request.Status.FAILED
    assert list(Event.objects.filter(kind="failed").values_list("text", flat=True)) == ["no credit left"]
