"""A training whose machine is taken away goes on on another, which shares addresses alone with the first: those of
PostgreSQL, Redis and the object store.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests import short_training
from tests.webapp.object_storage import connect, create_bucket
from tests.webapp.servers import ROOT, production, wait_for
from webapp.base.store_address import read_address

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive, pytest.mark.timeout(1200)]

START = """
from webapp.experiments import loop
from webapp.experiments.models import Experiment
long = {{"iterations": {iterations}, "worlds": 32}}
loop.start(Experiment.objects.create(name="x", task="Cartpole", judge="proxy", k=2, n=1, overrides=long))
"""


class Cluster:
    """Servers, and processes that each have a data folder and a scratch folder of their own."""

    def __init__(self, environment: dict[str, str], folder: Path, s3_port: int, stack: ExitStack) -> None:
        self.environment, self.folder, self.s3_port, self._stack = environment, folder, s3_port, stack
        self.python = short_training.python(folder / "python")

    def manage(self, machine: str, *arguments: str, **given: Any) -> subprocess.Popen[bytes]:
        """A command of manage.py on this machine, which is killed at the end of the test."""
        data = self.folder / machine
        data.mkdir(exist_ok=True)
        environment = {**self.environment, "PREFINE_DATA": str(data), "PREFINE_SCRATCH": str(data / "disk")}
        with (data / "output").open("ab") as log:
            process = subprocess.Popen(
                [self.python, "manage.py", *arguments],
                cwd=ROOT,
                env=environment,
                stdout=given.get("stdout", log),
                stderr=log,
            )
        self._stack.callback(end, process)
        return process

    def run(self, code: str) -> str:
        process = self.manage("desk", "shell", "-v0", "-c", code, stdout=subprocess.PIPE)
        said, _ = process.communicate(timeout=240)
        assert process.returncode == 0, (self.folder / "desk" / "output").read_text()[-3000:]
        return said.decode()

    def look(self) -> dict[str, Any]:
        """What the database and the store hold, asked directly."""
        jobs = self.ask("SELECT status, attempt, strikes, owner, progress FROM experiments_job WHERE kind = 'train'")
        *job, progress = jobs[0] if jobs else [None] * 5
        with closing(connect(self.s3_port)) as client:
            bucket = read_address(self.environment["PREFINE_STORE_URL"]).bucket
            found = client.list_objects_v2(Bucket=bucket).get("Contents", ())
        sizes = {entry["Key"]: entry["Size"] for entry in found}
        clips = self.ask("SELECT name FROM experiments_clip WHERE status = 'ready'")
        return {
            "status": self.ask("SELECT status FROM experiments_experiment WHERE name = 'x'")[0][0],
            "job": job,
            "fraction": (progress or {}).get("fraction") or 0.0,
            "checkpoints": [size for key, size in sizes.items() if key.endswith("checkpoint.pt")],
            "policies": len([key for key in sizes if "/policies/" in key]),
            "clips": [sizes.get(f"clips/{name}.mp4", 0) for (name,) in clips],
            "runs": self.ask("SELECT store_seconds, store_bytes FROM experiments_run"),
            "events": [kind for (kind,) in self.ask("SELECT kind FROM experiments_event")],
            "stopped": [
                name for (name,) in self.ask("SELECT name FROM experiments_worker WHERE stopped_at IS NOT NULL")
            ],
        }

    def ask(self, query: str) -> list[Any]:
        with closing(psycopg2.connect(self.environment["PREFINE_DATABASE_URL"])) as database, database.cursor() as rows:
            rows.execute(query)
            return rows.fetchall()

    def wait(self, condition: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        seen: list[dict[str, Any]] = [{}]

        def look() -> object:
            seen[0] = self.look()
            return condition(seen[0])

        wait_for(look, what, 400)
        return seen[0]


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


@pytest.fixture
def cluster(postgres: int, redis: int, s3_server: int, tmp_path: Path) -> Iterator[Cluster]:
    stack = production(tmp_path / "first", postgres, redis)
    environment = {**stack.environment, "PREFINE_STORE_URL": create_bucket(s3_server), "PREFINE_LEASE_SECONDS": "6"}
    environment["PREFINE_SECRET_KEY"] = "the same for all"
    with ExitStack() as exit_stack:
        yield Cluster(environment, tmp_path, s3_server, exit_stack)


def test_a_preempted_training_goes_on_on_another_machine_from_the_store(cluster: Cluster) -> None:
    for machine, *command in (("desk", "reaper"), ("desk", "worker", "llm"), ("desk", "worker", "film")):
        cluster.manage(machine, *command)
    cluster.run(START.format(iterations=200))
    first = cluster.manage("first", "worker", "train", "--name", "first", "--device", "cpu")
    before = cluster.wait(lambda seen: seen["fraction"] > 0.1, "a tenth of the training")
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0
    handed = cluster.look()
    assert handed["job"] == ["queued", 1, 0, ""] and "first" in handed["stopped"]
    assert all(size > 1000 for size in handed["checkpoints"]) and handed["checkpoints"]
    shutil.rmtree(cluster.folder / "first")  # this machine does not come back

    cluster.manage("second", "worker", "train", "--name", "second", "--device", "cpu")
    again = cluster.wait(lambda seen: seen["job"][1] == 2 and seen["fraction"], "the second attempt")
    assert again["fraction"] >= 0.5 * before["fraction"]  # from its checkpoint, not from the beginning
    done = cluster.wait(lambda seen: seen["status"] == "finished" and seen["clips"], "the end of the experiment")
    assert done["job"][:3] == ["done", 2, 0] and not done["checkpoints"]
    assert all(size > 1000 for size in done["clips"]) and done["policies"] == 2
    assert done["runs"][0][0] > 0 and done["runs"][0][1] > 1000
    assert "restarted" not in done["events"]
    assert not list((cluster.folder / "second" / "disk").iterdir())  # all that is needed is in the store
