"""Train a task's policy that stays up: simulation/tasks/<task>/upright.pt, from which candidates may start.

    python -m benchmarks.upright Humanoid FILE [--iterations 2600] [--seed 0]

It learns to stay up with little effort (examples/humanoid/upright.py), and no task. A Humanoid's episodes begin with a
push: the body moves at up to 2 m/s in any direction, so that it learns to step instead of standing stiff, and they end
after five seconds, so that the next push comes soon. The file is rewritten from time to time.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from simulation import catalog
from simulation.environment import Environment
from simulation.noise import SharedNoise
from simulation.rewards.contract import compile_reward
from trainer import checkpoint
from trainer.collect import Collector
from trainer.learner import make_learner
from trainer.scoring import Scorer

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Recipe:
    """How a task's robot learns to stay up."""

    reward: Path
    preset: str
    push: float
    """m/s at most; 0: it is not pushed."""
    iterations: int


HUMANOID = Recipe(EXAMPLES / "humanoid" / "upright.py", "long", 2.0, 2600)
RECIPES = {
    "Humanoid": HUMANOID,
    "HumanoidJump": HUMANOID,
    "HumanoidPush": Recipe(EXAMPLES / "humanoid_push" / "upright.py", "quick", 0.0, 300),
}
EPISODE_STEPS = 300
WRITTEN_EVERY = 100
"""Iterations."""


class PushedStart:
    """A legged task's start with a push, whose direction and speed are read from the noise of the hinges' speeds."""

    def __init__(self, environment: Environment, fastest: float) -> None:
        self._start, self._fastest = environment._task.start, fastest
        self._hinges = environment.info.num_actions

    def __call__(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        qpos, qvel = self._start(noise)
        angle, speed = 2 * torch.pi * noise[:, self._hinges], self._fastest * noise[:, self._hinges + 1]
        qvel[:, 0], qvel[:, 1] = speed * torch.cos(angle), speed * torch.sin(angle)
        return qpos, qvel


def train(task: str, path: Path, iterations: int, seed: int) -> None:
    """Train by the task's recipe; write the policy to `path`."""
    recipe = RECIPES[task]
    info, preset = catalog.get_task(task), catalog.get_task(task).presets[recipe.preset]
    environment = Environment(task, preset.worlds, seed=seed)
    if recipe.push:
        environment._task.start = PushedStart(environment, recipe.push)
    environment.info = replace(info, episode_steps=EPISODE_STEPS)
    environment.reset()
    collector = Collector(environment, [Scorer(compile_reward(recipe.reward.read_text(), task))])
    learner, noise = make_learner(info, preset, [seed], False, environment.device), SharedNoise([seed])
    began = time.monotonic()
    for iteration in range(1, iterations + 1):
        horizon = collector.collect(learner, noise.normal(preset.horizon, preset.worlds, info.num_actions))
        learner.update(horizon.experience, noise)
        if iteration % WRITTEN_EVERY == 0 or iteration == iterations:
            checkpoint.save_policy(path, learner.policy_state(0), task=task, preset=recipe.preset, seed=seed)
            samples, age = iteration * preset.worlds * preset.horizon, collector.ages.float().mean().item()
            took = time.monotonic() - began
            print(f"{samples:,} samples in {took:.0f} s: worlds are {age:.0f} steps old on average", flush=True)


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upright", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task", choices=RECIPES)
    parser.add_argument("file", type=Path)
    parser.add_argument("--iterations", type=int, help="in place of the recipe's")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train(options.task, options.file, options.iterations or RECIPES[options.task].iterations, options.seed)


if __name__ == "__main__":
    main()
