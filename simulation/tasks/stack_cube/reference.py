import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor,
    cubeA_pos: Tensor,
    cubeA_linvel: Tensor,
    cubeA_angvel: Tensor,
    cubeB_pos: Tensor,
    is_grasped: Tensor,
    robot_qpos: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    zero = torch.zeros_like(is_grasped)
    held = is_grasped > 0.5

    # the gripper goes to cube A and takes it to the place above cube B
    reach = 2.0 * (1.0 - torch.tanh(5.0 * torch.norm(tcp_pos - cubeA_pos, dim=-1)))
    offset = cubeA_pos - cubeB_pos - torch.tensor([0.0, 0.0, 0.04], device=tcp_pos.device)
    place = 4.0 + 1.0 - torch.tanh(5.0 * torch.norm(offset, dim=-1))
    carry = torch.where(held, place - reach, zero)

    # there it lets go, and the cube comes to rest
    on_top = (torch.norm(offset[:, 0:2], dim=-1) <= 0.0333) & (torch.abs(offset[:, 2]) <= 0.005)
    opening = torch.where(held, torch.sum(robot_qpos[:, 7:9], dim=-1) / 0.08, torch.ones_like(zero))
    speed, spin = torch.norm(cubeA_linvel, dim=-1), torch.norm(cubeA_angvel, dim=-1)
    calm = 1.0 - torch.tanh(10.0 * speed + spin)
    release = torch.where(on_top, 6.0 + (opening + calm) / 2.0 - reach - carry, zero)

    done = on_top & (speed <= 0.01) & (spin <= 0.5) & (is_grasped < 0.5)
    total_reward = torch.where(done, torch.full_like(zero, 8.0), reach + carry + release)
    return total_reward, {"reach": reach, "carry": carry, "release": release, "done": done.float()}
