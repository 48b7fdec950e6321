import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor, obj_pos: Tensor, goal_pos: Tensor, is_grasped: Tensor, robot_qvel: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    reach = 1.0 - torch.tanh(5.0 * torch.norm(obj_pos - tcp_pos, dim=-1))

    # a grasped cube goes to its goal
    distance = torch.norm(goal_pos - obj_pos, dim=-1)
    place = is_grasped * (1.0 - torch.tanh(5.0 * distance))

    # there the arm stands still
    there = distance <= 0.025
    arm = robot_qvel[:, 0:7]
    still = there.float() * (1.0 - torch.tanh(0.5 * torch.norm(arm, dim=-1)))

    done = there & (torch.amax(torch.abs(arm), dim=-1) <= 0.2)
    total_reward = torch.where(done, torch.full_like(reach, 5.0), reach + is_grasped + place + still)
    return total_reward, {"reach": reach, "grasp": is_grasped, "place": place, "still": still, "done": done.float()}
