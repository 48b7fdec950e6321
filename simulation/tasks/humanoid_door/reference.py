import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    head_height: Tensor,
    torso_upright: Tensor,
    actuator_forces: Tensor,
    left_hand_position: Tensor,
    right_hand_position: Tensor,
    door_hinge: Tensor,
    door_hatch_hinge: Tensor,
    door_hatch_position: Tensor,
    imu_position: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # it stands upright, with little effort
    standing = torch.exp(-2.303 * ((1.65 - head_height).clamp(min=0.0) / 0.4125) ** 2)
    upright = (torso_upright / 0.9).clamp(min=0.0, max=1.0)
    calm = (1.0 - (actuator_forces / 10.0) ** 2).clamp(min=0.0).mean(dim=-1)
    stand = 0.1 * standing * upright * (4.0 + calm) / 5.0

    # a hand goes to the handle and turns it
    left = torch.norm(left_hand_position - door_hatch_position, dim=-1)
    right = torch.norm(right_hand_position - door_hatch_position, dim=-1)
    reach = 0.05 * (1.0 - 0.9 * (torch.minimum(left, right) - 0.25).clamp(min=0.0)).clamp(min=0.0)
    turn = 0.05 * (1.0 - 1.2 * (0.75 - door_hatch_hinge).clamp(min=0.0)).clamp(min=0.0)

    # the door opens, and the robot walks out
    open_door = 0.45 * (door_hinge * torch.abs(door_hinge)).clamp(max=1.0)
    passage = 0.35 * (1.0 - (1.2 - imu_position[:, 0]).clamp(min=0.0)).clamp(min=0.0)
    total = stand + reach + turn + open_door + passage
    return total, {"stand": stand, "reach": reach, "turn": turn, "open_door": open_door, "passage": passage}
