"""kill -9 of what loses most, at random moments: the experiment completes, no vote is lost, no step counts twice.

Beside what is killed here, those who vote kill the site each time they vote (crash_voters.py).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests import short_training
from tests.webapp.servers import ROOT, Stack, embedded, free_port, have_ended, processes, static_files, wait_for

pytestmark = pytest.mark.slow

COMPLETE_SECONDS = 1800
TARGETS = {
    "training worker": "manage.py worker train",
    "trainer": "trainer.run",
    "training shard": "trainer.lockstep",
    "checker": "trainer.commands.check",
    "supervisor": "webapp.supervisor",
}
"""The site is killed by those who vote; everything else: benchmarks/faults."""
MESSAGES = "messages"
"""Not a process: everything that is in the broker."""
FEW = ("training worker", "trainer", "checker", MESSAGES)
"""Others hold that a shard and a supervisor may be killed: trainer/test_run.py, test_supervisor.py."""
SEED = 1


class Prefine:
    """A supervisor that is started again whenever it was killed."""

    def __init__(self, stack: Stack, module: str) -> None:
        self.stack, self.module = stack, module
        self.port = free_port()
        self.console = (stack.data / "console").open("a")
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        command = [self.stack.interpreter, "-m", self.module, "--port", str(self.port)]
        return subprocess.Popen(command, cwd=ROOT, env=self.stack.environment, stdout=self.console, stderr=self.console)

    def restart_if_dead(self) -> None:
        if self.process.poll() is not None:
            self.process = self.start()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(90)
        self.console.close()


def ours(stack: Stack) -> dict[int, str]:
    """Our processes: those whose environment or arguments name this test's data folder, or that descend from one."""
    table = processes()
    roots = {pid for pid in table if names_data(pid, stack) and pid != os.getpid()}
    found, frontier = set(roots), set(roots)
    while frontier:
        frontier = {pid for pid, (parent, _) in table.items() if parent in frontier} - found
        found |= frontier
    return {pid: table[pid][1] for pid in found}


def names_data(pid: int, stack: Stack) -> bool:
    wanted = str(stack.data).encode()
    for name in ("environ", "cmdline"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if wanted in file.read():
                    return True
        except OSError:  # it has ended, or is not ours to read
            return False
    return False


def kill_one(stack: Stack, planned: list[str], rng: random.Random) -> str | None:
    """Kill -9 one process of a kind that is planned, drawn at random among those that live."""
    running = ours(stack)
    living = {kind: [pid for pid, command in running.items() if TARGETS.get(kind, "") in command] for kind in planned}
    kinds = sorted(kind for kind, pids in living.items() if pids)
    if not kinds:
        return None
    kind = rng.choice(kinds)
    try:
        if kind == MESSAGES:
            lose_messages(stack)
        else:
            os.kill(rng.choice(sorted(living[kind])), signal.SIGKILL)
    except ProcessLookupError:
        return None
    planned.remove(kind)
    return kind


def lose_messages(stack: Stack) -> None:
    for message in (stack.data / "broker").glob("*.msg"):
        message.unlink(missing_ok=True)


@pytest.mark.timeout(2400)
@pytest.mark.parametrize(
    ("planned", "module", "rounds", "cores"),
    [
        (FEW, "tests.webapp.few_workers", 1, 1),
        pytest.param((*TARGETS, MESSAGES), "webapp.supervisor", 2, 2, marks=pytest.mark.exhaustive),
    ],
    ids=["few", "all"],
)
def test_what_loses_most_may_be_killed(
    tmp_path: Path, planned: tuple[str, ...], module: str, rounds: int, cores: int
) -> None:
    python = short_training.python(tmp_path / "python", cores=cores)  # on two cores a shard for each candidate
    facts = kill_everything(embedded(tmp_path / "data", python), [*planned], module, rounds)
    assert facts["clips"] == ["ready"] * 2 * rounds and facts["candidates"] == [2] * rounds
    choices = 1 if rounds == 1 else rounds + 1  # the last one among the rounds' best
    assert facts["requests"] == 2 * rounds + choices
    assert facts["votes"] == facts["kinds"]["voted"] == 2 * facts["kinds"]["judge"] == 2 * choices  # each once, by two
    assert facts["site_killed_by_voters"] >= choices  # in the middle of a vote, or right before or after


def kill_everything(stack: Stack, planned: list[str], module: str, rounds: int) -> dict[str, Any]:
    """What crash_driver.py saw of its experiment."""
    rng = random.Random(SEED)
    static_files(stack.data)
    prefine = Prefine(stack, module)
    numbers = (COMPLETE_SECONDS, prefine.port, SEED, rounds)
    driver = stack.python("-m", "tests.webapp.crash_driver", *map(str, numbers))
    killed, enough, kinds = list[str](), len(planned) / 2, len(set(planned)) / 2
    try:
        assert driver.stdout is not None
        assert "started\n" in driver.stdout  # after a warning, where the broker was not there yet
        while driver.poll() is None:
            time.sleep(rng.uniform(0.3, 3.0))
            prefine.restart_if_dead()
            kind = kill_one(stack, planned, rng)
            killed += [kind] if kind else []
        said, _ = driver.communicate()
        below = ours(stack)
        prefine.stop()
    finally:
        for process in (driver, prefine.process):
            process.kill()
            process.wait()
    facts = json.loads(said.splitlines()[-1])
    print(killed, facts)
    assert facts["status"] == "finished", facts
    assert not facts["candidates_failed"] and set(facts["clips"]) == {"ready"}  # so every round has a choice to make
    assert not facts["votes_lost"] and not facts["votes_not_counted"] and not facts["refusals"]
    assert not facts["twice"] and not facts["calls_twice"]
    assert facts["open_requests"] == 0 and facts["idle"] and not facts["files_missing"]
    assert len(killed) > enough and len(set(killed)) > kinds
    wait_for(lambda: have_ended(below), "the end of all processes")
    return facts
