"""Physics steps per second on a CUDA device, against MuJoCo Warp's own testspeed on the same model in the same run.

    python -m benchmarks.gpu [--tasks Ant Humanoid] [--worlds 1024 4096 16384] [--steps 400] > table.md

It has not run on a GPU yet. Without a CUDA device it says so, and ends with status 2.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import torch

from benchmarks.machine import machine
from simulation import catalog, mujoco_models
from simulation.backends import capacity, choice
from simulation.environment import Environment

WORLDS = (1024, 2048, 4096, 8192, 16384)
WARM_UP = 5
CONTROL_NOISE = 0.01
"""testspeed's own: standard deviation of its controls."""


def ours(task: str, worlds: int, steps: int) -> tuple[float, float]:
    """Physics steps per second of the backend alone, and of whole control steps with observation, metric and resets."""
    env = Environment(task, worlds, device="cuda:0")
    physics, substeps = env._physics, env.info.substeps
    generator = torch.Generator(device="cuda").manual_seed(0)
    control = CONTROL_NOISE * torch.randn(worlds, env.model.nu, generator=generator, device="cuda")
    bare = rate(lambda: physics.step(control), worlds * substeps, steps // substeps)
    env.reset()

    def whole() -> None:
        action = CONTROL_NOISE * torch.randn(worlds, env.info.num_actions, generator=generator, device="cuda")
        step = env.step(action)
        env.reset(step.terminated | step.truncated)

    return bare, rate(whole, worlds * substeps, steps // substeps)


def rate(step: Callable[[], object], per_call: int, calls: int) -> float:
    """Units per second of `calls` calls, each of `per_call` units, after a few to warm up."""
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(calls):
        step()
    torch.cuda.synchronize()
    return per_call * calls / (time.perf_counter() - begun)


def testspeed(model: mujoco.MjModel, worlds: int, steps: int) -> float:
    """Physics steps per second that mujoco_warp.testspeed reports for this model, with the same room for contacts."""
    sizes = capacity.measure_sizes(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mjb")
        mujoco.mj_saveModel(model, str(path))
        command = [sys.executable, "-m", "mujoco_warp.testspeed", str(path), f"--nworld={worlds}", f"--nstep={steps}"]
        command += [f"--nconmax={sizes.contacts}", f"--njmax={sizes.constraints}", "--format=json", "--device=cuda:0"]
        command += ["--overflow_behavior=continue"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"testspeed failed: {done.stderr.strip()[-500:]}")
    report = next(line for line in reversed(done.stdout.splitlines()) if line.startswith("{"))
    return float(json.loads(report)["steps_per_second"])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=list(catalog.list_tasks()), choices=list(catalog.list_tasks()))
    parser.add_argument("--worlds", nargs="+", type=int, default=list(WORLDS))
    parser.add_argument("--steps", type=int, default=400, help="physics steps")
    arguments = parser.parse_args()
    try:
        choice.resolve_device("cuda")
    except ValueError as error:
        print(f"nothing to measure: {error}", file=sys.stderr)
        return 2
    print(f"{torch.cuda.get_device_name(0)}, {machine('mujoco-warp', 'warp-lang')}; {arguments.steps} physics steps.\n")
    print("| task | worlds | testspeed, steps/s | ours, physics | ours, whole control steps | physics / testspeed |")
    print("|---|---:|---:|---:|---:|---:|")
    for task in arguments.tasks:
        for worlds in arguments.worlds:
            peer = testspeed(mujoco_models.build_physics_model(task), worlds, arguments.steps)
            bare, whole = ours(task, worlds, arguments.steps)
            print(f"| {task} | {worlds} | {peer:,.0f} | {bare:,.0f} | {whole:,.0f} | {bare / peer:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
