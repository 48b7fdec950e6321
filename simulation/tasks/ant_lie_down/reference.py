import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    root_states: Tensor, up_vec: Tensor, dof_vel: Tensor, actions: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    belly_up = -up_vec[:, 2]
    turned = torch.clamp(belly_up, -1.0, 1.0)

    # feet to the sky counts fully only where the robot also lies still
    moving = torch.sum(torch.square(root_states[:, 7:13]), dim=-1)
    on_back = (belly_up > 0.9).float()
    rest = on_back * torch.exp(-moving / 2.0)

    joint_cost = -0.0005 * on_back * torch.sum(torch.square(dof_vel), dim=-1)
    action_cost = -0.01 * torch.sum(torch.square(actions), dim=-1)

    total_reward = turned + rest + joint_cost + action_cost
    return total_reward, {"turned": turned, "rest": rest, "joint_cost": joint_cost, "action_cost": action_cost}
