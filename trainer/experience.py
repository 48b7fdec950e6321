"""The experience of K candidates in one horizon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

RewardsOf = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Rewards (G, B) of G candidates for observations (G, B, num_obs) and actions (G, B, num_actions) that were worth
earlier rewards (G, B).
"""


@dataclass(frozen=True)
class Newest:
    """How one candidate's minibatches draw from the newest samples of its replay."""

    share: float
    """The share of each minibatch that is drawn from them."""
    samples: int
    """How many samples count as the newest; all where there are fewer."""
    seed: int
    """The seed of the draws in this horizon."""


@dataclass(frozen=True)
class Experience:
    """One horizon of experience of K candidates."""

    observations: Tensor
    """(K, T, M, num_obs), as the policy received them, not normalised."""
    actions: Tensor
    """(K, T, M, num_actions), not clipped."""
    means: Tensor
    """(K, T, M, num_actions), the policy's mean actions."""
    rewards: Tensor
    """(K, T, M)."""
    terminated: Tensor
    """(K, T, M) bool: the episode ended in a terminal state, whose value is zero."""
    truncated: Tensor
    """(K, T, M) bool: the episode was cut off by time."""
    next_observations: Tensor
    """(K, M, num_obs): where the next horizon begins, after resets."""
    final_observations: dict[int, Tensor]
    """Step -> (K, M, num_obs): observations before the reset, for each step at which some world was truncated."""
    rewards_of_all: Tensor | None = None
    """(K, K, T, M): what the i-th candidate's reward gives for the j-th one's states; None where each candidate learns
    from its own experience alone."""
    newest: dict[int, Newest] = field(default_factory=dict)
    """Candidate -> what it draws from its newest samples; the others draw from their whole replay alone."""
