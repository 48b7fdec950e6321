import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor, obj_pos: Tensor, obj_yaw: Tensor, goal_pos: Tensor, goal_yaw: Tensor, inter_area: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # turned as the outline is
    turned = 0.5 * torch.square(0.5 * (1.0 + torch.cos(obj_yaw - goal_yaw)))

    # where the outline is
    away = torch.norm(obj_pos[:, 0:2] - goal_pos[:, 0:2], dim=-1)
    placed = 0.5 * torch.square(1.0 - torch.tanh(5.0 * away))

    # a little for staying near the T
    near = 0.05 * torch.sqrt(1.0 - torch.tanh(5.0 * torch.norm(obj_pos - tcp_pos, dim=-1)))

    done = (inter_area >= 0.9) & (obj_pos[:, 2] < 0.03)
    total_reward = torch.where(done, torch.full_like(turned, 3.0), turned + placed + near)
    return total_reward, {"turned": turned, "placed": placed, "near": near, "done": done.float()}
