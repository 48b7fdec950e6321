"""The cost of the bridge: MuJoCo through it against MuJoCo in this process, in turns, one thread each.

python -m benchmarks.bridge [--task Ant] [--worlds 64 512] [--steps 200] [--rounds 5] > table.md
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from benchmarks.machine import machine
from simulation import catalog
from simulation.bridge.connection import Bridge
from simulation.environment import Environment


def seconds_per_step(env: Environment, start: dict, actions: torch.Tensor) -> float:
    env.load_state_dict(start)
    begun = time.perf_counter()
    for action in actions:
        env.step(action)
    return (time.perf_counter() - begun) / len(actions)


def row(task: str, worlds: int, steps: int, rounds: int) -> str:
    bridge = Bridge("mujoco")
    beside, through = Environment(task, worlds), Environment(task, worlds, start=bridge)
    generator = torch.Generator().manual_seed(0)
    actions = torch.rand(steps, worlds, beside.info.num_actions, generator=generator) * 2 - 1
    start = beside.state_dict()
    times: dict[str, list[float]] = {"beside": [], "through": []}
    for number in range(rounds + 1):
        for name, env in (("beside", beside), ("through", through)):
            value = seconds_per_step(env, start, actions)
            if number:  # the first round warms up
                times[name].append(value)
    bridge.close()
    ours, theirs = (1e6 * statistics.median(times[name]) for name in ("beside", "through"))
    return f"| {task} | {worlds} | {ours:,.0f} | {theirs:,.0f} | {theirs - ours:,.0f} | {theirs / ours - 1:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bridge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="Ant", choices=list(catalog.list_tasks()))
    parser.add_argument("--worlds", nargs="+", type=int, default=[64, 512, 4096])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{machine()}; medians of {arguments.rounds} rounds of {arguments.steps} control steps.\n")
    print("| task | worlds | in process, us a step | through the bridge | overhead, us | overhead |")
    print("|---|---:|---:|---:|---:|---:|")
    for worlds in arguments.worlds:
        print(row(arguments.task, worlds, arguments.steps, arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
