import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    fingertip_pos: Tensor,
    left_hand_pos: Tensor,
    bottle_pos: Tensor,
    bottle_cap_pos: Tensor,
    bottle_cap_up: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the right hand's five fingers go to the cap, the left hand stays at the bottle
    right = torch.norm(fingertip_pos - bottle_cap_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    left = torch.norm(bottle_pos - left_hand_pos, dim=-1)
    reach = 2.0 - right - left

    # with the fingers there the cap comes off
    off = torch.norm(bottle_cap_up - bottle_pos, dim=-1)
    open_cap = torch.where(right <= 0.3, 30.0 * off, torch.zeros_like(off))

    return reach + open_cap, {"reach": reach, "open": open_cap}
