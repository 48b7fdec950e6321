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
    actions: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    zero = torch.zeros_like(is_grasped)

    # the gripper goes to cube A and closes around its middle
    apart = torch.norm(tcp_pos - cubeA_pos, dim=-1)
    reach = 2.0 * (1.0 - torch.tanh(5.0 * apart))
    around = apart <= 0.02
    close = around.float() * (1.0 - torch.sum(robot_qpos[:, 7:9], dim=-1) / 0.08)
    held = around & (is_grasped > 0.5)

    # it takes the cube to a place 4 cm above cube B's top, and lowers it there
    offset = cubeA_pos - cubeB_pos - torch.tensor([0.0, 0.0, 0.04], device=tcp_pos.device)
    beside = torch.norm(offset[:, 0:2], dim=-1)
    over = beside <= 0.02
    above = torch.stack((zero, zero, torch.where(over, zero, torch.full_like(zero, 0.04))), dim=-1)
    way = 3.0 * (1.0 - torch.tanh(5.0 * torch.norm(offset - above, dim=-1)))
    lower = over.float() * (2.0 + 2.0 * (1.0 - torch.tanh(20.0 * torch.abs(offset[:, 2]))))

    # the fingers hold it loosely: a policy that presses with all its force never tries to let go
    loose = 0.5 + 0.5 * actions[:, 7].clamp(-1.0, 1.0)
    carry = torch.where(held, 4.0 + way + lower + loose - reach - close, zero)

    # there they are told to open, and the cube comes to rest
    on_top = (beside <= 0.0333) & (torch.abs(offset[:, 2]) <= 0.005)
    speed, spin = torch.norm(cubeA_linvel, dim=-1), torch.norm(cubeA_angvel, dim=-1)
    opening = torch.where(held, loose, torch.full_like(zero, 2.0))
    calm = 1.0 - torch.tanh(10.0 * speed + spin)
    release = torch.where(on_top, 14.0 + 2.0 * opening + calm - reach - close - carry, zero)

    done = on_top & (speed <= 0.01) & (spin <= 0.5) & (is_grasped < 0.5)
    total_reward = torch.where(done, torch.full_like(zero, 22.0), reach + close + carry + release)
    return total_reward, {"reach": reach, "close": close, "carry": carry, "release": release, "done": done.float()}
