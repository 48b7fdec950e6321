"""How fast worlds step: ours, bare mujoco.batch on the same model, and other libraries' own environments.

    python -m benchmarks.stepping [--tasks Ant] [--worlds 512] [--threads 0] [--rounds 7] > table.md
    python -m benchmarks.stepping --best 256 512 1024 2048 [--tasks Ant Humanoid] [--save FILE]   a row for each task
    python -m benchmarks.stepping --read docs/comparisons/stepping.csv

All rows are measured in turns in one run; the median of the rounds counts. Ours and bare mujoco.batch start from the
same states with the same actions, so that they do the same physics. The reward is called once for all steps of a
round, as in training. With --best the row is that of the batch size at which ours comes nearest to bare physics; times
are processor time there, of one physics thread unless --threads says otherwise, so that other work changes little.
With --save each task's row replaces the one that the file holds; --read measures nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from mujoco.batch import Batch

from benchmarks.kept import add_options, read_records, write_records
from benchmarks.machine import machine
from benchmarks.peers import LIKE, list_absent
from simulation import catalog, mujoco_models
from simulation.backends.cpu import CpuPhysics
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from trainer.scoring import Scorer, score_horizon

LIBRARIES = ("gymnasium", "envpool")
STEPS = 40
"""Control steps a round; robots that only act at random seldom end an episode within them."""


class Ours:
    """Our environment, up to a stage: physics, observation, reward or reset."""

    def __init__(self, task: str, worlds: int, threads: int) -> None:
        self.env = Environment(task, worlds=worlds, seed=0, threads=threads)
        self.physics = CpuPhysics(self.env.model, worlds, self.env.info.substeps, self.env._task.fields, threads)
        self.scorer = Scorer(compile_reward(catalog.read_reference_reward(task), task))
        self.start = self.env.state_dict()
        generator = torch.Generator().manual_seed(1)
        self.actions = torch.rand(STEPS, worlds, self.env.info.num_actions, generator=generator) * 2 - 1
        self.controls = self._controls()

    def _controls(self) -> torch.Tensor:
        """The task's controls for the actions, (STEPS, worlds, nu), for stepping physics alone."""
        self.env.load_state_dict(self.start)
        controls, step = [], self.env._physics.step

        def note(control: torch.Tensor) -> torch.Tensor | None:
            controls.append(control.clone())
            return step(control)

        with patch.object(self.env._physics, "step", note):
            for action in self.actions:
                self.env.step(action)
        return torch.stack(controls)

    def bare(self) -> float:
        """Only mujoco.batch, stepped as its documentation shows."""
        batch = Batch(self.env.model, self.env.num_envs, self.env._threads)
        batch.state[:] = self.start["physics"].numpy()
        ctrl, controls = batch.bind("ctrl"), self.controls.numpy()
        with measure_seconds() as seconds:
            for control in controls:
                ctrl[:] = control
                batch.step(nstep=self.env.info.substeps)
        return seconds()

    def physics_only(self) -> float:
        self.physics.load(self.start["physics"])
        with measure_seconds() as seconds:
            for control in self.controls:
                self.physics.step(control)
                self.physics.read()
        return seconds()

    def observe(self) -> float:
        self.env.load_state_dict(self.start)
        with measure_seconds() as seconds:
            for action in self.actions:
                self.env.step(action)
        return seconds()

    def reward(self) -> float:
        self.env.load_state_dict(self.start)
        with measure_seconds() as seconds:
            reached = []
            for action in self.actions:
                self.env.step(action)
                reached.append(self.env.attributes)
            score_horizon(self.env, [self.scorer], reached)
        return seconds()

    def with_resets(self) -> float:
        self.env.load_state_dict(self.start)
        with measure_seconds() as seconds:
            reached = []
            for action in self.actions:
                step = self.env.step(action)
                reached.append(self.env.attributes)
                self.env.reset(step.terminated | step.truncated)
            score_horizon(self.env, [self.scorer], reached)
        return seconds()


clock = time.perf_counter
"""The clock of `measure_seconds`; processor time with --best."""


@contextmanager
def measure_seconds() -> Iterator[Callable[[], float]]:
    """Seconds spent in the block."""
    begun = clock()
    ended = [0.0]
    yield lambda: ended[0]
    ended[0] = clock() - begun


def gymnasium_worlds(name: str, mode: str, worlds: int) -> Peer:
    """The library's own environment (its own physics settings) as a vector environment."""
    import gymnasium

    envs = gymnasium.make_vec(name, num_envs=worlds, vectorization_mode=mode)
    envs.reset(seed=0)
    return Peer(envs.step, envs.action_space, envs.close)


def envpool_worlds(name: str, worlds: int, threads: int) -> Peer:
    """EnvPool's worlds of the same environment, stepped by threads of C++."""
    import envpool

    envs = envpool.make(name, env_type="gymnasium", num_envs=worlds, num_threads=threads, seed=0)
    envs.reset()
    space = envs.action_space
    batched = type(space)(space.low[None].repeat(worlds, 0), space.high[None].repeat(worlds, 0))
    return Peer(envs.step, batched, envs.close)


class Peer:
    """Another library's worlds, under random actions."""

    def __init__(self, step: Callable[[np.ndarray], object], space: Any, close: Callable[[], None]) -> None:
        self.step, self.close = step, close
        self.actions = np.random.default_rng(1).uniform(space.low, space.high, (STEPS, *space.shape))

    def measure(self) -> float:
        with measure_seconds() as seconds:
            for action in self.actions:
                self.step(action)
        return seconds()


def peers(task: str, threads: int) -> dict[str, tuple[int, Peer]]:
    """Title -> worlds, library, of the libraries that are installed and have such a task."""
    name, few, many = LIKE.get(task), 8, 64  # more processes or worlds only cost them
    found: dict[str, tuple[int, Peer]] = {}
    if name and find_spec("gymnasium"):
        for mode in ("sync", "async"):
            title = f"gymnasium {mode.capitalize()}VectorEnv, {name}"
            found[title] = (few, gymnasium_worlds(name, mode, few))
    if name and find_spec("envpool"):
        found[f"envpool, {name}"] = (many, envpool_worlds(name, many, threads))
    return found


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
    """Print the table of every task."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stepping", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=list(catalog.list_tasks()), help="default: Ant; with --best all")
    parser.add_argument("--best", nargs="+", type=int, metavar="WORLDS", help="the best of these batch sizes")
    parser.add_argument("--worlds", type=int, default=512)
    parser.add_argument("--threads", type=int, default=0, help="physics threads; 0 = one per core")
    parser.add_argument("--rounds", type=int, default=7)
    add_options(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.read:
        print(render(read_records(arguments.read, Row)))
        return
    if arguments.best:
        tasks, threads = arguments.tasks or list(catalog.list_tasks()), arguments.threads or 1
        print(f"{machine()}; {threads} physics threads; processor time, median ratio of", end=" ")
        print(f"{arguments.rounds} rounds of {STEPS} steps.\n", flush=True)
        print(render(find_best_sizes(tasks, arguments.best, threads, arguments.rounds, arguments.save)))
        return
    threads = arguments.threads or len(os.sched_getaffinity(0))
    print(
        f"{machine('gymnasium', 'envpool')}; {threads} physics threads; median of {arguments.rounds} rounds of", end=" "
    )
    print(f"{STEPS} control steps. The physics settings of gymnasium and envpool are their own.")
    for task in arguments.tasks or ["Ant"]:
        rates = measure_rates(task, arguments.worlds, threads, arguments.rounds)
        step, substeps = mujoco_models.build_physics_model(task).opt.timestep, catalog.get_task(task).substeps
        said = " ".join([f"{task}, {step * 1000:.2f} ms x {substeps} a control step.", *list_absent(task, *LIBRARIES)])
        print(f"\n{said}\n\n{table(rates)}", flush=True)


@dataclass(frozen=True)
class Row:
    """How fast a task steps at the batch size at which it comes nearest to bare physics."""

    task: str
    worlds: int
    bare: int
    """Control steps of one world in a second of processor time: mujoco.batch alone."""
    ours: int
    """The same with observation, termination, metric and human reward."""
    ratio: float
    """Ours by bare physics, the median of ratios within a round."""
    with_resets: float
    """The same ratio where ended worlds are reset, too."""


def find_best_sizes(tasks: list[str], sizes: list[int], threads: int, rounds: int, kept: Path | None) -> list[Row]:
    """The row of each task at its best size, written to the file that is kept as soon as it is known."""
    global clock
    clock = time.process_time
    rows = []
    for task in tasks:
        rows.append(max((compare_stages(task, worlds, threads, rounds) for worlds in sizes), key=lambda row: row.ratio))
        others = [row for row in read_records(kept, Row) if row.task != task]
        write_records(kept, sorted([*others, rows[-1]], key=lambda row: row.task))
    return rows


def compare_stages(task: str, worlds: int, threads: int, rounds: int) -> Row:
    """Each round measures bare physics, ours and ours with resets one after another; ratios are taken within it."""
    ours = Ours(task, worlds, threads)
    times = [(ours.bare(), ours.reward(), ours.with_resets()) for _ in range(rounds + 1)][1:]
    bare, rewarded = (STEPS * worlds / statistics.median(round_[i] for round_ in times) for i in (0, 1))
    ratios = [statistics.median(round_[0] / round_[i] for round_ in times) for i in (1, 2)]
    return Row(task, worlds, round(bare), round(rewarded), *(round(ratio, 3) for ratio in ratios))


def render(rows: Iterable[Row]) -> str:
    """A line for each task."""
    lines = [
        "| task | observations, actions | worlds | bare physics, steps/s | ours with observation and reward | relative "
        "| with resets |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        info = catalog.get_task(row.task)
        lines.append(
            f"| {row.task} | {info.num_obs}, {info.num_actions} | {row.worlds} | {row.bare:,.0f} | {row.ours:,.0f} "
            f"| {row.ratio:.2f} | {row.with_resets:.2f} |"
        )
    return "\n".join(lines)


def measure_rates(task: str, worlds: int, threads: int, rounds: int) -> dict[str, tuple[int, list[float]]]:
    """Title -> worlds, and control steps per second of every round; all rows in turns."""
    ours, others = Ours(task, worlds, threads), peers(task, threads)
    rows: dict[str, tuple[int, Callable[[], float]]] = {
        "bare mujoco.batch, same model": (worlds, ours.bare),
        "ours: physics, state as float32 tensors": (worlds, ours.physics_only),
        "ours: + observation, termination, metric (`env.step`)": (worlds, ours.observe),
        "ours: + human reference reward": (worlds, ours.reward),
        "ours: + resets of ended worlds": (worlds, ours.with_resets),
    } | {title: (count, peer.measure) for title, (count, peer) in others.items()}
    rates: dict[str, tuple[int, list[float]]] = {title: (count, []) for title, (count, _) in rows.items()}
    for number in range(rounds + 1):
        for title, (count, measure) in rows.items():
            rate = STEPS * count / measure()
            if number:  # the first round warms up
                rates[title][1].append(rate)
    for _, peer in others.values():
        peer.close()
    return rates


if __name__ == "__main__":
    main()
