import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    block_right_handle_pos: Tensor, block_left_handle_pos: Tensor, goal_pos: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # both blocks are at their places and the left one is at its height
    above = goal_pos + torch.tensor([0.0, 0.0, 0.05], device=goal_pos.device)
    lower = torch.norm(goal_pos - block_right_handle_pos, dim=-1)
    upper = torch.norm(above - block_left_handle_pos, dim=-1)
    level = torch.abs(above[:, 2] - block_left_handle_pos[:, 2])
    done = (lower < 0.07) & (upper < 0.07) & (level < 0.03)
    done = done.float()
    return done, {"done": done}
