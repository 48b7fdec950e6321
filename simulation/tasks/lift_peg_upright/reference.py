import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor, obj_pose: Tensor, obj_pos: Tensor, is_grasped: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the gripper goes to the peg and grasps it
    reach = 1.0 - torch.tanh(5.0 * torch.norm(obj_pos - tcp_pos, dim=-1))

    # a held peg turns upright, its near end up, as the wrist can turn it; its middle rises as high as when it stands
    x, y, z, w = obj_pose[:, 3], obj_pose[:, 4], obj_pose[:, 5], obj_pose[:, 6]
    upright = 2.0 * (w * y - x * z)
    tilt = torch.acos(upright.clamp(-1.0, 1.0))
    off = torch.abs(obj_pos[:, 2] - 0.12)
    turn = is_grasped * (6.0 * torch.clamp(1.0 - tilt / 1.571, min=0.0) + 1.0 - torch.tanh(5.0 * tilt))
    rise = is_grasped * (1.0 - torch.clamp(off / 0.095, max=1.0) + 1.0 - torch.tanh(50.0 * off))

    done = (upright > 0.9968) & (off < 0.005)
    total_reward = torch.where(done, torch.full_like(upright, 20.0), reach + is_grasped + turn + rise)
    return total_reward, {"reach": reach, "grasp": is_grasped, "turn": turn, "rise": rise, "done": done.float()}
