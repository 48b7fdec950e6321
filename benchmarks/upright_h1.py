"""Make an H1's policy that stays up: simulation/tasks/humanoid_push/upright.pt, from which candidates may start.

    python -m benchmarks.upright_h1 FILE [--rounds 5] [--seed 0]

It learns nothing of the task. It imitates a feedback written by hand, which turns the ankles so that the body's mass
stays above the feet; in each round the states are those to which the policy of the round before came.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

import mujoco
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from simulation import catalog
from simulation.environment import Environment
from simulation.robots.h1 import CROUCH, JOINTS
from trainer import checkpoint
from trainer.networks import NetworkShape, initial_parameters
from trainer.normalizer import RunningNormalizer

TASK, PRESET = "HumanoidPush", "quick"
WORLDS, STEPS, FITS, BATCH = 96, 160, 400, 1024
AHEAD, FASTER, BEHIND = 14.0, 4.0, 0.05
"""Radians that the ankles turn for a metre and a metre a second of the body's mass, which belongs this far ahead of
them in m: above the middle of the feet."""
ROBOT = 13 + 2 * JOINTS
"""Observations of the robot itself; places come after them."""
LEAST_SPREAD = 0.15
"""Metres, or metres a second, that places are taken to vary by: nothing moves while it stands."""


def turn_ankles(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """The angle in rad of both ankles' drives that keeps the body's mass above the feet."""
    mujoco.mj_subtreeVel(model, data)
    pelvis = model.body("pelvis").id
    feet = 0.5 * (data.site("left_foot").xpos + data.site("right_foot").xpos)
    ahead = data.subtree_com[pelvis][0] - feet[0] - BEHIND
    return float(CROUCH["ankle"] + AHEAD * ahead + FASTER * data.subtree_linvel[pelvis][0])


class Feedback:
    """The actions written by hand, from the state of each world."""

    def __init__(self, env: Environment) -> None:
        self._env, self._model, self._data = env, env.model, mujoco.MjData(env.model)
        drives = [env.model.joint(int(i)).name for i in env.model.actuator_trnid[:, 0]]
        self._ankles = [drives.index("left_ankle"), drives.index("right_ankle")]

    def __call__(self) -> Tensor:
        """Actions (n, 25)."""
        angles = torch.tensor([self._turn(row) for row in self._env.state_dict()["physics"].numpy()])
        start, actions = CROUCH["ankle"], torch.zeros(len(angles), self._env.info.num_actions)
        for ankle in self._ankles:
            lower, upper = self._model.actuator_ctrlrange[ankle]
            spans = torch.where(angles > start, upper - start, start - lower)
            actions[:, ankle] = ((angles - start) / spans).clamp(-1.0, 1.0).float()
        return actions

    def _turn(self, world: np.ndarray) -> float:
        """The ankles' angle for a row of the physics' state: time, qpos, qvel."""
        model, data = self._model, self._data
        data.qpos[:], data.qvel[:] = world[1 : 1 + model.nq], world[1 + model.nq : 1 + model.nq + model.nv]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        return turn_ankles(model, data)


class Imitation:
    """A policy of the preset's networks, fitted to what it is shown."""

    def __init__(self, seed: int) -> None:
        info, preset = catalog.task(TASK), catalog.task(TASK).presets[PRESET]
        assert isinstance(preset, catalog.Preset)
        self._shape = NetworkShape(info.num_obs, info.num_actions, preset.hidden, preset.activation)
        self._generator = torch.Generator().manual_seed(seed)
        self.std = preset.initial_std
        self._flat = initial_parameters(self._shape, preset.initial_std, self._generator).requires_grad_()
        self._optimizer = torch.optim.Adam([self._flat], 1e-3)
        self._seen = RunningNormalizer(1, info.num_obs)
        self._shown: list[tuple[Tensor, Tensor]] = []

    def __call__(self, observations: Tensor) -> Tensor:
        """Mean actions (n, num_actions)."""
        x, first = self._seen.normalize(observations[None])[0], 0
        for index, (inputs, outputs) in enumerate(self._shape.actor):
            layer = self._flat[first : first + (inputs + 1) * outputs].view(inputs + 1, outputs)
            x = (functional.silu(x) if index else x) @ layer[:-1] + layer[-1]
            first += (inputs + 1) * outputs
        return x

    def noise(self) -> Tensor:
        """What explores beside the policy (WORLDS, num_actions)."""
        return self.std * torch.randn(WORLDS, self._shape.num_actions, generator=self._generator)

    def show(self, observations: Tensor, actions: Tensor) -> None:
        self._shown.append((observations.clone(), actions.clone()))

    def fit(self) -> float:
        """Come closer to all that was shown; returns the last batch's squared error per state."""
        states, actions = (torch.cat(part) for part in zip(*self._shown, strict=True))
        self._seen = RunningNormalizer(1, self._shape.num_obs)
        self._seen.update(states[None])
        variance = self._seen.variance.clone()
        variance[:, ROBOT:] = variance[:, ROBOT:].clamp(min=LEAST_SPREAD**2)
        self._seen.load_state_dict(self._seen.state_dict() | {"variance": variance})
        for _ in range(FITS):
            rows = torch.randint(0, len(states), (BATCH,), generator=self._generator)
            loss = (self(states[rows]) - actions[rows]).square().sum(1).mean()
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
        return loss.item()

    def state(self) -> dict[str, object]:
        """As Learner.policy_state gives it."""
        shape = {**asdict(self._shape), "hidden": list(self._shape.hidden)}
        seen = {"observation_mean": self._seen.mean[0], "observation_variance": self._seen.variance[0]}
        return {"shape": shape, "parameters": self._flat.detach().clone(), **seen}


def imitate(path: Path, rounds: int, seed: int) -> None:
    env, policy = Environment(TASK, WORLDS, seed=seed), Imitation(seed)
    feedback = Feedback(env)
    for number in range(rounds):
        env.reset()
        stood = torch.ones(WORLDS, dtype=torch.bool)
        for _ in range(STEPS):
            actions, standing = feedback(), env.obs_buf[:, 2] > 0.8
            policy.show(env.obs_buf[standing], actions[standing])
            stood = stood & standing
            with torch.no_grad():
                env.step((actions if number == 0 else policy(env.obs_buf.clone())) + policy.noise())
        print(f"round {number + 1}: {stood.float().mean():.0%} stand after {STEPS} steps; error {policy.fit():.4f}")
    checkpoint.save_policy(path, policy.state(), task=TASK, preset=PRESET, seed=seed)


def main() -> None:
    """Imitate and write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.upright_h1", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    imitate(options.file, options.rounds, options.seed)


if __name__ == "__main__":
    main()
