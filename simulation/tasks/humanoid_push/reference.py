import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    head_height: Tensor,
    torso_upright: Tensor,
    left_hand_position: Tensor,
    right_hand_position: Tensor,
    box: Tensor,
    box_vel: Tensor,
    goal: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # it stands upright; else the places of hand and box count for nothing
    standing = torch.exp(-2.303 * ((1.6 - head_height).clamp(min=0.0) / 0.4) ** 2)
    stand = standing * torso_upright.clamp(min=0.0)

    # the hand of the far side goes to where it pushes the box to its goal; wrists are 0.1 m behind a hand's middle
    apart = goal - box
    gap = torch.norm(apart, dim=-1)
    way = apart / gap.clamp(min=0.05).unsqueeze(-1)
    behind = box - 0.165 * way - torch.tensor([0.1, 0.0, 0.0], device=box.device)
    left = torch.norm(left_hand_position - behind, dim=-1)
    right = torch.norm(right_hand_position - behind, dim=-1)
    reach = 3.0 * stand * (1.0 - torch.tanh(2.0 * torch.where(goal[:, 1] > 0.0, right, left)))

    # the box moves to its goal
    near = 4.0 * stand * (1.0 - torch.tanh(3.0 * gap))
    move = 2.0 * torch.sum(box_vel * way, dim=-1).clamp(-1.0, 0.5)
    arrived = 300.0 * (gap < 0.05).float()

    total_reward = stand + reach + near + move + arrived
    return total_reward, {"stand": stand, "reach": reach, "near": near, "move": move, "arrived": arrived}
