import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor,
    peg_pos: Tensor,
    peg_head_pos: Tensor,
    cube_pos: Tensor,
    goal_pos: Tensor,
    is_grasped: Tensor,
    angle_diff: Tensor,
    robot_qvel: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    zero = torch.zeros_like(is_grasped)

    # the gripper goes to the peg's middle and grasps it
    gap = torch.norm(tcp_pos - peg_pos, dim=-1)
    reach = 2.0 * (1.0 - torch.tanh(5.0 * gap))
    held = (is_grasped > 0.5) & (gap < 0.02)
    grasp = torch.where(held, 4.0 - reach, zero)

    # the held peg's head goes to the cube, straight behind it and as low
    apart = torch.norm(peg_head_pos - cube_pos, dim=-1)
    close = 1.0 - torch.tanh(5.0 * apart)
    align = 1.0 - torch.tanh(5.0 * angle_diff)
    touch = torch.where(held, close + align, zero)

    # a peg that touches the cube squarely pushes it to the disc
    distance = torch.norm(cube_pos[:, 0:2] - goal_pos[:, 0:2], dim=-1)
    fits = held & (apart <= 0.03) & (angle_diff < 0.1)
    push = torch.where(fits, 3.0 - close - align + 2.0 * (1.0 - torch.tanh(10.0 * distance)), zero)

    there = distance < 0.05
    arm = robot_qvel[:, 0:7]
    still = torch.where(there, 1.0 - torch.tanh(0.5 * torch.norm(arm, dim=-1)), zero)
    done = there & (torch.amax(torch.abs(arm), dim=-1) <= 0.2)
    total_reward = torch.where(done, torch.full_like(zero, 15.0), reach + grasp + touch + push + still)
    parts = {"reach": reach, "grasp": grasp, "touch": touch, "push": push, "still": still, "done": done.float()}
    return total_reward, parts
