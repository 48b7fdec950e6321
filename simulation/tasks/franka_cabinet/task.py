"""FrankaCabinet's hidden half: reset, control, the end of an episode, metric."""

from __future__ import annotations

from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation.tasks.franka_cabinet.info import INFO
from simulation.tasks.franka_cabinet.observations import compute_observations
from simulation.worlds import Worlds

ARM_DOFS = 9
START = (1.157, -1.066, -0.155, -2.239, -1.841, 1.003, 0.469, 0.035, 0.035)
"""The arm's published start: hinges in rad, fingers in m."""
START_NOISE = 0.125
"""Hinges and fingers start uniformly within this of START, inside their limits."""
ACTION_SCALE = 7.5
FINGER_SPEED = 0.1
"""A full action moves a target by ACTION_SCALE rad/s, a finger's by a tenth of that in m/s."""
DRAWER = 3
OPEN = 0.39
"""Metres by which the top drawer must be open."""
GRIPPER_GRASP = (0.0, 0.0, 0.1034)
"""Between the finger pads, in the hand's frame; published."""
DRAWER_GRASP = (0.3, 0.0, 0.0)
"""The middle of the handle, in the drawer's frame."""


class Task:
    """FrankaCabinet as IsaacGymEnvs resets, drives and ends it."""

    fields = ("xpos", "xquat")
    noise_size = ARM_DOFS

    def __init__(self, model: mujoco.MjModel) -> None:
        bodies = [model.body(name).id for name in ("hand", "leftfinger", "rightfinger", "drawer_top")]
        # columns of all bodies' positions and quaternions: one selection costs a third of indexing and turning wxyz
        self._places = torch.tensor([3 * body + i for body in bodies for i in (0, 1, 2)])
        self._turns = torch.tensor([4 * body + i for body in bodies for i in (1, 2, 3, 0)])
        limits = torch.from_numpy(model.jnt_range[:ARM_DOFS]).float()
        self._lower, self._upper = limits[:, 0].contiguous(), limits[:, 1].contiguous()
        self._speed = torch.tensor([1.0] * 7 + [FINGER_SPEED] * 2) * ACTION_SCALE * INFO.control_dt
        self.constants: dict[str, Any] = {
            "franka_dof_lower_limits": self._lower,
            "franka_dof_upper_limits": self._upper,
            "dof_vel_scale": 0.1,
        }

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 13) and qvel (n, 13) from uniform noise (n, 9): the arm near START, the cabinet closed."""
        arm = torch.tensor(START) + 2.0 * START_NOISE * (noise - 0.5)
        qpos = torch.zeros(len(noise), 13)
        qpos[:, :ARM_DOFS] = self._within_limits(arm)
        return qpos, torch.zeros(len(noise), 13)

    def begin(self, env: Worlds) -> None:
        """The drives hold the arm where it starts."""
        env.franka_dof_targets = env.start_qpos[:, :ARM_DOFS]
        for name, vector in (
            ("gripper_forward_axis", (0.0, 0.0, 1.0)),
            ("gripper_up_axis", (0.0, 1.0, 0.0)),
            ("drawer_inward_axis", (-1.0, 0.0, 0.0)),
            ("drawer_up_axis", (0.0, 0.0, 1.0)),
            ("gripper_grasp_offset", GRIPPER_GRASP),
            ("drawer_grasp_offset", DRAWER_GRASP),
        ):
            setattr(env, name, torch.tensor(vector).repeat(env.num_envs, 1))

    def control(self, env: Worlds) -> Tensor:
        """Targets of the position drives (n, 9), which actions move."""
        targets = self._within_limits(env.franka_dof_targets + self._speed * env.actions)
        env.franka_dof_targets = targets
        return targets

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        env.franka_dof_pos, env.cabinet_dof_pos = env.qpos[:, :ARM_DOFS], env.qpos[:, ARM_DOFS:]
        env.franka_dof_vel, env.cabinet_dof_vel = env.qvel[:, :ARM_DOFS], env.qvel[:, ARM_DOFS:]
        places = env.xpos.flatten(1).index_select(1, self._places).view(env.num_envs, -1, 3).unbind(1)
        turns = env.xquat.flatten(1).index_select(1, self._turns).view(env.num_envs, -1, 4).unbind(1)
        env.hand_pos, env.franka_lfinger_pos, env.franka_rfinger_pos, env.drawer_pos = places
        env.hand_rot, env.franka_lfinger_rot, env.franka_rfinger_rot, env.drawer_rot = turns
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The drawer is open, (n,) bool: as published, what a reward would pay later is lost."""
        return env.cabinet_dof_pos[:, DRAWER] > OPEN

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """1 where the drawer is open (n,); it counts where an episode ends."""
        return self.terminated(env).float(), ended

    def _within_limits(self, dof_pos: Tensor) -> Tensor:
        return dof_pos.clamp(self._lower, self._upper)
