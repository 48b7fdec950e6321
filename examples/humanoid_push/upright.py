import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(
    head_height: Tensor, torso_upright: Tensor, joint_velocities: Tensor, actions: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    """Stay up with little effort: no task. The policy simulation/tasks/humanoid_push/upright.pt learned this."""
    alive = torch.ones_like(head_height)
    tall = torch.exp(-2.303 * ((1.6 - head_height).clamp(min=0.0) / 0.4) ** 2) * torso_upright.clamp(min=0.0)
    effort = -0.05 * torch.sum(actions**2, dim=-1) - 0.0005 * torch.sum(joint_velocities**2, dim=-1)
    return alive + tall + effort, {"alive": alive, "tall": tall, "effort": effort}
