"""HumanoidDoor's hidden half: start, end, success."""

from __future__ import annotations

from typing import ClassVar

import mujoco
from torch import Tensor

from simulation.robots.h1 import H1, JOINTS
from simulation.tasks.humanoid_door.observations import compute_observations
from simulation.worlds import Worlds

OUTSIDE = 1.2
"""Metres along x, 0.4 beyond the middle of the door, where the chest of a robot is that walked out."""


class Task(H1):
    """A closed door before the robot. Who has walked out goes on."""

    fields = (*H1.fields, "xpos")
    lowest: ClassVar[float] = 0.58

    def __init__(self, model: mujoco.MjModel) -> None:
        super().__init__(model)
        self._hatch = model.body("door_hatch").id

    def place(self, qpos: Tensor, qvel: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Door and handle begin within 0.01 rad of closed."""
        qpos[:, 7 + JOINTS :] = qpos[:, 7 + JOINTS :].clamp(min=0.0)
        return qpos, qvel

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        env.door_hinge, env.door_hatch_hinge = env.qpos[:, -2], env.qpos[:, -1]
        env.door_hinge_velocity, env.door_hatch_hinge_velocity = env.qvel[:, -2], env.qvel[:, -1]
        env.door_hatch_position = env.xpos[:, self._hatch]
        env.imu_position = self.site(env, "imu")
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The chest is outside, (n,) bool."""
        return env.imu_position[:, 0] > OUTSIDE

    def terminated(self, env: Worlds) -> Tensor:
        """The robot fell, (n,) bool."""
        return env.root_states[:, 2] < self.lowest
