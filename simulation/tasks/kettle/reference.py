import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    fingertip_pos: Tensor,
    fingertip_another_pos: Tensor,
    kettle_handle_pos: Tensor,
    kettle_spout_pos: Tensor,
    bucket_handle_pos: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # each hand's five fingers go to the handle of the kettle, or to the bucket
    right = torch.norm(fingertip_pos - kettle_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    left = torch.norm(fingertip_another_pos - bucket_handle_pos.unsqueeze(1), dim=-1).sum(dim=-1)
    reach = 1.0 - right - left

    # once both are there, the spout comes to the bucket
    there = (right < 0.7) & (left < 0.7)
    gap = torch.norm(bucket_handle_pos - kettle_spout_pos, dim=-1)
    pour = torch.where(there, 0.5 - 2.0 * gap, torch.zeros_like(gap))

    return reach + pour, {"reach": reach, "pour": pour}
