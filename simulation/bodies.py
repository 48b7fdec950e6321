"""From MuJoCo's generalised coordinates to the tensors of the tasks' interface."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation.rotations import quat_to_matrix


def root_states(qpos: Tensor, qvel: Tensor) -> Tensor:
    """The floating base (n, 13) in the world frame: position, quaternion xyzw, linear velocity, angular velocity.

    MuJoCo's free joint keeps the quaternion wxyz and the angular velocity in the body's frame.
    """
    quaternion = torch.cat((qpos[:, 4:7], qpos[:, 3:4]), dim=-1)
    # most observations need the matrix too, and an operation that is used twice costs little the second time
    angular = torch.bmm(quat_to_matrix(quaternion), qvel[:, 3:6].unsqueeze(-1)).squeeze(-1)
    return torch.cat((qpos[:, 0:3], quaternion, qvel[:, 0:3], angular), dim=-1)


def contact_wrenches(sensors: Tensor, centres: Tensor) -> Tensor:
    """The ground's effect on k bodies (n, 6k): per body force in N and torque in Nm about its centre, world frame.

    `sensors` (n, 9k) are readings of <contact reduce="netforce" data="force torque pos"/> with the ground first,
    `centres` (n, k, 3) the points that the torques are taken about.
    """
    force, torque, position = sensors.view(*centres.shape[:2], 3, 3).unbind(2)
    moment = torque + torch.linalg.cross(position - centres, force)
    return torch.cat((force, moment), dim=-1).flatten(1)


def joint_limits(model: mujoco.MjModel) -> tuple[Tensor, Tensor]:
    """Lower and upper limits in rad of every hinge, in joint order, each (dofs,)."""
    hinges = model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
    limits = torch.from_numpy(model.jnt_range[hinges]).float()
    return limits[:, 0].contiguous(), limits[:, 1].contiguous()
