import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    head_height: Tensor,
    torso_upright: Tensor,
    left_hand_position: Tensor,
    right_hand_position: Tensor,
    box: Tensor,
    goal: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # it stands upright
    standing = torch.exp(-2.303 * ((1.6 - head_height).clamp(min=0.0) / 0.4) ** 2)
    stand = 0.3 * standing * torso_upright.clamp(min=0.0)

    # a hand goes to the side of the box from which it is pushed to its goal
    apart = goal - box
    gap = torch.norm(apart, dim=-1)
    behind = box - 0.15 * apart / gap.clamp(min=0.05).unsqueeze(-1)
    left = torch.norm(left_hand_position - behind, dim=-1)
    right = torch.norm(right_hand_position - behind, dim=-1)
    reach = 1.0 - torch.tanh(2.0 * torch.minimum(left, right))

    # the box comes to its goal
    near = 2.0 * (1.0 - torch.tanh(4.0 * gap))
    arrived = 300.0 * (gap < 0.05).float()
    return stand + reach + near + arrived, {"stand": stand, "reach": reach, "near": near, "arrived": arrived}
