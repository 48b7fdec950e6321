"""Rewards for Anymal and FrankaCabinet in the style of published, generated ones."""

ANYMAL = {
    "tracking": '''
import torch
from torch import Tensor
from typing import Tuple, Dict

@torch.jit.script
def compute_reward(root_states: Tensor, commands_x: Tensor, commands_y: Tensor, commands_yaw: Tensor, dof_pos: Tensor,
                   default_dof_pos: Tensor, dof_vel: Tensor, gravity_vec: Tensor, contact_forces: Tensor,
                   lin_vel_scale: float, dof_vel_scale: float) -> Tuple[Tensor, Dict[str, Tensor]]:
    """Follow the command with an upright base and quiet joints."""
    base_quat = root_states[:, 3:7]
    lin_vel = quat_rotate_inverse(base_quat, root_states[:, 7:10])
    ang_vel = quat_rotate_inverse(base_quat, root_states[:, 10:13])
    lin_vel_temperature: float = 0.5
    ang_vel_temperature: float = 0.3
    error_x = torch.abs(commands_x - lin_vel[:, 0]) * lin_vel_scale
    error_y = torch.abs(commands_y - lin_vel[:, 1]) * lin_vel_scale
    lin_vel_reward = torch.exp(-(error_x + error_y) / lin_vel_temperature)
    ang_vel_reward = torch.exp(-torch.abs(commands_yaw - ang_vel[:, 2]) / ang_vel_temperature)
    projected_gravity = quat_rotate_inverse(base_quat, gravity_vec)
    tilt_penalty = -torch.sum(torch.square(projected_gravity[:, :2]), dim=1)
    posture_penalty = -0.02 * torch.sum((dof_pos - default_dof_pos) ** 2, dim=-1)
    motion_penalty = -0.01 * torch.norm(dof_vel * dof_vel_scale, dim=-1)
    feet = torch.norm(contact_forces[:, [3, 6, 9, 12], :], dim=-1) > 1.0
    support = 0.05 * feet.float().sum(dim=-1)
    total_reward = lin_vel_reward + 0.5 * ang_vel_reward + tilt_penalty + posture_penalty + motion_penalty + support
    return total_reward, {"lin_vel_reward": lin_vel_reward, "ang_vel_reward": ang_vel_reward, "support": support,
                          "tilt_penalty": tilt_penalty, "posture_penalty": posture_penalty,
                          "motion_penalty": motion_penalty}
''',
    "torque": """
def compute_reward(root_states, commands, torques, actions):
    base_lin_vel = quat_rotate_inverse(root_states[:, 3:7], root_states[:, 7:10])
    error = torch.norm(commands[:, :2] - base_lin_vel[:, :2], p=2, dim=-1)
    tracking = 1.0 / (1.0 + error ** 2)
    effort = -1e-5 * (torques ** 2).sum(dim=1) - 0.001 * (actions ** 2).sum(dim=1)
    return tracking + effort, {"tracking": tracking, "effort": effort}
""",
}

FRANKA_CABINET = {
    "isaac": """
from typing import Tuple, Dict
import torch
from torch import Tensor

@torch.jit.script
def compute_reward(franka_grasp_pos: Tensor, drawer_grasp_pos: Tensor, franka_grasp_rot: Tensor,
                   drawer_grasp_rot: Tensor, franka_lfinger_pos: Tensor, franka_rfinger_pos: Tensor,
                   gripper_forward_axis: Tensor, drawer_inward_axis: Tensor, gripper_up_axis: Tensor,
                   drawer_up_axis: Tensor, cabinet_dof_pos: Tensor,
                   actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    num_envs = franka_grasp_pos.shape[0]
    d = torch.norm(franka_grasp_pos - drawer_grasp_pos, p=2, dim=-1)
    dist_reward = 1.0 / (1.0 + d ** 2)
    dist_reward = torch.where(d <= 0.02, dist_reward * 2, dist_reward)
    axis1 = tf_vector(franka_grasp_rot, gripper_forward_axis)
    axis2 = tf_vector(drawer_grasp_rot, drawer_inward_axis)
    axis3 = tf_vector(franka_grasp_rot, gripper_up_axis)
    axis4 = tf_vector(drawer_grasp_rot, drawer_up_axis)
    dot1 = torch.bmm(axis1.view(num_envs, 1, 3), axis2.view(num_envs, 3, 1)).squeeze(-1).squeeze(-1)
    dot2 = torch.bmm(axis3.view(num_envs, 1, 3), axis4.view(num_envs, 3, 1)).squeeze(-1).squeeze(-1)
    rot_reward = 0.5 * (torch.sign(dot1) * dot1 ** 2 + torch.sign(dot2) * dot2 ** 2)
    around = torch.zeros_like(rot_reward)
    around = torch.where(franka_lfinger_pos[:, 2] > drawer_grasp_pos[:, 2],
                         torch.where(franka_rfinger_pos[:, 2] < drawer_grasp_pos[:, 2], around + 0.5, around), around)
    open_reward = cabinet_dof_pos[:, 3] * around + cabinet_dof_pos[:, 3]
    action_penalty = torch.sum(actions ** 2, dim=-1)
    rewards = 2.0 * dist_reward + 0.5 * rot_reward + 0.25 * around + 7.5 * open_reward - 0.01 * action_penalty
    rewards = torch.where(cabinet_dof_pos[:, 3] > 0.39, rewards + 2.0 * around, rewards)
    return rewards, {"dist_reward": dist_reward, "rot_reward": rot_reward, "around": around,
                     "open_reward": open_reward, "action_penalty": action_penalty}
""",
    "smooth": """
def compute_reward(franka_grasp_pos, drawer_grasp_pos, cabinet_dof_pos, cabinet_dof_vel, franka_dof_pos, franka_dof_vel,
                   franka_dof_lower_limits, franka_dof_upper_limits):
    reach_temperature = 0.1
    distance = (franka_grasp_pos - drawer_grasp_pos).norm(dim=-1)
    reach = torch.exp(-distance / reach_temperature)
    opening = torch.clamp(cabinet_dof_pos[:, 3] / 0.4, 0.0, 1.0)
    pulling = torch.tanh(cabinet_dof_vel[:, 3])
    span = franka_dof_upper_limits - franka_dof_lower_limits
    place = (franka_dof_pos - franka_dof_lower_limits) / span
    limits = -0.05 * ((place < 0.02) | (place > 0.98)).float().mean(dim=-1)
    smooth = -0.001 * franka_dof_vel.square().sum(dim=-1)
    total = reach + 5.0 * opening + 0.5 * pulling + limits + smooth
    return total, {"reach": reach, "opening": opening, "pulling": pulling, "limits": limits, "smooth": smooth}
""",
}

GOOD = {"Anymal": ANYMAL, "FrankaCabinet": FRANKA_CABINET}
