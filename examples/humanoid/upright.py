import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(torso_position: Tensor, dof_vel: Tensor, actions: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    """Stay up with little effort: no task. The policies simulation/tasks/humanoid*/upright.pt learned this."""
    alive = torch.where(torso_position[:, 2] > 0.8, 2.0, -1.0)
    torques = torch.sum(actions * actions, dim=-1)
    power = torch.sum(torch.abs(actions * dof_vel * 0.1), dim=-1)
    effort = -0.01 * torques - 0.02 * power
    return alive + effort, {"alive": alive, "effort": effort}
