"""The fault benchmark at its shortest: a few kills, then every scenario that can be played on this machine."""

import subprocess
import sys

import pytest

from benchmarks.faults.scenarios import SCENARIOS, find_obstacle
from trainer.process import ROOT


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_nothing_is_lost_when_processes_are_killed_and_services_fail():
    parts = [name for name in SCENARIOS if not find_obstacle(name)]
    command = [sys.executable, "-m", "benchmarks.faults", "--kills", "15", "--seed", "1", "--scenarios", *parts]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    assert "| all | 15 |" in done.stdout and all(f"\n| {part} |" in done.stdout for part in ("kills", *parts))
