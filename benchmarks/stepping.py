"""How fast Ant steps: ours against bare mujoco.batch on the same model and against gymnasium's vector environments.

    python -m benchmarks.stepping [--worlds 512] [--threads 0] [--rounds 7] > table.md

All rows are measured in turns in one run; the median of the rounds counts. Ours and bare mujoco.batch start from the
same states with the same actions, so that they do the same physics. The reward is called once for all steps of a
round, as in training.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import torch
from mujoco.batch import Batch

from simulation import catalog, models
from simulation.backends.cpu import CpuPhysics
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from trainer.collect import score_horizon

TASK = "Ant"
STEPS = 40
"""Control steps a round; ants that only act at random seldom fall within them."""


class Ours:
    """Our environment, up to a stage: physics, observation, reward or reset."""

    def __init__(self, worlds: int, threads: int) -> None:
        self.env = Environment(TASK, worlds=worlds, seed=0, threads=threads)
        self.physics = CpuPhysics(self.env.model, worlds, self.env.info.substeps, ("sensordata", "site_xpos"), threads)
        self.reward = compile_reward(catalog.reference_reward(TASK), TASK)
        self.start = self.env.state_dict()
        generator = torch.Generator().manual_seed(1)
        self.actions = torch.rand(STEPS, worlds, self.env.info.num_actions, generator=generator) * 2 - 1

    def bare(self) -> float:
        """Only mujoco.batch, stepped as its documentation shows."""
        batch = Batch(self.env.model, self.env.num_envs, self.env._threads)
        batch.state[:] = self.start["physics"].numpy()
        ctrl, actions = batch.bind("ctrl"), self.actions.numpy()
        with timed() as seconds:
            for action in actions:
                ctrl[:] = action
                batch.step(nstep=self.env.info.substeps)
        return seconds()

    def physics_only(self) -> float:
        self.physics.load(self.start["physics"])
        with timed() as seconds:
            for action in self.actions:
                self.physics.step(action)
                self.physics.read()
        return seconds()

    def observed(self) -> float:
        self.env.load_state_dict(self.start)
        with timed() as seconds:
            for action in self.actions:
                self.env.step(action)
        return seconds()

    def rewarded(self) -> float:
        self.env.load_state_dict(self.start)
        with timed() as seconds:
            reached = []
            for action in self.actions:
                self.env.step(action)
                reached.append(self.env.attributes)
            score_horizon(self.env, [self.reward], reached)
        return seconds()

    def with_resets(self) -> float:
        self.env.load_state_dict(self.start)
        with timed() as seconds:
            reached = []
            for action in self.actions:
                step = self.env.step(action)
                reached.append(self.env.attributes)
                self.env.reset(step.terminated | step.truncated)
            score_horizon(self.env, [self.reward], reached)
        return seconds()


@contextmanager
def timed() -> Iterator[Callable[[], float]]:
    """Seconds spent in the block."""
    begun = time.perf_counter()
    ended = [0.0]
    yield lambda: ended[0]
    ended[0] = time.perf_counter() - begun


def gymnasium_ant(mode: str, worlds: int) -> Callable[[], float]:
    """The peer's own Ant-v5 (its own physics settings) as a vector environment; returns seconds for STEPS steps."""
    envs = gymnasium.make_vec("Ant-v5", num_envs=worlds, vectorization_mode=mode)
    envs.reset(seed=0)
    actions = np.random.default_rng(1).uniform(-1, 1, (STEPS, *envs.action_space.shape)).astype(np.float32)

    def measure() -> float:
        with timed() as seconds:
            for action in actions:
                envs.step(action)
        return seconds()

    measure.close = envs.close
    return measure


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())


def table(rates: dict[str, tuple[int, list[float]]]) -> str:
    """Rows of name, worlds, control steps per second (median, range) and the rate relative to the first row."""
    lines = ["| | worlds | control steps/s | range | relative |", "|---|---:|---:|---:|---:|"]
    first = statistics.median(next(iter(rates.values()))[1])
    for name, (worlds, values) in rates.items():
        median = statistics.median(values)
        spread = f"{min(values):,.0f} - {max(values):,.0f}"
        lines.append(f"| {name} | {worlds} | {median:,.0f} | {spread} | {median / first:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=512)
    parser.add_argument("--threads", type=int, default=0, help="physics threads; 0 = one per core")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    threads = arguments.threads or len(os.sched_getaffinity(0))
    torch.set_num_threads(1)
    ours = Ours(arguments.worlds, threads)
    few = 8  # gymnasium's worlds; more only cost it memory and processes
    peers = {mode: gymnasium_ant(mode, few) for mode in ("sync", "async")}
    rows: dict[str, tuple[int, Callable[[], float]]] = {
        "bare mujoco.batch, same model": (arguments.worlds, ours.bare),
        "ours: physics, state as float32 tensors": (arguments.worlds, ours.physics_only),
        "ours: + observation, termination, metric (`env.step`)": (arguments.worlds, ours.observed),
        "ours: + human reference reward": (arguments.worlds, ours.rewarded),
        "ours: + resets of ended worlds": (arguments.worlds, ours.with_resets),
        "gymnasium SyncVectorEnv, Ant-v5": (few, peers["sync"]),
        "gymnasium AsyncVectorEnv, Ant-v5": (few, peers["async"]),
    }
    rates: dict[str, tuple[int, list[float]]] = {name: (worlds, []) for name, (worlds, _) in rows.items()}
    for number in range(arguments.rounds + 1):
        for name, (worlds, measure) in rows.items():
            rate = STEPS * worlds / measure()
            if number:  # the first round warms up
                rates[name][1].append(rate)
    for peer in peers.values():
        peer.close()
    spec = models.physics_model(TASK).opt
    substeps = catalog.task(TASK).substeps
    print(f"Ant, {spec.timestep * 1000:.2f} ms x {substeps} substeps a control step; gymnasium: 10 ms x 5, RK4.")
    print(f"{cpu_name()}, {len(os.sched_getaffinity(0))} cores, {threads} physics threads, {date.today()};", end=" ")
    print(f"Python {platform.python_version()}, mujoco {mujoco.__version__}, torch {torch.__version__}, ", end="")
    print(f"gymnasium {gymnasium.__version__}; median of {arguments.rounds} rounds of {STEPS} steps.\n")
    print(table(rates))


if __name__ == "__main__":
    main()
