"""How fast clips are made: `python -m benchmarks.filming [--tasks Ant]` prints a Markdown table.

One clip per task, of a robot that moves at random: frames rendered per second, seconds to encode the clip, its size.
Both are seconds of one core (CPU time), so that other work on the machine does not count; in `simulation.film` they
overlap on two.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.machine import machine
from simulation import catalog
from simulation.environment import Environment
from simulation.film import RATE, encode
from simulation.renderer import HEIGHT, WIDTH, RolloutRenderer
from simulation.rollout import Rollout


def random_rollout(task: str) -> Rollout:
    """A clip's length of one world under random actions."""
    info = catalog.get_task(task)
    steps = round(info.clip_seconds / info.control_dt)
    env = Environment(task, worlds=1, seed=0)
    env.reset()
    generator = torch.Generator().manual_seed(0)
    states, shown, restart = [], [], np.zeros(steps + 1, dtype=bool)
    for step in range(steps):
        states.append(env.qpos(0))
        shown.append(env.mocap(0))
        result = env.step(2 * torch.rand(1, info.num_actions, generator=generator) - 1)
        if (result.terminated | result.truncated).any():
            env.reset()
            restart[step + 1] = True
    return Rollout(task, np.stack(states), info.control_dt, restart[:-1], np.stack(shown))


def measure(task: str, folder: Path) -> tuple[float, float, float]:
    """Frames rendered per second, seconds to encode a clip, megabytes of the clip."""
    rollout, count = random_rollout(task), round(catalog.get_task(task).clip_seconds * RATE)
    renderer = RolloutRenderer(task)
    next(renderer.frames(rollout, count, RATE))  # the first frame compiles shaders
    start = time.process_time()
    frames = [frame.copy() for frame in renderer.frames(rollout, count, RATE)]
    rendering = time.process_time() - start
    start = children_seconds()
    encode(iter(frames), folder / "clip.mp4", folder / "clip.jpg")
    encoding = children_seconds() - start
    renderer.close()
    return count / rendering, encoding, (folder / "clip.mp4").stat().st_size / 1e6


def children_seconds() -> float:
    """CPU time of this process's children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filming", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=list(catalog.list_tasks()), choices=list(catalog.list_tasks()))
    tasks = parser.parse_args().tasks
    heads = (f"task ({WIDTH}x{HEIGHT}, {RATE} frames/s)", "rendered, frames/s", "encode a clip, s", "clip, MB")
    print(f"{machine()}\n\n| {' | '.join(heads)} |")
    print("|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks:
            rate, seconds, megabytes = measure(task, Path(folder))
            print(f"| {task} | {rate:.0f} | {seconds:.2f} | {megabytes:.2f} |", flush=True)


if __name__ == "__main__":
    main()
