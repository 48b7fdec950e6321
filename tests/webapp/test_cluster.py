"""Workers on two machines that share nothing but addresses: PostgreSQL's, Redis' and the object store's."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests import short_training
from tests.webapp.networks import network
from tests.webapp.object_storage import connect, create_bucket
from tests.webapp.servers import ROOT, production, wait_for
from webapp.base.store_address import read_address

pytestmark = pytest.mark.slow

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
        environment |= given.get("environment", {})
        with (data / "output").open("ab") as log:
            process = subprocess.Popen(
                [*given.get("prefix", ()), self.python, "manage.py", *arguments],
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
        client, bucket = connect(self.s3_port), read_address(self.environment["PREFINE_STORE_URL"]).bucket
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


@pytest.mark.exhaustive  # test_run_folder.py has it with two folders and a bucket, without networks of their own
@pytest.mark.timeout(1200)
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


class Forwarder(socketserver.BaseRequestHandler):
    """Hands a connection on to a server of this machine."""

    def handle(self) -> None:
        server: Any = self.server
        with suppress(OSError), socket.create_connection(("127.0.0.1", server.target)) as there:
            while True:
                for ready in select.select([self.request, there], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (there if ready is self.request else self.request).sendall(data)


@contextmanager
def forward(host: str, port: int) -> Iterator[None]:
    server = socketserver.ThreadingTCPServer((host, port), Forwarder)
    server.daemon_threads, server.target = True, port  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.timeout(1800)
@pytest.mark.exhaustive
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and iproute2 for its networks")
def test_a_machine_that_is_cut_off_loses_its_training_and_does_no_harm_when_it_returns(
    cluster: Cluster, postgres: int, redis: int, s3_server: int
) -> None:
    with ExitStack() as stack:
        machines, cables = [], []
        for number in (1, 2):
            cable = stack.enter_context(network(number))
            for port in (postgres, redis, s3_server):
                stack.enter_context(forward(cable.here, port))
            there = {k: v.replace("127.0.0.1", cable.here) for k, v in cluster.environment.items() if "127.0.0.1" in v}
            machines.append({"prefix": cable.prefix, "environment": there})
            cables.append(cable)
        for command in (("reaper",), ("worker", "llm"), ("worker", "film")):
            cluster.manage("desk", *command)
        cluster.run(START.format(iterations=400))
        first = cluster.manage("first", "worker", "train", "--name", "first", **machines[0])
        cluster.wait(lambda seen: seen["fraction"] > 0.1, "a tenth of the training")
        cables[0].cut()
        cluster.wait(lambda seen: seen["job"][0] == "queued" or seen["job"][1] == 2, "the loss of the lease")
        second = cluster.manage("second", "worker", "train", "--name", "second", **machines[1])
        cluster.wait(lambda seen: seen["job"][1] == 2 and seen["fraction"], "the second attempt")
        cables[0].heal()
        done = cluster.wait(lambda seen: seen["status"] == "finished" and seen["clips"], "the end of the experiment")
        assert done["job"][:2] == ["done", 2] and done["policies"] == 2 and len(done["runs"]) == 1
        assert done["events"].count("trained") == 1
        time.sleep(1)
        assert first.poll() is None and second.poll() is None  # both wait for more
