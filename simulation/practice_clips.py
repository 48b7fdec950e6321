"""The clips of the practice trial: `python -m simulation.practice_clips FOLDER` simulates and films them again.

Four carts with a pole, moved by rules that were written by hand, not learnt: everybody agrees which cart holds its
pole best and which worst. They are made once and kept with the pages (static/studio/practice), so that a practice trial
needs no worker and looks the same to everybody.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from simulation import film
from simulation.environment import Environment
from simulation.renderer import RolloutRenderer
from simulation.rollout import Rollout

TASK = "Cartpole"
SECONDS = 5.0
Controller = Callable[[float, np.ndarray, np.ndarray], float]
"""(seconds, positions (2,) in m and rad, velocities (2,) in m/s and rad/s) -> share of the force, in [-1, 1]."""


def balance(shake: float) -> Controller:
    """Linear feedback that holds the pole, and a push to and fro, once a second, of this share of the force."""

    def control(seconds: float, position: np.ndarray, velocity: np.ndarray) -> float:
        held = 0.05 * position[0] + 0.08 * velocity[0] + 1.2 * position[1] + 0.25 * velocity[1]
        return float(held + shake * math.sin(2.0 * math.pi * seconds))

    return control


def let_fall(seconds: float, position: np.ndarray, velocity: np.ndarray) -> float:
    """A little force against the pole: it falls, again and again."""
    return -0.004 if position[1] > 0 else 0.004


CLIPS: dict[str, Controller] = {
    "still": balance(0.0),
    "sways": balance(0.16),
    "swings": balance(0.55),
    "falls": let_fall,
}
"""File name -> what moves the cart; the best first."""


def make_rollout(control: Controller, seed: int = 1) -> Rollout:
    """`SECONDS` of the cart under `control`; where the pole falls a new episode begins."""
    env = Environment(TASK, worlds=1, groups=1, seed=seed)
    env.reset()
    dt, restarted, start = 1.0 / 60.0, True, 0
    positions, restarts = [], []
    for step in range(round(SECONDS / dt) + 2):
        positions.append(np.array(env.qpos(0), dtype=np.float64))
        restarts.append(restarted)
        start = step if restarted else start
        seen = [torch.as_tensor(env.attributes[name])[0].numpy() for name in ("dof_pos", "dof_vel")]
        moved = env.step(torch.tensor([[control((step - start) * dt, *seen)]]))
        restarted = bool((moved.terminated | moved.truncated)[0])
        if restarted:
            env.reset()
    return Rollout(TASK, np.array(positions), dt, np.array(restarts), np.empty((len(positions), 0, 7)))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m simulation.practice_clips", description="Film the practice clips.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    renderer = RolloutRenderer(TASK)
    for name, control in CLIPS.items():
        clip = folder / f"{name}.mp4"
        frames = renderer.frames(make_rollout(control), round(SECONDS * film.RATE), film.RATE)
        film.encode(frames, clip, clip.with_suffix(".jpg"))
    renderer.close()


if __name__ == "__main__":
    main()
