"""The whole verdict, and what a locked process can still do."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from simulation import catalog
from simulation.rewards import dry_run, landlock, sample_states, sandbox
from simulation.rewards.verdict import Verdict
from tests.simulation.good_rewards import GOOD

pytestmark = pytest.mark.slow

WORK_AFTER_LOCK = """
import json, os, sys, threading
from pathlib import Path
sys.path.insert(0, {root!r})
import numpy as np, torch
from simulation.environment import Environment
from simulation.rewards import contract, sandbox
torch.set_num_threads(1)
folder = Path({folder!r})
environment = Environment("Ant", worlds=4, threads=1)
notes = sandbox.lock([folder], memory_bytes=2 << 30, cpu_seconds=60)
reward = contract.compile_reward({source!r}, "Ant")
layer = torch.nn.Linear(60, 8)
optimiser = torch.optim.Adam(layer.parameters(), foreach=False)
for _ in range(3):
    step = environment.step(layer(environment.obs_buf.clone()).detach())
    total, components = reward(environment.inputs(0))
    (layer(environment.obs_buf.clone()).sum(dim=1) - total).square().mean().backward()
    optimiser.step()
    environment.reset(step.terminated | step.truncated)
(folder / "checkpoints").mkdir()
torch.save(layer.state_dict(), folder / "checkpoints" / "a.pt")
torch.load(folder / "checkpoints" / "a.pt", weights_only=True)
np.savez(folder / "b.npz", qpos=environment.qpos(0))
(folder / "c.tmp").write_text(json.dumps([1]))
os.replace(folder / "c.tmp", folder / "c.json")
thread = threading.Thread(target=(folder / "d").touch)
thread.start()
thread.join()
print("print works", len(components), notes)
"""


RARE = "def compute_reward(up_vec):\n    up = up_vec[:, 2]\n    if torch.any(up < 0.5):\n        up = up - 1.0\n"
OF_ALL = "def compute_reward(up_vec):\n    up = up_vec[:, 2] - up_vec[:, 2].mean()\n"
DEPENDENT = {name: f"{source}    return up, {{'up': up}}\n" for name, source in (("rare", RARE), ("all", OF_ALL))}
"""What one world does matters to another."""


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=() if task == "Humanoid" else pytest.mark.exhaustive) for task in GOOD]
)
def test_good_rewards_pass_and_what_one_world_does_must_not_matter_to_another(task: str):
    """In one process: its start costs more than all verdicts."""
    rewards = {**GOOD[task], "reference": catalog.read_reference_reward(task)}
    rewards |= DEPENDENT if task == "Humanoid" else {}
    verdicts = dict(zip(rewards, sandbox.check(task, list(rewards.values())), strict=True))
    for name in DEPENDENT:
        if verdict := verdicts.pop(name, None):
            assert "'up' of one world depends on the other worlds: reduce over dim=-1" in verdict.reason
    assert verdicts == dict.fromkeys([*GOOD[task], "reference"], Verdict(True, "done"))


def test_every_task_has_good_rewards():
    assert set(GOOD) == set(catalog.list_tasks())


@pytest.mark.exhaustive
def test_verdicts_come_in_order_and_none_is_fine():
    good, bad = GOOD["Cartpole"]["cosine"], "def compute_reward(dof_pos): return dof_pos, {}"
    stages = [verdict.stage for verdict in sandbox.check("Cartpole", [bad, good, "", bad])]
    assert stages == ["contract", "done", "parse", "contract"]
    assert sandbox.check("Cartpole", []) == []


def test_an_unknown_task_raises_at_once():
    with pytest.raises(ValueError, match="unknown task"):
        sandbox.check("Cartpol", ["x"])


def test_a_checking_process_that_fails_is_not_a_verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(sandbox, "ROOT", tmp_path)
    with pytest.raises(sandbox.SandboxError, match="No module named 'simulation'"):
        sandbox.check("Cartpole", ["x"])


def test_a_wall_clock_ends_a_check():
    source = """def compute_reward(dof_pos):
    x = torch.ones(1000, 1000)
    for i in range(64):
        for j in range(64):
            x = torch.matmul(x, x) / 1000.0
    return dof_pos[:, 0], {}
"""
    verdict = sandbox.check("Cartpole", [source], timeout=0.5)[0]
    assert verdict == Verdict(False, "limits", "it did not finish within 0.5 s")


def test_a_check_that_waits_for_a_processor_is_not_too_slow():
    pinned = f"import os, time\nos.sched_setaffinity(0, [{min(os.sched_getaffinity(0))}])\n"
    busy = "end = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass"
    polite = "os.nice(10)\n"
    answer = "end = time.process_time() + 0.2\nwhile time.process_time() < end: pass\nprint('done')"
    with (
        subprocess.Popen([sys.executable, "-IS", "-c", pinned + busy]),
        subprocess.Popen([sys.executable, "-IS", "-c", pinned + polite + answer], stdout=subprocess.PIPE) as child,
    ):
        assert dry_run.read_answer(child.stdout.fileno(), child.pid, 0.5) == (b"done\n", True)


def test_extreme_states_are_named_in_the_reason():
    samples = sample_states.collect_samples("Cartpole")
    fastest = [sample.inputs["dof_vel"][:, 0].max().item() for sample in samples]
    factor = 60.0 / max(fastest[:-3])  # exp(60) is finite in float32, exp(89) is not
    assert factor * max(fastest[-3:]) > 89.0
    source = f"def compute_reward(dof_vel):\n    return torch.exp({factor} * dof_vel[:, 0]), {{}}\n"
    reason = dry_run.judge("Cartpole", source, samples, 2048).reason
    assert "infinite values" in reason
    assert "extreme states (3 times the spread of random actions)" in reason


def test_samples_are_plausible():
    tried = sample_states.collect_samples("Ant")
    assert {sample.kind.split()[0] for sample in tried} == {"states", "slightly", "extreme"}
    for sample in tried:
        values = sample.inputs
        assert all(torch.isfinite(v).all() for v in values.values() if isinstance(v, torch.Tensor))
        for unit in (values["up_vec"], values["heading_vec"], values["root_states"][:, 3:7]):
            torch.testing.assert_close(unit.norm(dim=-1), torch.ones(sample_states.WORLDS), atol=1e-4, rtol=0)
        assert values["actions"].abs().max() <= 1.0
        assert values["root_states"][:, 2].min() > 0.0
    progress = [(s.inputs["potentials"] - s.inputs["prev_potentials"]).abs().max() for s in tried]
    assert max(progress[-3:]) < 4 * max(progress[:6])


def test_a_silent_child_is_a_failure():
    assert dry_run._decode(b"", 0).stage == "run"
    assert dry_run._decode(b'{"ok": true}', 0).ok is False
    assert dry_run._decode(b"", -11) == Verdict(False, "run", "it crashed the process that ran it (status -11)")
    assert dry_run._decode(b"", -9).stage == "limits"


def test_the_checking_process_inherits_no_environment(monkeypatch: pytest.MonkeyPatch):
    seen = {}
    finished = subprocess.CompletedProcess([], 0, stdout="[]", stderr="")
    monkeypatch.setenv("PREFINE_SECRET", "1")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: seen.update(k) or finished)
    sandbox.check("Cartpole", [])
    assert sorted(seen["env"]) == ["LC_ALL", "OMP_NUM_THREADS", "OMP_WAIT_POLICY"]
    assert not Path(seen["cwd"]).exists()
    assert os.environ["PREFINE_SECRET"]


def run_python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=200, env={})


@pytest.mark.exhaustive
def test_a_locked_process_can_train_and_write_its_folder(tmp_path: Path):
    source = GOOD["Ant"]["velocity_temperature"]
    result = run_python(WORK_AFTER_LOCK.format(root=str(sandbox.ROOT), folder=str(tmp_path), source=source))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("print works 3")
    assert {"b.npz", "c.json", "checkpoints", "d"} <= {path.name for path in tmp_path.iterdir()}


def test_locking_without_landlock_says_so(tmp_path: Path):
    code = f"""
import sys
sys.path.insert(0, {str(sandbox.ROOT)!r})
from simulation.rewards import landlock, sandbox
landlock.version = lambda: 0
print(*sandbox.lock())
"""
    assert run_python(code).stdout.startswith("this kernel has no Landlock: generated code could read files")


def test_no_system_call_filter_means_no_lock():
    code = f"""
import sys
sys.path.insert(0, {str(sandbox.ROOT)!r})
import ctypes.util
ctypes.util.find_library = lambda name, real=ctypes.util.find_library: None if name == "seccomp" else real(name)
from simulation.rewards import sandbox
try:
    sandbox.lock()
except sandbox.SandboxError as error:
    print(error)
"""
    assert (
        run_python(code).stdout.strip() == "Unable to find libseccomp: install it (Debian: apt-get install libseccomp2)"
    )


def test_notes_of_the_children_are_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    answer = json.dumps([{"ok": True, "stage": "done", "reason": "", "notes": []}])
    finished = subprocess.CompletedProcess([], 0, stdout=answer, stderr="this kernel has no Landlock\n")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: finished)
    with caplog.at_level(logging.WARNING):
        assert sandbox.check("Cartpole", ["x"]) == [Verdict(True, "done")]
    assert "this kernel has no Landlock" in caplog.text


def test_paths_that_do_not_exist_are_skipped(tmp_path: Path):
    code = f"""
import sys
sys.path.insert(0, {str(sandbox.ROOT)!r})
from pathlib import Path
from simulation.rewards import sandbox
file = Path({str(tmp_path / "one")!r})
file.touch()
sandbox.lock([file, Path({str(tmp_path / "missing")!r})])
file.write_text("written")
try:
    Path({str(tmp_path / "two")!r}).touch()
except PermissionError:
    print("refused")
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "one").read_text() == "written"
    assert result.stdout == ("refused\n" if landlock.version() else "")
