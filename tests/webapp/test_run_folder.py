"""A training that goes on, is filmed and taken over on another machine's disk, with either store."""

from __future__ import annotations

import json
import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.webapp.fake_workers import do_work, find_job, start_experiment
from trainer import launch
from trainer.records import TrainResult, read_job, read_result
from webapp.base import scratch
from webapp.base.claims import Interrupted
from webapp.base.store import store
from webapp.base.store_interface import StoreError
from webapp.experiments import leases, provenance, run_folder
from webapp.experiments import publisher as publishing
from webapp.experiments.execute import train
from webapp.experiments.leases import Lease
from webapp.experiments.models import Candidate, Clip, Request
from webapp.experiments.publisher import Publisher
from webapp.experiments.tasks import run_job

TINY = {"iterations": 60, "worlds": 16}
POLICY = "checkpoints/policies/0.pt"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("any_store", "short_trainings")
class TestTwoMachines:
    """Workers with disks of their own, one store and one database."""

    @pytest.fixture
    def use_machine(self, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Go to this machine."""
        monkeypatch.setattr(publishing, "PUBLISH_SECONDS", 0.0)
        settings.FILM_AT = (10, 100)  # a checkpoint is written with each rollout

        def use_machine(machine: str) -> Path:
            settings.SCRATCH = tmp_path / machine
            return scratch.get_folder()

        return use_machine

    @pytest.mark.parametrize("any_store", [pytest.param("local", marks=pytest.mark.exhaustive), "s3"], indirect=True)
    def test_a_training_that_was_killed_goes_on_is_filmed_and_taken_over(
        self, use_machine: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(provenance, "code_is_committed", lambda: True)
        first = use_machine("first")
        row = start_experiment(k=2, n=1, overrides=TINY)
        do_work(row, until="Train")
        request = row.requests.get(kind="Train")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(train, "watch_training", killed_at_its_first_checkpoint)
            run_job(find_job(row, "train").pk)
        assert find_job(row, "train").status == "queued" and (first / run_folder.get_folder(request).name).is_dir()
        kept = [key for key in store.keys(request.run_key) if key.endswith("checkpoint.pt")]
        assert kept and store.size(f"{request.run_key}/result.json") is None

        second = use_machine("second")
        seen = {}
        real = launch.train

        def look(folder: Path, *given: Any, **named: Any) -> Any:
            seen.update({path.name: path.stat().st_size for path in folder.rglob("*.pt")})
            return real(folder, *given, **named)

        monkeypatch.setattr(launch, "train", look)
        run_job(find_job(row, "train").pk)
        assert seen["checkpoint.pt"] > 1000  # it continued, and did not restart
        assert find_job(row, "train").status == "done" and Candidate.objects.filter(status="trained").count() == 2
        assert not list(second.iterdir())  # all that is needed is in the store
        assert not [key for key in store.keys(request.run_key) if key.endswith("checkpoint.pt")]
        assert store.size(f"{request.run_key}/{POLICY}") and store.size(f"{request.run_key}/traces/1.csv")

        third = use_machine("third")
        do_work(row)
        run_job(find_job(row, "film", percent=100).pk)
        assert {clip.status for clip in Clip.objects.all()} == {"ready"}
        assert all((store.size(clip.video) or 0) > 1000 for clip in Clip.objects.all()) and not list(third.iterdir())

        other = start_experiment(k=2, n=1, overrides=TINY, method="open_loop")
        do_work(other, until="Train")
        seen.clear()
        run_job(find_job(other, "train").pk)
        assert other.events.filter(kind="trained before").exists()
        taken = other.requests.get(kind="Train")
        assert store.size(f"{taken.run_key}/{POLICY}") == store.size(f"{request.run_key}/{POLICY}")

        use_machine("first")
        run_folder.delete_stale()
        assert not list(first.iterdir())


def killed_at_its_first_checkpoint(lease: Lease, process: Any, publisher: Publisher, count: int) -> None:
    """A watch that ends with the death of the machine, soon after its checkpoints were published."""
    ended = False
    while not ended:
        ended = process.poll() is not None
        lease.beat()
        publisher.publish()
        ended |= any(key.endswith("checkpoint.pt") for key in store.keys(publisher.request.run_key))
    launch.stop(process, timeout=0.0)


def fail_away(key: str, source: Any) -> None:
    raise StoreError("away")


def no_beat() -> None:
    """For a worker without a lease."""


@pytest.mark.django_db
class TestRunFolder:
    @pytest.fixture
    def train_request(self, any_store: str, settings: Any, tmp_path: Path) -> Request:
        settings.SCRATCH = tmp_path / "disk"
        row = start_experiment(k=2, n=1)
        do_work(row, until="Train")
        return row.requests.get(kind="Train")

    def put(self, request: Request, name: str, content: str = "x") -> None:
        path = run_folder.get_folder(request) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def test_where_the_store_has_the_folder_nothing_is_published(
        self, train_request: Request, settings: Any, any_store: str
    ) -> None:
        if any_store != "local":
            return
        settings.SCRATCH = None
        self.put(train_request, "checkpoints/shard-0-2/checkpoint.pt")
        self.put(train_request, "log.txt")
        before = os.stat(run_folder.get_folder(train_request) / "checkpoints/shard-0-2/checkpoint.pt")
        publisher = Publisher(train_request, no_beat)
        run_folder.fetch(train_request, "a", no_beat)
        publisher.publish()
        publisher.finish()
        publisher.clear()
        assert os.stat(run_folder.get_folder(train_request) / "checkpoints/shard-0-2/checkpoint.pt") == before
        assert len(store.keys(train_request.run_key)) == 2

    def test_large_checkpoints_and_logs_stay(self, train_request: Request, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(publishing, "MOST_CHECKPOINT", 10)
        self.put(train_request, "checkpoints/shard-0-1/checkpoint.pt", "small")
        self.put(train_request, "checkpoints/shard-1-2/checkpoint.pt", "larger than that")
        self.put(train_request, "log.txt")
        (run_folder.get_folder(train_request) / "rollouts").mkdir()
        (run_folder.get_folder(train_request) / "rollouts" / "0-010.npz").symlink_to("/etc/passwd")
        Publisher(train_request, no_beat).publish()
        assert store.keys(train_request.run_key) == [f"{train_request.run_key}/checkpoints/shard-0-1/checkpoint.pt"]

    def test_the_newest_folder_is_the_one_that_goes_on(self, train_request: Request) -> None:
        """A machine that comes back finds what another one did meanwhile; its own folder is stale."""
        shard = "checkpoints/shard-0-2/checkpoint.pt"
        run_folder.fetch(train_request, "a 1", no_beat)
        self.put(train_request, shard, "further than was published")
        run_folder.fetch(train_request, "a 2", no_beat)
        assert (run_folder.get_folder(train_request) / shard).read_text() == "further than was published"
        store.publish(f"{train_request.run_key}/{run_folder.MARK}", b"b 1")
        store.publish(f"{train_request.run_key}/{shard}", b"by the other")
        run_folder.fetch(train_request, "a 3", no_beat)
        assert (run_folder.get_folder(train_request) / shard).read_text() == "by the other"

    @pytest.mark.slow
    @pytest.mark.django_db(transaction=True)
    def test_a_training_that_a_restored_backup_does_not_know_is_thrown_away(
        self, train_request: Request, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sources = list[tuple[str, ...]]()

        def stop_at_once(lease: Lease, process: Any, publisher: Publisher, count: int) -> None:
            sources.append(read_job(publisher.folder).sources)
            launch.stop(process, timeout=0.0)
            raise Interrupted

        monkeypatch.setattr(train, "watch_training", stop_at_once)
        job = find_job(train_request.experiment, "train")
        run_job(job.pk)
        self.put(train_request, POLICY)
        Publisher(train_request, no_beat).publish()
        one, two = Candidate.objects.all()
        for row, source in ((one, two.source), (two, one.source)):  # the same step, asked after the restore
            Candidate.objects.filter(pk=row.pk).update(source=source)
        run_job(job.pk)
        assert sources[1] == sources[0][::-1] and find_job(train_request.experiment, "train").strikes == 0
        assert store.size(f"{train_request.run_key}/{POLICY}") is None
        assert not (run_folder.get_folder(train_request) / POLICY).exists()

    def test_words_are_taken_out_of_the_store_and_of_this_machine(self, train_request: Request) -> None:
        run_folder.fetch(train_request, "a", no_beat)
        for name in ("job.json", "log.txt"):
            self.put(train_request, name, "it limps")
        publisher = Publisher(train_request, no_beat)
        publisher.publish_job()
        run_folder.rewrite(train_request, lambda text: text.replace("limps", "[deleted]"))
        publisher.publish_job()
        publisher.publish()
        run_folder.fetch(train_request, "b", no_beat)
        assert {
            path.read_text()
            for path in run_folder.get_folder(train_request).glob("*.*")
            if path.name != run_folder.MARK
        } == {"it [deleted]"}
        with store.open(f"{train_request.run_key}/job.json") as file:
            assert file.read() == b"it [deleted]"

    def test_a_result_is_published_last(self, train_request: Request, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("progress.json", "traces/0.csv", POLICY, "checkpoints/shard-0-2/result.json"):
            self.put(train_request, name)
        self.put(train_request, "result.json", json.dumps({"candidates": []}))
        order: list[str] = []
        publish = store.publish
        monkeypatch.setattr(
            store, "publish", lambda key, source: (order.append(key.rpartition("/")[2]), publish(key, source))
        )
        Publisher(train_request, no_beat).finish()
        assert order == ["0.pt", "0.csv", "result.json", "progress.json", "result.json"]
        with store.as_file(f"{train_request.run_key}/result.json") as path:
            assert read_result(path.parent) == TrainResult(())

    def test_the_lease_is_renewed_after_each_file(self, train_request: Request, tmp_path: Path, settings: Any) -> None:
        beats: list[int] = []
        names = ["traces/0.csv", POLICY, "checkpoints/shard-0-2/checkpoint.pt"]
        for name in names:
            self.put(train_request, name)
        Publisher(train_request, lambda: beats.append(1)).publish()
        assert len(beats) == len(names)
        settings.SCRATCH = tmp_path / "another disk"
        run_folder.fetch(train_request, "b", lambda: beats.append(1))
        assert len(beats) == 2 * len(names)

    def test_checkpoints_go_beside_the_training_and_are_handed_over(
        self, train_request: Request, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A thread sends them slowly; it stops as soon as they are not wanted, and leaves nothing half."""
        monkeypatch.setattr(publishing, "PUBLISH_SECONDS", 0.0)
        monkeypatch.setattr(publishing, "BACKGROUND_RATE", 1.0)
        shard = "checkpoints/shard-0-2/checkpoint.pt"
        self.put(train_request, shard, 100 * "x")
        publisher = Publisher(train_request, no_beat)
        publisher.publish_if_due()
        publisher.publish_if_due()
        assert store.keys(train_request.run_key) == [] and publisher.bytes == 0
        publisher.stop()
        assert store.keys(train_request.run_key) == []
        publisher.hand_over()
        assert store.keys(train_request.run_key) == [f"{train_request.run_key}/{shard}"] and publisher.bytes == 100

    def test_a_store_that_is_away_stops_no_training(
        self, train_request: Request, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(key: str, source: Any) -> None:
            raise StoreError("away", permanent)

        monkeypatch.setattr(store, "publish", fail)
        self.put(train_request, POLICY)
        publisher, permanent = Publisher(train_request, no_beat), False
        publisher.hand_over()
        assert not publisher.try_to_publish() and publisher.bytes == 0
        permanent = True
        with pytest.raises(StoreError):
            publisher.try_to_publish()

    def test_the_files_of_one_session_are_sent_at_once_and_alone(
        self, train_request: Request, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in (POLICY, "queries/0-1.json", "queries/0-1-0.npz", "queries/0-11.json"):
            self.put(train_request, name)
        publisher, wanted = Publisher(train_request, no_beat), re.compile(r"queries/0-1(-\d+)?\.(npz|json)")
        assert publisher.try_to_send(wanted)
        keys = sorted(store.keys(train_request.run_key))
        assert keys == [f"{train_request.run_key}/queries/0-1{ending}" for ending in ("-0.npz", ".json")]
        monkeypatch.setattr(store, "publish", fail_away)
        assert not publisher.try_to_send(re.compile("queries/0-11.json"))

    def test_a_store_that_hangs_does_not_hold_a_worker_that_must_end(
        self, train_request: Request, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answer, ended = threading.Event(), list[str]()

        def hang(key: str, source: Any) -> None:
            answer.wait(20)
            ended.append(key)

        monkeypatch.setattr(store, "publish", hang)
        monkeypatch.setattr("webapp.experiments.publisher.HANDOVER_SECONDS", 0.1)
        self.put(train_request, POLICY)
        publisher = Publisher(train_request, no_beat)
        publisher.hand_over()
        publisher.stop()
        assert not ended
        answer.set()

    @pytest.mark.parametrize(("permanent", "strikes"), [(False, 0), (True, 1)])
    def test_a_job_waits_for_a_store_that_is_away_and_counts_one_that_refuses(
        self, train_request: Request, permanent: bool, strikes: int
    ) -> None:
        job = train_request.jobs.get(kind="train")
        lease = leases.claim(job.pk)
        assert lease is not None
        with suppress(StoreError), lease:
            raise StoreError("no answer", permanent)
        job.refresh_from_db()
        assert (job.status, job.strikes, job.owner) == ("queued", strikes, "") and "no answer" in job.error


def test_a_file_is_linked_while_its_writer_replaces_it(tmp_path: Path) -> None:
    """Linux refuses a link to a file that is being replaced, as one in ten of these were."""
    source, stop = tmp_path / "checkpoint.pt", threading.Event()
    source.write_text("whole")

    def replace() -> None:
        while not stop.is_set():
            (tmp_path / "new").write_text("whole")
            (tmp_path / "new").replace(source)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for number in range(500):
            publishing.link_replaced(source, tmp_path / str(number))
    finally:
        stop.set()
        writer.join()
    with pytest.raises(FileNotFoundError):
        publishing.link_replaced(tmp_path / "gone", tmp_path / "link")
