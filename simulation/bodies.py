"""From MuJoCo's generalised coordinates to the tensors of the tasks' interface."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation.rotations import quat_rotate, wxyz_to_xyzw


def root_states(qpos: Tensor, qvel: Tensor) -> Tensor:
    """The floating base (n, 13) in the world frame: position, quaternion xyzw, linear velocity, angular velocity.

    MuJoCo's free joint keeps the quaternion wxyz and the angular velocity in the body's frame.
    """
    quaternion = wxyz_to_xyzw(qpos[:, 3:7])
    angular = quat_rotate(quaternion, qvel[:, 3:6])
    return torch.cat((qpos[:, 0:3], quaternion, qvel[:, 0:3], angular), dim=-1)


def joint_limits(model: mujoco.MjModel) -> tuple[Tensor, Tensor]:
    """Lower and upper limits in rad of every hinge, in joint order, each (dofs,)."""
    hinges = model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
    limits = torch.from_numpy(model.jnt_range[hinges]).float()
    return limits[:, 0].contiguous(), limits[:, 1].contiguous()
