import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor,
    obj_pos: Tensor,
    goal_pos: Tensor,
    is_grasped: Tensor,
    robot_qpos: Tensor,
    robot_qvel: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    apart = torch.norm(obj_pos - tcp_pos, dim=-1)
    reach = 1.0 - torch.tanh(5.0 * apart)

    # the fingers close around the cube's middle, not on its top, and take it to its goal
    around = (apart <= 0.02).float()
    close = around * (1.0 - torch.sum(robot_qpos[:, 7:9], dim=-1) / 0.08)
    grasp = around * is_grasped
    distance = torch.norm(goal_pos - obj_pos, dim=-1)
    place = grasp * (1.0 - torch.tanh(5.0 * distance))

    # there the arm stands still
    there = distance <= 0.025
    arm = robot_qvel[:, 0:7]
    still = there.float() * (1.0 - torch.tanh(0.5 * torch.norm(arm, dim=-1)))

    done = there & (torch.amax(torch.abs(arm), dim=-1) <= 0.2)
    total_reward = torch.where(done, torch.full_like(reach, 6.0), reach + close + grasp + place + still)
    return total_reward, {
        "reach": reach,
        "close": close,
        "grasp": grasp,
        "place": place,
        "still": still,
        "done": done.float(),
    }
