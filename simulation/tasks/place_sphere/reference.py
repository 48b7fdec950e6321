import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor,
    obj_pos: Tensor,
    obj_linvel: Tensor,
    obj_angvel: Tensor,
    bin_pos: Tensor,
    is_grasped: Tensor,
    actions: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    zero = torch.zeros_like(is_grasped)
    held = is_grasped > 0.5

    # the gripper goes to the ball and takes it to its place in the bin
    reach = 2.0 * (1.0 - torch.tanh(5.0 * torch.norm(tcp_pos - obj_pos, dim=-1)))
    offset = obj_pos - bin_pos - torch.tensor([0.0, 0.0, 0.0225], device=obj_pos.device)
    far = torch.norm(offset, dim=-1)
    place = 4.0 + 1.0 - torch.tanh(5.0 * far) + 1.0 - torch.tanh(50.0 * far)

    # they hold it loosely: a policy that presses with all its force never tries to let go
    loose = 0.5 + 0.5 * actions[:, 7].clamp(-1.0, 1.0)
    carry = torch.where(held, place + loose - reach, zero)

    # there the fingers are told to open, and the ball comes to rest
    inside = (torch.norm(offset[:, 0:2], dim=-1) <= 0.005) & (torch.abs(offset[:, 2]) <= 0.005)
    speed, spin = torch.norm(obj_linvel, dim=-1), torch.norm(obj_angvel, dim=-1)
    opening = torch.where(held, loose, torch.full_like(zero, 2.0))
    calm = 1.0 - torch.tanh(10.0 * speed + spin)
    release = torch.where(inside, 7.0 + 2.0 * opening + calm - reach - carry, zero)

    done = inside & (speed <= 0.01) & (spin <= 0.5) & (is_grasped < 0.5)
    total_reward = torch.where(done, torch.full_like(zero, 15.0), reach + carry + release)
    return total_reward, {"reach": reach, "carry": carry, "release": release, "done": done.float()}
