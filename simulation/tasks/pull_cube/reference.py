import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(tcp_pos: Tensor, obj_pos: Tensor, goal_pos: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the gripper goes to the cube's far side
    behind = obj_pos + torch.tensor([0.03, 0.0, 0.0], device=obj_pos.device)
    gap = torch.norm(tcp_pos - behind, dim=-1)
    reach = 1.0 - torch.tanh(5.0 * gap)
    there = (gap < 0.01).float()

    # from there it moves the cube to the disc
    distance = torch.norm(obj_pos[:, 0:2] - goal_pos[:, 0:2], dim=-1)
    place = there * (1.0 - torch.tanh(5.0 * distance))

    done = distance < 0.1
    total_reward = torch.where(done, torch.full_like(reach, 3.0), reach + place)
    return total_reward, {"reach": reach, "place": place, "done": done.float()}
