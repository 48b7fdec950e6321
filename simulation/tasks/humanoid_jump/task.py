"""HumanoidJump's hidden half: reset, control and termination. There is no metric."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation.tasks.humanoid import body
from simulation.tasks.humanoid_jump.info import INFO
from simulation.tasks.humanoid_jump.observations import compute_observations
from simulation.worlds import Worlds

LEG_SENSORS = slice(18, 24)
"""Force of the ground on the right leg, then on the left, in sensordata, after the feet's."""


class Task:
    """Humanoid's body, asked to jump."""

    fields = body.FIELDS
    noise_size = body.NOISE_SIZE

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self.constants = body.constants(model, INFO.control_dt)

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 28) and qvel (n, 27) from uniform noise (n, 42)."""
        return body.start(self._qpos0, self.constants["dof_limits_lower"], self.constants["dof_limits_upper"], noise)

    def begin(self, env: Worlds) -> None:
        """Where the torso starts."""
        env.torso_position = env.start_qpos[:, 0:3]

    def control(self, env: Worlds) -> Tensor:
        """Motor controls (n, 21)."""
        return env.actions

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        body.read(env)
        legs = env.sensordata[:, LEG_SENSORS]
        env.right_leg_contact_force, env.left_leg_contact_force = legs[:, 0:3], legs[:, 3:6]
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The robot fell, (n,) bool."""
        return body.fallen(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """None: zeros (n,), and none of them counts."""
        return torch.zeros(env.num_envs), torch.zeros_like(ended)
