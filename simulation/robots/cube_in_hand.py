"""The common base of AllegroHand and ShadowHand: a cube in a hand, to be turned to one goal after another.

Episodes begin, are driven and end as in IsaacGymEnvs. The hand's hinges come first in qpos, then the cube's free joint.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.rotations import quat_conjugate, quat_mul
from simulation.worlds import Worlds

SUCCESS_RADIANS = 0.1
FALL_DISTANCE = 0.24
"""Metres between the cube and the place of its goal; an episode ends when it is farther away."""
POSITION_NOISE = 0.01
"""Metres by which a cube may begin beside its place, along each axis."""
JOINT_NOISE = 0.2
"""Part of the way to its limits that a hinge may begin away from 0."""
GOAL_BELOW_START = 0.04
"""Metres above the place of its goal at which the cube is released."""
GHOST_OFFSET = (-0.19, 0.0, 0.05)
"""Metres from the place of the goal to where a clip shows it."""
NOISE_SIZE = 7
"""Columns of noise beside those of the hinges: place of the cube 0:3, its rotation 3:5, the goal's rotation 5:7."""


class CubeInHand:
    """A hand that turns a cube. A task's `class Task` adds `observe`, and the fields that this needs."""

    fields: ClassVar[tuple[str, ...]] = ("qfrc_actuator",)

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        lower, upper = bodies.joint_limits(model)
        self._dofs = len(lower)
        self.noise_size = NOISE_SIZE + self._dofs
        self._driven = torch.from_numpy(model.actuator_trnid[:, 0].astype("int64"))
        """Which of the hinges the actuators drive, (nu,)."""
        self.constants: dict[str, Any] = {
            "shadow_hand_dof_lower_limits": lower,
            "shadow_hand_dof_upper_limits": upper,
            "vel_obs_scale": 0.2,
            "force_torque_obs_scale": 10.0,
        }

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, dofs + 7) and qvel (n, dofs + 6) from noise (n, 7 + dofs): an open hand, the cube above it.

        The cube is turned by random angles about x and y, as in IsaacGymEnvs; hinges are within their limits.
        """
        lower, upper = self.constants["shadow_hand_dof_lower_limits"], self.constants["shadow_hand_dof_upper_limits"]
        dofs = self._dofs
        qpos = self._qpos0.repeat(len(noise), 1)
        qpos[:, :dofs] = (JOINT_NOISE * (lower + (upper - lower) * noise[:, NOISE_SIZE:])).clamp(lower, upper)
        qpos[:, dofs : dofs + 3] += POSITION_NOISE * (2.0 * noise[:, :3] - 1.0)
        qpos[:, dofs + 3 :] = torch.roll(random_rotation(noise[:, 3:5]), 1, dims=-1)  # MuJoCo's wxyz
        return qpos, torch.zeros(len(noise), dofs + 6)

    def begin(self, env: Worlds) -> None:
        """A first goal, below the place where the cube is let go; no successes yet."""
        env.goal_pos = self._qpos0[self._dofs : self._dofs + 3].repeat(env.num_envs, 1)
        env.goal_pos[:, 2] -= GOAL_BELOW_START
        env.goal_rot = random_rotation(env.noise[:, 5:7])
        env.successes = torch.zeros(env.num_envs)

    def control(self, env: Worlds) -> Tensor:
        """Angles in rad (n, nu) between the limits of the driven hinges, as the actions say.

        Goals that were reached in the step before are counted and replaced first.
        """
        env.successes = env.successes + env.reached.float()
        env.goal_rot = torch.where(env.reached.unsqueeze(-1), random_rotation(env.noise[:, 5:7]), env.goal_rot)
        lower = env.shadow_hand_dof_lower_limits[self._driven]
        upper = env.shadow_hand_dof_upper_limits[self._driven]
        return lower + (upper - lower) * 0.5 * (env.actions + 1.0)

    def read(self, env: Worlds) -> None:
        """Set the variables of the state reached that both hands have."""
        dofs = self._dofs
        env.shadow_hand_dof_pos, env.shadow_hand_dof_vel = env.qpos[:, :dofs], env.qvel[:, :dofs]
        env.dof_force_tensor = env.qfrc_actuator[:, :dofs]
        cube = bodies.root_states(env.qpos[:, dofs:], env.qvel[:, dofs:])
        env.object_pose, env.object_pos, env.object_rot = cube[:, 0:7], cube[:, 0:3], cube[:, 3:7]
        env.object_linvel, env.object_angvel = cube[:, 7:10], cube[:, 10:13]
        env.goal_pose = torch.cat((env.goal_pos, env.goal_rot), dim=-1)
        env.reached = at_goal(env.object_rot, env.goal_rot) & (env.progress_buf > 0)

    def terminated(self, env: Worlds) -> Tensor:
        """The cube is far from the place of its goal, (n,) bool."""
        far: Tensor = torch.linalg.vector_norm(env.object_pos - env.goal_pos, dim=-1) >= FALL_DISTANCE
        return far

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Goals reached one after another in an episode (n,); they count when it has ended (n,)."""
        return env.successes + env.reached.float(), ended

    def mocap(self, env: Worlds) -> Tensor:
        """Where a clip shows the goal, (n, 1, 7): turned as the cube should be, beside the hand."""
        place = env.goal_pos + env.goal_pos.new_tensor(GHOST_OFFSET)
        return torch.cat((place, env.goal_rot), dim=-1).unsqueeze(1)


def random_rotation(noise: Tensor) -> Tensor:
    """Rx(a) Ry(b) for angles a, b uniform in [-pi, pi), from noise (n, 2) in [0, 1), as quaternions xyzw (n, 4)."""
    half = math.pi * (noise.double() - 0.5)  # float64, as in rotations.atan2
    (sin_a, sin_b), (cos_a, cos_b) = torch.sin(half).unbind(-1), torch.cos(half).unbind(-1)
    return torch.stack((sin_a * cos_b, cos_a * sin_b, sin_a * sin_b, cos_a * cos_b), dim=-1).to(noise.dtype)


def at_goal(rotation: Tensor, goal: Tensor) -> Tensor:
    """Whether quaternions xyzw (n, 4) are within 0.1 rad of their goals (n, 4), (n,) bool.

    The angle between them is 2 asin |vec(q conj(g))|.
    """
    difference = quat_mul(rotation, quat_conjugate(goal))
    near: Tensor = torch.linalg.vector_norm(difference[:, :3], dim=-1) <= math.sin(SUCCESS_RADIANS / 2)
    return near
