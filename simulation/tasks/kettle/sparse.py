import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(bucket_handle_pos: Tensor, kettle_spout_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the spout is at the opening of the bucket
    done = torch.norm(bucket_handle_pos - kettle_spout_pos, dim=-1) < 0.05
    done = done.float()
    return done, {"done": done}
