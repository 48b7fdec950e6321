"""AllegroHand's hidden half: reset, control, termination and metric."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation import hands
from simulation.tasks.allegro_hand.observations import compute_observations
from simulation.worlds import Worlds

DOFS = 16


class Task:
    """AllegroHand as IsaacGymEnvs resets, drives, ends and measures it."""

    fields = ("qfrc_actuator",)
    noise_size = hands.NOISE_SIZE + DOFS

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self.constants = hands.constants(model)
        self._driven = hands.driven(model)

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 23) and qvel (n, 22) from uniform noise (n, 23)."""
        return hands.start(self._qpos0, self.constants, noise)

    def begin(self, env: Worlds) -> None:
        """A first goal."""
        hands.begin(env, self._qpos0[DOFS : DOFS + 3])

    def control(self, env: Worlds) -> Tensor:
        """Angles that the hinges are driven to (n, 16), after a new goal where the last one was reached."""
        hands.renew_goals(env)
        return hands.joint_targets(env, self._driven)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        hands.read(env)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The cube was dropped, (n,) bool."""
        return hands.dropped(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Consecutive successes of the episodes that ended."""
        return hands.successes(env, ended)

    def mocap(self, env: Worlds) -> Tensor:
        """The goal as clips show it (n, 1, 7)."""
        return hands.ghost(env)
