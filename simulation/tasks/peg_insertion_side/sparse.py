import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    peg_head_pos: Tensor, box_hole_pose: Tensor, box_hole_pos: Tensor, box_hole_radius: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the peg's head is in the hole, and half way through
    head = quat_rotate_inverse(box_hole_pose[:, 3:7], peg_head_pos - box_hole_pos)
    inside = torch.amax(torch.abs(head[:, 1:3]), dim=-1) <= box_hole_radius
    done = inside & (head[:, 0] >= -0.015)
    done = done.float()
    return done, {"done": done}
