"""Rewards in the style of published, generated ones, for the tasks of the H1."""


def write_pair(hand: str, gap: str) -> dict[str, str]:
    """Two rewards: the left hand goes to the place `hand`, and the distance `gap` gets small."""
    names = {part.split("[")[0].split(".")[0] for part in (hand, *gap.split(" - "))} & set(ARGUMENTS)
    arguments = ", ".join(f"{name}: Tensor" for name in sorted(names))
    staged = f"""
import torch
from torch import Tensor
from typing import Dict, Tuple

@torch.jit.script
def compute_reward(root_states: Tensor, torso_upright: Tensor, joint_velocities: Tensor, left_hand_position: Tensor,
                   {arguments}, actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    balance = torch.clamp(torso_upright, 0.0, 1.0) * torch.sigmoid(10.0 * (root_states[:, 2] - 0.7))
    reach = 1.0 / (1.0 + torch.norm(left_hand_position - {hand}, p=2, dim=-1))
    distance = torch.norm({gap}, p=2, dim=-1)
    task = torch.exp(-4.0 * distance)
    bonus = torch.where(distance < 0.1, 10.0 * torch.ones_like(distance), torch.zeros_like(distance))
    cost = -0.001 * torch.sum(actions ** 2, dim=-1) - 1e-4 * torch.sum(joint_velocities ** 2, dim=-1)
    total_reward = 0.2 * balance + 0.3 * reach + task + bonus + cost
    return total_reward, {{"balance": balance, "reach": reach, "task": task, "bonus": bonus, "cost": cost}}
"""
    plain = f"""
import torch
def compute_reward(head_height, left_hand_position, right_hand_position, left_hand_velocity, actuator_forces,
                   joint_angles, default_joint_angles, {", ".join(sorted(names))}):
    left, right = left_hand_position - {hand}, right_hand_position - {hand}
    hands = torch.minimum(torch.norm(left, dim=-1), torch.norm(right, dim=-1))
    near = 1.0 - torch.tanh(3.0 * torch.norm({gap}, dim=-1))
    pose = torch.exp(-torch.mean((joint_angles - default_joint_angles) ** 2, dim=-1))
    calm = -1e-5 * torch.sum(actuator_forces ** 2, dim=-1) - 0.01 * torch.norm(left_hand_velocity, dim=-1)
    standing = torch.clamp(head_height / 1.65, max=1.0)
    return near - 0.2 * hands + 0.1 * pose + 0.2 * standing + calm, {{"near": near, "hands": hands, "pose": pose}}
"""
    return {"staged": staged, "plain": plain}


ARGUMENTS = (
    *("box", "goal", "package_location", "package_destination", "door_hatch_position", "imu_position"),
    *("basketball_position", "hoop_center"),
)
GOOD = {
    "HumanoidBasketball": write_pair("basketball_position", "basketball_position - hoop_center"),
    "HumanoidDoor": write_pair("door_hatch_position", "imu_position - door_hatch_position"),
    "HumanoidPackage": write_pair("package_location", "package_location - package_destination"),
    "HumanoidPush": write_pair("box", "box - goal"),
}
