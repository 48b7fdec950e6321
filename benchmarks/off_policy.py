"""SAC beside public ones, on the same worlds: `python -m benchmarks.off_policy [--tasks BallBalance] [--rounds 3]`.

Same task, reward, batch and updates for each sample (the quick-sac preset), one candidate, one core. They run in
processes of their own, in turns, and the median of the rounds counts. A sample is one control step of one world,
simulated, rewarded and learned from. Networks differ in kind, so their numbers of parameters are printed: ours and
SBX's Simba are residual blocks widened by four; the perceptrons get two layers that come near ours in number.
stable-baselines3 and sbx-rl (with jax) are not among Prefine's requirements; what is not installed is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from benchmarks.machine import machine
from benchmarks.training import in_a_process, measure
from simulation import catalog
from simulation.catalog import SacPreset

CONTENDERS = {
    "ours": ("Prefine's SAC (SimbaV2, 101 atoms)", ()),
    "sbx_simba": ("SBX's SAC, Simba networks (JAX, compiled)", ("sbx",)),
    "sbx": ("SBX's SAC, perceptrons (JAX, compiled)", ("sbx",)),
    "sb3": ("Stable-Baselines3's SAC, perceptrons (PyTorch)", ("stable_baselines3",)),
}
"""Each one's title, and what it needs."""
PRESET = "quick-sac"
Iterations = tuple[int, Iterator[None]]
"""Parameters of actor and critics, and what goes on by a horizon at each step."""


def read_preset(task: str) -> SacPreset:
    """The task's settings."""
    preset = catalog.get_preset(task, PRESET)
    assert isinstance(preset, SacPreset)
    return preset


def ours(task: str) -> Iterations:
    """The trainer's own loop."""
    from simulation.environment import Environment
    from simulation.noise import SharedNoise
    from simulation.rewards.contract import compile_reward
    from trainer.collect import Collector
    from trainer.learner import has_mixed_precision
    from trainer.sac import SAC
    from trainer.scoring import Scorer

    info, preset = catalog.get_task(task), read_preset(task)
    env = Environment(task, worlds=preset.worlds)
    collector = Collector(env, [Scorer(compile_reward(catalog.read_reference_reward(task), task))])
    learner = SAC(info.num_obs, info.num_actions, preset, [0], has_mixed_precision())
    shared = SharedNoise([0])

    def go_on() -> Iterator[None]:
        while True:
            noise = shared.normal(preset.horizon, preset.worlds, info.num_actions)
            learner.update(collector.collect(learner, noise).experience, shared)
            yield

    return learner.actors.numel() + learner.critics.numel(), go_on()


def sbx_simba(task: str) -> Iterations:
    """SBX with SimbaV2 blocks as wide as the trainer's."""
    from sbx import SAC

    preset = read_preset(task)
    blocks = {"pi": [preset.actor_width] * preset.actor_blocks, "qf": [preset.critic_width] * preset.critic_blocks}
    return library(SAC, "SimbaPolicy", blocks, task)


def sbx(task: str) -> Iterations:
    """SBX with perceptrons."""
    from sbx import SAC

    return library(SAC, "MlpPolicy", perceptrons(task), task)


def sb3(task: str) -> Iterations:
    """Stable-Baselines3, which SBX translates to JAX."""
    from stable_baselines3 import SAC

    return library(SAC, "MlpPolicy", perceptrons(task), task)


def perceptrons(task: str) -> dict[str, list[int]]:
    """Two layers for actor and critic with about as many parameters as a block widened by four has: 8 width^2."""
    preset = read_preset(task)
    widths = {
        "pi": math.sqrt(8 * preset.actor_blocks) * preset.actor_width,
        "qf": math.sqrt(8 * preset.critic_blocks) * preset.critic_width,
    }
    return {name: [round(width)] * 2 for name, width in widths.items()}


def library(algorithm: Any, policy: str, sizes: dict[str, list[int]], task: str) -> Iterations:
    """A library's own loop over the trainer's batched worlds."""
    from benchmarks.adapters import Sb3Worlds

    preset = read_preset(task)
    samples = preset.worlds * preset.horizon
    learner = algorithm(
        policy,
        Sb3Worlds(task, preset.worlds, 1.0),
        learning_rate=preset.learning_rate,
        buffer_size=preset.replay,
        learning_starts=preset.learning_starts,
        batch_size=preset.batch,
        tau=preset.target_rate,
        gamma=preset.gamma,
        train_freq=preset.horizon,
        gradient_steps=preset.updates,
        policy_kwargs={"net_arch": sizes},
        device="cpu",
    )

    def go_on() -> Iterator[None]:
        learner.learn(samples)
        while True:
            learner.learn(samples, reset_num_timesteps=False)
            yield

    return count_parameters(learner.policy), go_on()


def count_parameters(policy: Any) -> int:
    """The parameters of actor and critics, without target networks."""
    if hasattr(policy, "actor_state"):
        import jax

        trees = (policy.actor_state.params, policy.qf_state.params)
        return sum(leaf.size for leaf in jax.tree_util.tree_leaves(trees))
    return sum(part.numel() for net in (policy.actor, policy.critic) for part in net.parameters())


def measure_contender(name: str, task: str, seconds: float) -> dict[str, float]:
    """Its rates once learning has begun and is compiled, and its parameters."""
    preset = read_preset(task)
    parameters, iterations = globals()[name](task)
    warm_up = preset.learning_starts // preset.states + 4
    return {**measure(iterations, preset.states, seconds, warm_up), "parameters": parameters}


def print_table(task: str, rounds: int, seconds: float) -> None:
    """Measure all contenders in turns."""
    preset = read_preset(task)
    present = {name: title for name, (title, needs) in CONTENDERS.items() if all(map(find_spec, needs))}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in present}
    for _ in range(rounds):
        for name in present:
            core = {min(os.sched_getaffinity(0))}
            found[name].append(in_a_process(name, task, seconds, core, "off_policy", JAX_PLATFORMS="cpu"))
    print(f"\n{task}: {preset.worlds} worlds, {preset.updates} updates of {preset.batch} samples for every ", end="")
    print(f"{preset.states} samples\n")
    print("| one core each | parameters | samples/s | samples/s of processor time | ours is faster by |")
    print("|---|---:|---:|---:|---:|")
    best = statistics.median(run["processor"] for run in found["ours"])
    for name, title in present.items():
        wall, processor = (statistics.median(run[kind] for run in found[name]) for kind in ("wall", "processor"))
        parameters = int(found[name][0]["parameters"])
        print(f"| {title} | {parameters:,} | {wall:,.0f} | {processor:,.0f} | {best / processor:.2f} |", flush=True)


def main() -> None:
    """Print a table for each task."""
    scored = [name for name, info in catalog.list_tasks().items() if PRESET in info.presets]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.off_policy", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=["BallBalance"], choices=scored)
    parser.add_argument("--seconds", type=float, default=5.0, help="per contender and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure_contender(options.only, options.tasks[0], options.seconds)))
        return
    print(machine("stable-baselines3", "sbx-rl", "jax"))
    for task in options.tasks:
        print_table(task, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
