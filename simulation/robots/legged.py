"""The common base of the tasks of the ant and of the humanoid: joints, reset, sensors, fall; and running."""

from __future__ import annotations

from typing import Any, ClassVar

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.catalog import TaskInfo
from simulation.worlds import Worlds

FAR_AHEAD = (1000.0, 0.0, 0.0)
"""Metres: the point that a runner is to reach."""


class LeggedRobot:
    """A robot with a free torso, hinges and feet on flat ground. A task's `class Task` sets `info`.

    All hinges are driven by motors, and a site stands at each foot's centre, where its contact sensor is read.
    """

    info: ClassVar[TaskInfo]
    scales: ClassVar[dict[str, float]]
    """Constants by which observations are scaled."""
    termination_height: ClassVar[float]
    """Metres; a robot whose torso's centre is lower has fallen."""
    fields: ClassVar[tuple[str, ...]] = ("sensordata", "site_xpos")

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        lower, upper = bodies.joint_limits(model)
        self.noise_size = 2 * len(lower)
        self.constants: dict[str, Any] = {
            "dof_limits_lower": lower,
            "dof_limits_upper": upper,
            "dt": self.info.control_dt,
            **self.scales,
        }

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 7 + dofs) and qvel (n, 6 + dofs) from uniform noise (n, 2 dofs): on its feet, facing x.

        Hinges are within 0.2 rad of 0, inside their limits, and turn at up to 0.1 rad/s.
        """
        lower, upper = self.constants["dof_limits_lower"], self.constants["dof_limits_upper"]
        dofs = len(lower)
        rest = torch.zeros(dofs).clamp(lower, upper)
        qpos = self._qpos0.repeat(len(noise), 1)
        qpos[:, 7:] = (rest + 0.4 * (noise[:, :dofs] - 0.5)).clamp(lower, upper)
        qvel = torch.zeros(len(noise), 6 + dofs)
        qvel[:, 6:] = 0.2 * (noise[:, dofs:] - 0.5)
        return qpos, qvel

    def begin(self, env: Worlds) -> None:
        """Nothing is remembered over an episode."""

    def control(self, env: Worlds) -> Tensor:
        """Motor controls (n, dofs)."""
        return env.actions

    def read(self, env: Worlds) -> None:
        """Set the variables of the state reached that the physics gives: torso, hinges, feet."""
        env.root_states = bodies.root_states(env.qpos, env.qvel)
        env.dof_pos, env.dof_vel = env.qpos[:, 7:], env.qvel[:, 6:]
        feet = env.sensordata[:, : 9 * env.site_xpos.shape[1]]
        env.vec_sensor_tensor = bodies.contact_wrenches(feet, env.site_xpos)

    def terminated(self, env: Worlds) -> Tensor:
        """The robot fell, (n,) bool."""
        return env.root_states[:, 2] < self.termination_height


class Ant(LeggedRobot):
    """The four-legged robot with eight hinges."""

    scales = {"dof_vel_scale": 0.2, "contact_force_scale": 0.1}
    termination_height = 0.31


class Humanoid(LeggedRobot):
    """The two-legged robot with 21 hinges, whose torso's centre is at 1.28 m when it stands."""

    scales = {"dof_vel_scale": 0.1, "contact_force_scale": 0.01, "angular_velocity_scale": 0.25}
    termination_height = 0.8
    fields = ("sensordata", "qfrc_actuator", "site_xpos")

    def read(self, env: Worlds) -> None:
        """Set the variables of the state reached that the physics gives: torso, hinges, motors, feet."""
        super().read(env)
        env.dof_force_tensor = env.qfrc_actuator[:, 6:]


class ForwardRun(LeggedRobot):
    """Running ahead, as IsaacGymEnvs measures it."""

    def begin(self, env: Worlds) -> None:
        """Set what lasts for an episode, and the potential at its start."""
        env.targets = torch.tensor(FAR_AHEAD).repeat(env.num_envs, 1)
        env.inv_start_rot = torch.tensor((0.0, 0.0, 0.0, 1.0)).repeat(env.num_envs, 1)
        start = torch.linalg.vector_norm(env.targets[:, :2] - env.start_qpos[:, :2], dim=-1)
        env.potentials = -start / self.info.control_dt

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Forward progress in m/s (n,); it counts in every step."""
        return env.potentials - env.prev_potentials, torch.ones_like(ended)
