import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor, obj_pose: Tensor, obj_pos: Tensor, is_grasped: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # how vertical the peg's own x axis is, either way up
    x, y, z, w = obj_pose[:, 3], obj_pose[:, 4], obj_pose[:, 5], obj_pose[:, 6]
    upright = torch.abs(2.0 * (x * z - w * y))

    # its middle is as high as when it stands
    off = torch.abs(obj_pos[:, 2] - 0.12)
    height = 1.0 - torch.tanh(5.0 * off)

    # the gripper goes to the peg; a grasp is worth as much as being there
    near = 1.0 - torch.tanh(5.0 * torch.norm(obj_pos - tcp_pos, dim=-1))
    reach = 0.2 * torch.where(is_grasped > 0.5, torch.ones_like(near), near)

    done = (upright > 0.9968) & (off < 0.005)
    total_reward = torch.where(done, torch.full_like(upright, 3.0), upright + height + reach)
    return total_reward, {"upright": upright, "height": height, "reach": reach, "done": done.float()}
