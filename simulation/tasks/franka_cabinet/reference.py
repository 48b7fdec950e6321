import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    franka_grasp_pos: Tensor,
    franka_grasp_rot: Tensor,
    drawer_grasp_pos: Tensor,
    drawer_grasp_rot: Tensor,
    franka_lfinger_pos: Tensor,
    franka_rfinger_pos: Tensor,
    cabinet_dof_pos: Tensor,
    gripper_forward_axis: Tensor,
    drawer_inward_axis: Tensor,
    gripper_up_axis: Tensor,
    drawer_up_axis: Tensor,
    actions: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    zero = torch.zeros_like(cabinet_dof_pos[:, 3])

    # the gripper is near the handle
    distance = torch.norm(franka_grasp_pos - drawer_grasp_pos, dim=-1)
    near = torch.square(1.0 / (1.0 + torch.square(distance)))
    approach = 2.0 * torch.where(distance <= 0.02, 2.0 * near, near)

    # its fingers point into the cabinet, one above the other
    forward = torch.sum(
        quat_rotate(franka_grasp_rot, gripper_forward_axis) * quat_rotate(drawer_grasp_rot, drawer_inward_axis), dim=-1
    )
    upright = torch.sum(
        quat_rotate(franka_grasp_rot, gripper_up_axis) * quat_rotate(drawer_grasp_rot, drawer_up_axis), dim=-1
    )
    alignment = 0.25 * (torch.sign(forward) * torch.square(forward) + torch.sign(upright) * torch.square(upright))

    # the handle is between the fingers, and they close on it
    above = franka_lfinger_pos[:, 2] - drawer_grasp_pos[:, 2]
    below = drawer_grasp_pos[:, 2] - franka_rfinger_pos[:, 2]
    around = 0.5 * ((above > 0.0) & (below > 0.0)).float()
    fingers_around = 0.25 * around
    finger_distance = 5.0 * torch.where(around > 0.0, 0.08 - above - below, zero)

    # the drawer opens, more so when held
    opened = cabinet_dof_pos[:, 3]
    opening = 7.5 * opened * (1.0 + around)
    bonus = 0.5 * (opened > 0.01).float() + around * (opened > 0.2).float() + 2.0 * around * (opened > 0.39).float()

    action_cost = -0.01 * torch.sum(torch.square(actions), dim=-1)

    total_reward = approach + alignment + fingers_around + finger_distance + opening + bonus + action_cost
    past = torch.minimum(franka_lfinger_pos[:, 0], franka_rfinger_pos[:, 0]) < drawer_grasp_pos[:, 0] - 0.04
    total_reward = torch.where(past, torch.full_like(total_reward, -1.0), total_reward)
    return total_reward, {
        "approach": approach,
        "alignment": alignment,
        "fingers_around": fingers_around,
        "finger_distance": finger_distance,
        "opening": opening,
        "bonus": bonus,
        "action_cost": action_cost,
    }
