import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    tcp_pos: Tensor, cube_pos: Tensor, tool_pos: Tensor, is_grasped: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # the gripper takes the tool at the near end of its handle
    handle = tool_pos + torch.tensor([0.02, 0.0, 0.0], device=tool_pos.device)
    reach = 2.0 * (1.0 - torch.tanh(5.0 * torch.norm(tcp_pos - handle, dim=-1)))
    grasp = 2.0 * is_grasped

    # the hook goes behind the cube
    wanted = cube_pos + torch.tensor([-0.1, -0.067, 0.0], device=cube_pos.device)
    off = torch.norm(tool_pos - wanted, dim=-1)
    position = 1.5 * is_grasped * (1.0 - torch.tanh(3.0 * off))

    # and pulls it towards the base
    base = torch.tensor([-0.615, 0.0], device=cube_pos.device)
    distance = torch.norm(cube_pos[:, 0:2] - base, dim=-1)
    behind = is_grasped * (off < 0.07).float()
    pull = 3.0 * behind * (1.0 - distance)

    away = -2.0 * (cube_pos[:, 0] > 0.5).float()
    done = 5.0 * (distance < 0.6).float()
    total_reward = reach + grasp + position + pull + away + done
    return total_reward, {
        "reach": reach,
        "grasp": grasp,
        "position": position,
        "pull": pull,
        "away": away,
        "done": done,
    }
