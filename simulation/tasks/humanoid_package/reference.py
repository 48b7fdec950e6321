import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    head_height: Tensor,
    torso_upright: Tensor,
    actuator_forces: Tensor,
    left_hand_position: Tensor,
    right_hand_position: Tensor,
    package_location: Tensor,
    package_destination: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # it stands upright, with little effort
    standing = torch.exp(-2.303 * ((1.65 - head_height).clamp(min=0.0) / 0.4125) ** 2)
    upright = (1.0 - (0.8 - torso_upright).clamp(min=0.0) / 1.9).clamp(min=0.0)
    calm = (1.0 - (actuator_forces / 10.0) ** 2).clamp(min=0.0).mean(dim=-1)
    stand = standing * upright * (4.0 + calm) / 5.0

    # the package comes to its destination, both hands to the package, which may be lifted
    gap = torch.norm(package_location - package_destination, dim=-1)
    left = torch.norm(left_hand_position - package_location, dim=-1)
    right = torch.norm(right_hand_position - package_location, dim=-1)
    hands = -0.1 * (left + right)
    lift = package_location[:, 2].clamp(max=1.0)

    arrived = 1000.0 * (gap < 0.1).float()
    total = stand - 3.0 * gap + hands + lift + arrived
    return total, {"stand": stand, "gap": -3.0 * gap, "hands": hands, "lift": lift, "arrived": arrived}
