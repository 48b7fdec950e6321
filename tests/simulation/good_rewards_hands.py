"""Rewards for the hands in the style of published, generated ones (see good_rewards.py)."""

BOTH = {
    "rotation_temperature": '''
import math
import torch
from torch import Tensor
from typing import Tuple, Dict

@torch.jit.script
def compute_reward(object_rot: Tensor, goal_rot: Tensor, object_pos: Tensor, goal_pos: Tensor,
                   object_angvel: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    """Closeness in rotation, a bonus at the goal, staying in place."""
    rotation_temperature: float = 5.0
    difference = quat_mul(object_rot, quat_conjugate(goal_rot))
    angle = 2.0 * torch.asin(torch.clamp(torch.norm(difference[:, 0:3], p=2, dim=-1), max=1.0))
    rotation_reward = torch.exp(-rotation_temperature * (angle / math.pi))
    bonus = torch.where(angle < 0.1, torch.tensor(10.0, device=angle.device), torch.tensor(0.0, device=angle.device))
    position_penalty = -torch.norm(object_pos - goal_pos, p=2, dim=-1)
    spin_penalty = -0.01 * torch.tanh(torch.norm(object_angvel, dim=-1))
    total_reward = rotation_reward + bonus + position_penalty + spin_penalty
    return total_reward, {"rotation_reward": rotation_reward, "bonus": bonus,
                          "position_penalty": position_penalty, "spin_penalty": spin_penalty}
''',
    "poses_and_hinges": """
from typing import Dict, Tuple
import torch
def compute_reward(object_pose: torch.Tensor, goal_pose: torch.Tensor, object_linvel: torch.Tensor,
                   shadow_hand_dof_pos: torch.Tensor, shadow_hand_dof_vel: torch.Tensor,
                   shadow_hand_dof_lower_limits: torch.Tensor, shadow_hand_dof_upper_limits: torch.Tensor,
                   dof_force_tensor: torch.Tensor, actions: torch.Tensor):
    aligned = torch.sum(object_pose[:, 3:7] * goal_pose[:, 3:7], dim=-1) ** 2
    distance = torch.norm(object_pose[:, :3] - goal_pose[:, :3], dim=-1)
    middle = 0.5 * (shadow_hand_dof_upper_limits + shadow_hand_dof_lower_limits)
    bent = torch.mean(torch.abs(shadow_hand_dof_pos - middle), dim=-1)
    effort = torch.sum(dof_force_tensor ** 2, dim=-1) + 0.01 * torch.sum(shadow_hand_dof_vel ** 2, dim=-1)
    calm = torch.exp(-torch.norm(object_linvel, dim=-1) / 0.2)
    cost = 0.1 * bent + 0.001 * effort + 0.0002 * torch.sum(actions ** 2, dim=-1)
    total = 2.0 * aligned - 5.0 * distance - cost + 0.1 * calm
    return total, {"aligned": aligned, "distance": distance, "calm": calm}
""",
}

SHADOW_ONLY = {
    "fingertips": """
import torch
from typing import Tuple, Dict
from torch import Tensor
@torch.jit.script
def compute_reward(object_pos: Tensor, object_rot: Tensor, goal_rot: Tensor, fingertip_pos: Tensor,
                   fingertip_state: Tensor, vec_sensor_tensor: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    grasp_temperature = 0.05
    reach = torch.norm(fingertip_pos - object_pos.unsqueeze(1), dim=-1)
    grasp_reward = torch.exp(-reach.mean(dim=1) / grasp_temperature)
    tip_speed = torch.norm(fingertip_state[:, :, 7:10], dim=-1).max(dim=1)[0]
    touch = torch.norm(vec_sensor_tensor.view(-1, 5, 6)[:, :, 0:3], dim=-1)
    touching = (touch > 0.05).float().sum(dim=-1)
    error = quat_diff_rad(object_rot, goal_rot)
    rotation_reward = 1.0 / (torch.abs(error) + 0.1)
    total = rotation_reward + 0.5 * grasp_reward + 0.1 * touching - 0.01 * tip_speed
    return total, {"rotation_reward": rotation_reward, "grasp_reward": grasp_reward, "touching": touching}
""",
}

GOOD = {"AllegroHand": BOTH, "ShadowHand": BOTH | SHADOW_ONLY}
