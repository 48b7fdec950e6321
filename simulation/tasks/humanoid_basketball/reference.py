import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    head_height: Tensor,
    torso_upright: Tensor,
    actuator_forces: Tensor,
    left_hand_position: Tensor,
    right_hand_position: Tensor,
    basketball_position: Tensor,
    hoop_center: Tensor,
    stage: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # it stands upright, with little effort
    standing = torch.exp(-2.303 * ((1.65 - head_height).clamp(min=0.0) / 0.4125) ** 2)
    upright = (1.0 - (0.9 - torso_upright).clamp(min=0.0) / 1.9).clamp(min=0.0)
    calm = (1.0 - (actuator_forces / 10.0) ** 2).clamp(min=0.0).mean(dim=-1)
    stand = standing * upright * (4.0 + calm) / 5.0

    # both hands are at the ball
    left = torch.norm(left_hand_position - basketball_position, dim=-1)
    right = torch.norm(right_hand_position - basketball_position, dim=-1)
    hands = torch.exp(-2.303 * (torch.maximum(left, right) - 0.2).clamp(min=0.0) ** 2)

    # once it was touched, the ball goes to the hoop
    gap = torch.norm(basketball_position - hoop_center, dim=-1)
    near = (1.0 - 0.9 * gap / 7.0).clamp(min=0.0)
    catch = 0.5 * stand + 0.5 * hands
    throw = 0.15 * stand + 0.05 * hands + 0.8 * near
    flow = torch.where(stage > 0.5, throw, catch)

    scored = 1000.0 * (gap < 0.05).float()
    return flow + scored, {"stand": stand, "hands": hands, "near": near, "flow": flow, "scored": scored}
