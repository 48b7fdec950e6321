"""What a row of the replay holds: a sample of a horizon's experience, as SAC learns from it.

Shapes: K candidates, M worlds per candidate, T steps of the horizon, B samples.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.experience import Experience


def pack_rows(experience: Experience) -> Tensor:
    """A horizon as rows (K, T * M, features): observation, next observation, action, reward, whether it went on. The
    next observation of an episode that was cut off is its last, not the first of the one that followed.
    """
    following = torch.cat([experience.observations[:, 1:], experience.next_observations.unsqueeze(1)], dim=1)
    for t, final in experience.final_observations.items():
        following[:, t] = torch.where(experience.truncated[:, t].unsqueeze(-1), final, following[:, t])
    scalars = [experience.rewards.unsqueeze(-1), (~experience.terminated).unsqueeze(-1).float()]
    columns = [experience.observations, following, experience.actions, *scalars]
    return torch.cat(columns, dim=-1).flatten(1, 2)


def pack_together(experience: Experience, rewards_of_all: Tensor) -> Tensor:
    """The horizon of all candidates as rows of one (1, K * T * M, features): observation, next observation, action,
    whether it went on, and the rewards of all K. A candidate that fails must not fail the others: what is not finite
    is zero.
    """
    rows = pack_rows(experience).flatten(0, 1).nan_to_num_(0.0, 0.0, 0.0)
    goes_on, rewards = rows[:, -1:], rewards_of_all.flatten(1).T
    return torch.cat([rows[:, :-2], goes_on, rewards], dim=-1).unsqueeze(0)


def unpack_together(rows: Tensor, state_features: int) -> Tensor:
    """Rows (B, features) of pack_together as every candidate learns from them: (K, B, features) as `pack_rows` has
    them.
    """
    states, rewards = rows[:, :state_features], rows[:, state_features:]
    of_each = states.expand(rewards.shape[1], *states.shape)
    return torch.cat([of_each[..., :-1], rewards.T.unsqueeze(-1), of_each[..., -1:]], dim=-1)
