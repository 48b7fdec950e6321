"""Calls that tell workers of a job, by a broker that may lose them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp.fake_workers import find_job, start_to_write
from webapp.celery import app
from webapp.experiments import jobs
from webapp.experiments.models import Experiment, Job
from webapp.experiments.protocol import PROTOCOL, name_queue

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def row() -> Experiment:
    return start_to_write()


class TestRinging:
    @pytest.fixture(autouse=True)
    def empty_broker(self, row: Experiment) -> None:
        for name in ("llm", "train", "film"):
            while self.message(name) is not None:
                pass

    def message(self, queue: str) -> tuple[int] | None:
        """The job id in the oldest message of a queue, of those about jobs of today's protocol."""
        with app.connection_for_read() as broker:
            simple = broker.SimpleQueue(app.amqp.queues[name_queue(queue, PROTOCOL)])
            try:
                found = simple.get_nowait()
            except simple.Empty:
                return None
            found.ack()
            return found.payload[0][0]

    def test_the_call_carries_the_id_to_its_queue(self, row: Experiment) -> None:
        added = jobs.add(row, "film", row.requests.get(), 100)
        assert self.message("film") == added.pk
        assert self.message("film") is None
        assert self.message("train") is None

    def test_the_same_work_is_queued_once(self, row: Experiment) -> None:
        request = row.requests.get()
        assert jobs.add(row, "film", request, 10) == jobs.add(row, "film", request, 10)
        assert jobs.add(row, "film", request, 30) != jobs.add(row, "film", request, 10)
        assert [self.message("film") is not None for _ in range(3)] == [True, True, False]

    def test_lost_calls_are_made_again(self, row: Experiment) -> None:
        waiting = find_job(row, "write")
        assert jobs.ring_again() == 0
        Job.objects.filter(pk=waiting.pk).update(rung_at=timezone.now() - timedelta(seconds=6))
        assert jobs.ring_again() == 1
        assert self.message("llm") == waiting.pk
        assert jobs.ring_again() == 0

    def test_pauses_between_calls_grow(self, row: Experiment) -> None:
        waiting = Job.objects.filter(pk=find_job(row, "write").pk)
        waiting.update(rung_at=timezone.now() - timedelta(seconds=30), rings=4)
        assert jobs.ring_again() == 0
        waiting.update(rung_at=timezone.now() - timedelta(seconds=161), rings=50)
        assert jobs.ring_again() == 1

    def test_a_broker_that_is_away_loses_nothing(self, row: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
        from kombu.exceptions import OperationalError

        def away(*arguments: object, **options: object) -> None:
            raise OperationalError("connection refused")

        monkeypatch.setattr(app, "send_task", away)
        added = jobs.add(row, "film", row.requests.get(), 100)
        assert Job.objects.get(pk=added.pk).status == Job.Status.QUEUED
