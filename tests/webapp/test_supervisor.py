from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.webapp.few_workers import WORKERS
from tests.webapp.servers import ROOT, Stack, embedded, free_port, have_ended, listening, processes, wait_for
from webapp.supervisor import Refused, list_programs, lock_folder, main
from webapp.web_server import build_config

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path) -> Stack:
    return embedded(tmp_path / "data")


class Running:
    """A supervisor on a free port, and the processes beneath it."""

    def __init__(self, data: Stack) -> None:
        self.port = free_port()
        self.output = data.data / "console"
        with self.output.open("w") as console:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.webapp.few_workers", "--port", str(self.port)],
                cwd=ROOT,
                env=data.environment,
                stdout=console,
                stderr=console,
            )
        wait_for(lambda: "Prefine is ready" in self.output.read_text(), "the start of the supervisor", 240)
        wait_for(lambda: "reaper" in " ".join(self.children().values()), "the start of all programs")

    def children(self) -> dict[int, str]:
        return list_below(self.process.pid)

    def child(self, text: str) -> int:
        return next(pid for pid, command in self.children().items() if text in command)


def read_start(pid: int) -> int:
    """When a process started, in ticks since the machine did."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def list_below(pid: int) -> dict[int, str]:
    """All processes beneath this one: id -> command line."""
    found: dict[int, str] = {}
    frontier, table = {pid}, processes()
    while frontier:
        frontier = {child for child, (parent, _) in table.items() if parent in frontier}
        found |= {child: table[child][1] for child in frontier}
    return found


@pytest.fixture
def running(data: Stack) -> Iterator[Running]:
    supervisor = Running(data)
    yield supervisor
    supervisor.process.kill()
    supervisor.process.wait()


START = """
from webapp.experiments import loop
from webapp.experiments.models import Experiment
endless = {"iterations": 100_000}
loop.start(Experiment.objects.create(name="x", task="Cartpole", judge="proxy", k=2, n=1, overrides=endless))
"""
LOOK = "SELECT status, strikes, owner FROM experiments_job WHERE kind = 'train'"


def test_it_restarts_what_dies_stops_in_order_and_puts_a_training_back_without_a_strike(
    running: Running, data: Stack
) -> None:
    web = running.child("webapp.web_server")
    assert read_start(web) < read_start(running.child("reaper"))  # the site comes first
    os.kill(web, signal.SIGKILL)
    data.manage("shell", "-v0", "-c", START)
    wait_for(lambda: "web ended (SIGKILL); starting it again" in running.output.read_text(), "a word about it")
    wait_for(lambda: listening(running.port), "the return of the site")
    assert running.child("webapp.web_server") != web
    wait_for(lambda: any("trainer.lockstep" in command for command in running.children().values()), "training", 240)
    below = running.children()
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(120) == 0
    wait_for(lambda: have_ended(below), "the end of all programs")
    with closing(sqlite3.connect(data.data / "db.sqlite3")) as database:
        assert database.execute(LOOK).fetchall() == [("queued", 0, "")]
    assert "Traceback" not in running.output.read_text()
    assert "killed" not in (data.data / "log" / "train.log").read_text().lower()
    logs = {path.stem for path in (Path(running.output).parent / "log").glob("*.log")}
    assert logs == {*WORKERS, "reaper", "web"}
    modes = {path.stat().st_mode & 0o077 for path in (Path(running.output).parent / "log").iterdir()}
    assert modes == {0}  # no other user reads them


SLEEPERS = """
import sys
from webapp import supervisor
programs = [supervisor.Program(name, ["sleep", "1000"]) for name in ("one", "two")]
supervisor.SITE_FIRST_SECONDS = 0
supervisor.list_programs = lambda host, port: programs
sys.exit(supervisor.main())
"""


def test_while_it_runs_its_folder_is_locked_and_nothing_survives_its_kill(data: Stack) -> None:
    process = data.python("-c", SLEEPERS, "--port", str(free_port()))
    wait_for(lambda: list(list_below(process.pid).values()) == 2 * ["sleep 1000 "], "the start of both programs")
    below = list_below(process.pid)
    with pytest.raises(Refused, match=f"process {process.pid}"):
        lock_folder(data.data)
    process.kill()
    process.communicate()
    wait_for(lambda: have_ended(below), "the end of all programs")
    lock_folder(data.data).close()


def test_a_second_one_on_the_same_data_is_refused_and_prepares_nothing(tmp_path: Path) -> None:
    """It migrated the folder of the one that ran, and then refused to start."""
    data = embedded(tmp_path / "data")
    (data.data / "db.sqlite3").unlink()
    with lock_folder(data.data):
        second = data.python("-m", "webapp.supervisor", "--prepare", "--port", str(free_port()))
        said, _ = second.communicate(timeout=240)
    assert second.returncode == 1
    assert said.startswith(f"Prefine already runs on {data.data} (process {os.getpid()})") and said.count("\n") == 1
    assert not (data.data / "db.sqlite3").exists()


LIMIT = """
import resource
from webapp import supervisor
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
supervisor.raise_file_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(hard, supervisor.OPEN_FILES))
"""


def test_the_limit_of_open_files_is_raised_and_messages_are_small(data: Stack) -> None:
    said, _ = data.python("-c", LIMIT).communicate(timeout=240)
    assert said.strip() == "True"
    programs = list_programs("127.0.0.1", 8000)
    assert [one.name for one in programs] == ["train", "film-1", "film-2", "llm-1", "llm-2", "reaper", "web"]
    assert programs[-1].command[1:3] == ["-m", "webapp.web_server"]
    assert build_config("127.0.0.1", 8000).ws_max_size == 4096


def test_a_taken_port_is_named(data: Stack) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        process = data.python("-m", "webapp.supervisor", "--port", str(port))
        said, _ = process.communicate(timeout=240)
    assert process.returncode == 1
    assert said == f"Port {port} is taken by another program. Choose another one with --port.\n"


@pytest.mark.parametrize("port", [0, 99_999])
def test_an_impossible_port_is_refused(
    port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["supervisor", "--port", str(port)])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err.endswith(f"--port must be between 1 and 65535, not {port}\n")
