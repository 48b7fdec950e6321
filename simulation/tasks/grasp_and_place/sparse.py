import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(block_right_handle_pos: Tensor, block_left_handle_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the block is at the bucket
    done = torch.norm(block_right_handle_pos - block_left_handle_pos, dim=-1) < 0.2
    done = done.float()
    return done, {"done": done}
