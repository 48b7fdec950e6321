"""Workers: one name each, a heartbeat, the order to finish and stop, and what one of another version may take."""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from tests.webapp import bench_rows, fake_workers
from webapp.audit.models import Entry
from webapp.base import processes
from webapp.experiments import leases, loop, protocol, tasks, workers
from webapp.experiments.models import Job, Worker

pytestmark = pytest.mark.django_db(transaction=True)
ELSEWHERE = "far/4026531836:17:abc"


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "draining", threading.Event())


def silence(worker: Worker, seconds: float) -> None:
    Worker.objects.filter(pk=worker.pk).update(heartbeat=timezone.now() - timedelta(seconds=seconds))


class TestNames:
    def test_a_name_belongs_to_one_worker_that_lives(self) -> None:
        first = workers.register("gpu-1", "train", "cuda:0 NVIDIA H100")
        assert workers.is_alive(first) and first.protocol == protocol.PROTOCOL
        with pytest.raises(workers.NameTaken, match="Another worker is called gpu-1"):
            workers.register("gpu-1", "train", "cpu")
        Worker.objects.update(owner=ELSEWHERE)
        silence(first, 10_000)
        assert workers.register("gpu-1", "film", "").pk == first.pk
        assert Worker.objects.get().kind == "film"

    def test_one_whose_process_has_ended_here_is_gone_at_once(self) -> None:
        workers.register("gpu-1", "train", "cpu")
        Worker.objects.update(owner=f"{processes.get_machine()}:999999999:abc")
        assert not workers.is_alive(Worker.objects.get())
        workers.register("gpu-1", "train", "cpu")

    def test_rows_of_long_gone_workers_are_deleted(self) -> None:
        silence(workers.register("old", "train", "cpu"), 3 * 86_400)
        workers.register("new", "train", "cpu")
        assert Worker.objects.get().name == "new"

    def test_a_health_check(self) -> None:
        out = StringIO()
        with pytest.raises(CommandError, match="No worker of this machine is alive"):
            call_command("worker_alive")
        here = workers.register("here", "train", "cpu")
        call_command("worker_alive", stdout=out)
        call_command("worker_alive", "--name", "here", stdout=out)
        assert out.getvalue().count("here is alive") == 2
        silence(here, 10_000)
        with pytest.raises(CommandError, match="No worker here is alive"):
            call_command("worker_alive", "--name", "here")

    def test_only_training_has_a_device(self) -> None:
        with pytest.raises(CommandError, match="film does not train"):
            call_command("worker", "film", "--device", "cuda:0")


class TestHeartbeat:
    def test_it_beats_and_says_when_it_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        worker = workers.register("w", "train", "cpu")
        silence(worker, 100)
        monkeypatch.setattr(workers, "get_beat_seconds", lambda: 0.0)
        heartbeat = workers.Heartbeat(worker, lambda: None)
        heartbeat.tick()
        assert timezone.now() - Worker.objects.get().heartbeat < timedelta(seconds=50)
        heartbeat.start()
        heartbeat.stop()
        assert Worker.objects.get().stopped_at and not workers.is_alive(Worker.objects.get())

    def test_it_finishes_its_work_takes_no_more_and_then_stops(self) -> None:
        ended = []
        worker = workers.register("w", "train", "cpu")
        heartbeat = workers.Heartbeat(worker, lambda: ended.append(1))
        heartbeat.tick()
        with processes.begin_work() as allowed:
            assert allowed
            workers.drain(worker, True)
            heartbeat.tick()
            assert not ended
        job = queue_job()
        tasks.run_job(job.pk)
        assert Job.objects.get(pk=job.pk).status == "queued" and Job.objects.get(pk=job.pk).attempt == 0
        heartbeat.tick()
        assert ended == [1]

    def test_the_order_can_be_taken_back_and_outlives_a_restart(self) -> None:
        worker, said = workers.register("w", "train", "cpu"), []
        workers.drain(worker, True)
        Worker.objects.update(stopped_at=timezone.now())
        again = workers.register("w", "train", "cpu")
        timer = threading.Timer(0.5, workers.drain, [again, False])
        timer.start()
        workers.wait_until_wanted(again, said.append)
        timer.join()
        assert len(said) == 1 and "w was told to stop" in said[0]
        with processes.begin_work() as allowed:
            assert allowed


def queue_job() -> Job:
    row = fake_workers.create_experiment(k=2, n=1)
    loop.start(row)
    return row.jobs.get(status="queued")


class TestProtocol:
    def test_a_worker_refuses_what_only_a_later_version_understands(self, monkeypatch: pytest.MonkeyPatch) -> None:
        job = queue_job()
        assert job.protocol == protocol.PROTOCOL
        Job.objects.update(protocol=protocol.PROTOCOL + 1)
        assert leases.claim(job.pk) is None and Job.objects.get(pk=job.pk).attempt == 0
        monkeypatch.setattr(leases, "PROTOCOL", protocol.PROTOCOL + 1)
        assert leases.claim(job.pk) is not None

    def test_an_experiment_never_goes_back_to_an_earlier_one(self) -> None:
        """What an old worker queues for it waits for a new one, too: the experiment may hold what only that reads."""
        job = queue_job()
        Job.objects.update(protocol=protocol.PROTOCOL + 4, status="done")
        loop.jobs.add(job.experiment, Job.Kind.ADVANCE)
        assert Job.objects.latest("pk").protocol == protocol.PROTOCOL + 4


class TestPage:
    @pytest.fixture
    def staff(self, client):
        client.force_login(bench_rows.create_staff())
        return client

    def test_without_workers_it_says_how_to_start_one(self, staff) -> None:
        queue_job()
        page = staff.get(reverse("bench:workers")).content.decode()
        assert "No worker has started yet" in page and "./prefine worker train" in page
        assert "1 job waits, and no worker takes it" in page and "./prefine worker llm" in page

    @pytest.mark.slow
    def test_it_shows_what_each_does_and_drains_it(self, staff) -> None:
        row = bench_rows.create_training_experiment()
        busy = workers.register("gpu-1", "train", "cuda:0 NVIDIA H100")
        row.jobs.filter(status="running").update(owner=f"{busy.owner.rpartition(':')[0]}:other")
        workers.register("f", "film", "")
        old = workers.register("l", "llm", "")
        Worker.objects.filter(pk=old.pk).update(protocol=0, version="0.0.9")
        Worker.objects.exclude(pk=busy.pk).update(owner=ELSEWHERE)
        page = staff.get(reverse("bench:workers")).content.decode()
        for words in ("Working", reverse("bench:experiment", args=[row.public_id]), "cuda:0 NVIDIA H100", "Idle"):
            assert words in page
        assert "Cannot take new work" in page and "0.0.9" in page and 'class="pill failed">other' in page
        answer = staff.post(reverse("bench:drain_worker", args=[busy.pk]), {"drain": "yes"}, follow=True)
        assert "Finishes, then stops" in answer.content.decode() and Worker.objects.get(pk=busy.pk).draining
        assert Entry.objects.filter(action="told a worker to stop", target_label="gpu-1").exists()
        Worker.objects.filter(pk=busy.pk).update(stopped_at=timezone.now())
        page = staff.get(reverse("bench:workers")).content.decode()
        assert "Stopped" in page and "Take work again" in page
        staff.post(reverse("bench:drain_worker", args=[busy.pk]), {"drain": "no"})
        assert not Worker.objects.get(pk=busy.pk).draining

    def test_a_viewer_reads_it_and_changes_nothing(self, client, django_user_model) -> None:
        client.force_login(django_user_model.objects.create(username="v", is_staff=True))
        worker = workers.register("w", "train", "cpu")
        assert "Finish, then stop" not in client.get(reverse("bench:workers")).content.decode()
        assert client.post(reverse("bench:drain_worker", args=[worker.pk]), {"drain": "yes"}).status_code == 403
