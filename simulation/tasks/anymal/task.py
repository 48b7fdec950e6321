"""Anymal's hidden half: reset, control, termination, metric, and the arrow that shows the command."""

from __future__ import annotations

from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.rotations import quat_rotate_inverse
from simulation.tasks.anymal.info import BODY_NAMES, LEGS
from simulation.tasks.anymal.observations import compute_observations
from simulation.worlds import Worlds

STANDING = {"HAA": 0.03, "HFE": 0.4, "KFE": -0.8}
"""Hinge angles in rad of the left fore leg; abduction changes sign on the right, the others at the hind legs."""
ACTION_SCALE = 0.5
"""Radians that a full action moves a hinge's target from its standing angle."""
COMMAND_RANGES = (2.0, 1.0, 1.0)
"""Commands are uniform within +- these: x and y in m/s, yaw rate in rad/s."""
FALL_FORCE = 1.0
"""Newtons; more on the base or on a knee ends the episode."""
ARROW_SECONDS, ARROW_HEIGHT = 0.6, 0.95
"""The arrow is the way that the command goes in this time, drawn at this height in m."""
ARROW_PARTS = 6
COMMAND_NOISE, ANGLE_NOISE, VELOCITY_NOISE = slice(2, 5), slice(5, 17), slice(17, 29)
"""Columns of the noise. With these the filmed episode (trainer.rollouts) asks for 1.4 m/s ahead, 0.6 to the left and
0.6 rad/s, which a robot that only walks straight fails."""

FALLEN_BODIES = [0, *(BODY_NAMES.index(f"{leg}_THIGH") for leg in LEGS)]
SENSED_BODIES = [index for index, name in enumerate(BODY_NAMES) if not name.endswith("HIP")]


class Task:
    """Anymal as IsaacGymEnvs resets, drives and ends it."""

    fields = ("sensordata", "actuator_force")
    noise_size = 29

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        fore, left = (torch.tensor([leg[at] == side for leg in LEGS]) * 2.0 - 1.0 for at, side in ((1, "F"), (0, "L")))
        angles = (STANDING["HAA"] * left, STANDING["HFE"] * fore, STANDING["KFE"] * fore)
        self._standing = torch.stack(angles, dim=1).flatten()
        self.constants: dict[str, Any] = {
            "lin_vel_scale": 2.0,
            "ang_vel_scale": 0.25,
            "dof_pos_scale": 1.0,
            "dof_vel_scale": 0.05,
        }

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 19) and qvel (n, 18) from uniform noise (n, 29).

        Hinges are at 0.5 to 1.5 times their standing angles and turn at up to 0.1 rad/s.
        """
        qpos = self._qpos0.repeat(len(noise), 1)
        qpos[:, 7:] = self._standing * (0.5 + noise[:, ANGLE_NOISE])
        qvel = torch.zeros(len(noise), 18)
        qvel[:, 6:] = 0.2 * (noise[:, VELOCITY_NOISE] - 0.5)
        return qpos, qvel

    def begin(self, env: Worlds) -> None:
        """Set the episode's command and the constants."""
        env.commands = (2.0 * env.noise[:, COMMAND_NOISE] - 1.0) * torch.tensor(COMMAND_RANGES)
        env.commands_x, env.commands_y, env.commands_yaw = env.commands.unbind(1)
        env.default_dof_pos = self._standing.repeat(env.num_envs, 1)
        env.gravity_vec = torch.tensor((0.0, 0.0, -1.0)).repeat(env.num_envs, 1)

    def control(self, env: Worlds) -> Tensor:
        """Targets of the position drives (n, 12) in rad."""
        return self._standing + ACTION_SCALE * env.actions

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        env.root_states = bodies.root_states(env.qpos, env.qvel)
        env.dof_pos, env.dof_vel = env.qpos[:, 7:], env.qvel[:, 6:]
        env.torques = env.actuator_force
        forces = torch.zeros(env.num_envs, len(BODY_NAMES), 3)
        forces[:, SENSED_BODIES] = env.sensordata.view(env.num_envs, -1, 3)
        env.contact_forces = forces
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The base or a knee touches the ground, (n,) bool."""
        forces: Tensor = torch.linalg.vector_norm(env.contact_forces[:, FALLEN_BODIES], dim=-1)
        return (forces > FALL_FORCE).any(1)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Minus the squared velocity errors (n,) in the base's frame; it counts in every step."""
        quat = env.root_states[:, 3:7]
        linear = quat_rotate_inverse(quat, env.root_states[:, 7:10])[:, :2]
        yaw_rate = quat_rotate_inverse(quat, env.root_states[:, 10:13])[:, 2]
        error = (env.commands[:, :2] - linear).square().sum(1) + (env.commands[:, 2] - yaw_rate).square()
        return -error, torch.ones_like(ended)

    def mocap(self, env: Worlds) -> Tensor:
        """The command as an arrow above the robot (n, 6, 7): pieces along its way, the last one the head.

        A body that moves with velocity v in its own frame and turns at rate w is, after time t, at
        v_parallel sin(w t) / w + v_left (1 - cos(w t)) / w from where it began, turned by w t.
        """
        seconds = ARROW_SECONDS * torch.arange(1, ARROW_PARTS + 1) / ARROW_PARTS
        turned = env.commands[:, 2:3] * seconds
        x, y = env.commands[:, 0:1], env.commands[:, 1:2]
        # sin(a)/a and (1 - cos(a))/a, finite at 0
        along, aside = torch.sinc(turned / torch.pi), turned / 2 * torch.sinc(turned / (2 * torch.pi)).square()
        ahead, left = seconds * (x * along - y * aside), seconds * (y * along + x * aside)
        q = env.root_states[:, 3:7]
        yaw = torch.atan2(2 * (q[:, 3] * q[:, 2] + q[:, 0] * q[:, 1]), 1 - 2 * (q[:, 1] ** 2 + q[:, 2] ** 2))[:, None]
        position = env.root_states[:, None, 0:3].repeat(1, ARROW_PARTS, 1)
        position[..., 0] += ahead * yaw.cos() - left * yaw.sin()
        position[..., 1] += ahead * yaw.sin() + left * yaw.cos()
        position[..., 2] = ARROW_HEIGHT
        heading = (yaw + turned + torch.atan2(y, x)) / 2
        quat = torch.stack((torch.zeros_like(heading), torch.zeros_like(heading), heading.sin(), heading.cos()), dim=-1)
        return torch.cat((position, quat), dim=-1)
