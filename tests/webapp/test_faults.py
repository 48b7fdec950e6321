"""The fault benchmark at its shortest: a few kills, and a worker that is cut off."""

import subprocess
import sys

import pytest

from benchmarks.faults.scenarios import find_obstacle
from trainer.process import ROOT


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_nothing_is_lost_when_processes_are_killed_and_a_worker_is_cut_off():
    parts = [] if find_obstacle("partition") else ["partition"]
    command = [sys.executable, "-m", "benchmarks.faults", "--kills", "15", "--seed", "1", "--scenarios", *parts]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    assert "| all | 15 |" in done.stdout and all(f"\n| {part} |" in done.stdout for part in ("kills", *parts))
