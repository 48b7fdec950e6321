"""Rewards in the style of published, generated ones, for the tasks with two hands."""


def write_pair(first: str, second: str, gap: str) -> dict[str, str]:
    """Two rewards: the right hand goes to `first`, the left hand to `second`, and `gap` gets small."""
    names = {part.split("[")[0].split(".")[0].strip("() ") for part in (first, second, *gap.split(" - "))}
    arguments = ", ".join(f"{name}: Tensor" for name in sorted(names))
    summed = f"""
import torch
from torch import Tensor
from typing import Dict, Tuple

@torch.jit.script
def compute_reward(fingertip_pos: Tensor, fingertip_another_pos: Tensor, {arguments}, actions: Tensor,
                   ) -> Tuple[Tensor, Dict[str, Tensor]]:
    right_dist = torch.sum(torch.norm(fingertip_pos - {first}.unsqueeze(1), p=2, dim=-1), dim=-1)
    left_dist = torch.sum(torch.norm(fingertip_another_pos - {second}.unsqueeze(1), p=2, dim=-1), dim=-1)
    reach = 6.0 - right_dist - left_dist
    distance = torch.norm({gap}, p=2, dim=-1)
    success = torch.where(distance < 0.05, torch.ones_like(distance), torch.zeros_like(distance))
    cost = -0.0002 * torch.sum(actions ** 2, dim=-1)
    total_reward = reach - 2.0 * distance + 10.0 * success + cost
    return total_reward, {{"reach": reach, "distance": distance, "success": success, "cost": cost}}
"""
    exponential = f"""
import torch
def compute_reward(right_hand_pos, left_hand_pos, right_hand_ff_pos, left_hand_th_pos, {", ".join(sorted(names))},
                   shadow_hand_dof_vel, shadow_hand_another_dof_vel):
    right = torch.exp(-5.0 * torch.norm(right_hand_pos - {first}, dim=-1))
    left = torch.exp(-5.0 * torch.norm(left_hand_pos - {second}, dim=-1))
    near = torch.exp(-10.0 * torch.norm({gap}, dim=-1))
    tips = torch.exp(-torch.norm(right_hand_ff_pos - left_hand_th_pos, dim=-1))
    calm = -0.001 * torch.mean(shadow_hand_dof_vel ** 2 + shadow_hand_another_dof_vel ** 2, dim=-1)
    return right + left + 4.0 * near + 0.1 * tips + calm, {{"right": right, "left": left, "near": near, "calm": calm}}
"""
    return {"summed": summed, "exponential": exponential}


GOOD = {
    "BlockStack": write_pair("block_right_handle_pos", "block_left_handle_pos", "block_left_handle_pos - goal_pos"),
    "BottleCap": write_pair("bottle_cap_pos", "bottle_pos", "bottle_cap_up - bottle_cap_pos"),
    "CatchAbreast": write_pair("object_pos", "goal_pos", "object_pos - goal_pos"),
    "CatchUnderarm": write_pair("goal_pos", "object_pos", "goal_pos - object_pos"),
    "DoorCloseOutward": write_pair(
        "door_right_handle_pos", "door_left_handle_pos", "door_right_handle_pos - door_left_handle_pos"
    ),
    "GraspAndPlace": write_pair(
        "block_right_handle_pos", "block_left_handle_pos", "block_right_handle_pos - block_left_handle_pos"
    ),
    "Kettle": write_pair("kettle_handle_pos", "bucket_handle_pos", "kettle_spout_pos - bucket_handle_pos"),
    "LiftUnderarm": write_pair("pot_right_handle_pos", "pot_left_handle_pos", "object_pos - goal_pos"),
    "SwingCup": write_pair("cup_right_handle_pos", "cup_left_handle_pos", "object_rot - goal_rot"),
    "Over": write_pair("object_pos", "goal_pos", "object_pos - goal_pos"),
}
