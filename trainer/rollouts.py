"""Record each policy for filming: deterministic, from the same start, one world per candidate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from simulation.catalog import TaskInfo
from simulation.environment import Environment
from simulation.rollout import write_rollout
from trainer.learner import Learner
from trainer.scoring import Scorer, value_horizon

FILM_SEED = 2_000_000_011
"""Resets of filmed episodes: equal for every candidate, iteration and run."""


@torch.no_grad()
def record_rollouts(
    info: TaskInfo, learner: Learner, paths: Sequence[Path], number: int = 1, scorers: Sequence[Scorer] = ()
) -> None:
    """Run each of the K policies' mean actions for the task's clip length and write one rollout file per candidate.

    Every `number` has a start of its own. With K `scorers`, the files hold what each component is worth in each state.
    """
    env = Environment(info.name, worlds=1, groups=len(paths), seed=FILM_SEED + number - 1)
    env.reset()
    frames = round(info.clip_seconds / info.control_dt)
    qpos = np.empty((len(paths), frames, *env.qpos(0).shape))
    mocap = np.empty((len(paths), frames, *env.mocap(0).shape))
    restart, fell = np.zeros((2, len(paths), frames), dtype=bool)
    restart[:, 0] = True
    reached = []
    for frame in range(frames):
        for group in range(len(paths)):
            qpos[group, frame], mocap[group, frame] = env.qpos(group), env.mocap(group)
        reached.append(env.attributes)
        step = env.step(learner.mean_actions(env.obs_buf.unsqueeze(1).to(learner.device)).squeeze(1).cpu())
        done = step.terminated | step.truncated
        if done.any():
            env.reset(done)
            restart[:, frame + 1 : frame + 2] = done.unsqueeze(1).numpy()
            fell[:, frame + 1 : frame + 2] = step.terminated.unsqueeze(1).numpy()
    values = value_horizon(env, scorers, reached) if scorers else [{} for _ in paths]
    for path, *recorded, worth in zip(paths, qpos, restart, mocap, fell, values, strict=True):
        states, restarts, shown, failures = recorded
        components = {name: value.numpy() for name, value in worth.items()}
        write_rollout(path, info.name, states, info.control_dt, restarts, shown, failures, components)
