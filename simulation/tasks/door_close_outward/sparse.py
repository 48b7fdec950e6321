import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(door_right_handle_pos: Tensor, door_left_handle_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the handles are close to each other
    done = torch.abs(door_right_handle_pos[:, 1] - door_left_handle_pos[:, 1]) < 0.5
    done = done.float()
    return done, {"done": done}
