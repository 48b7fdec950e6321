"""Collect one horizon of experience from K candidates' worlds, and what to trace about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from simulation.environment import Environment, Step
from simulation.rewards.contract import RewardFailure
from trainer.ppo import PPO, Experience

Reward = Callable[[Mapping[str, Any]], tuple[Tensor, dict[str, Tensor]]]


class Scorer:
    """One candidate's reward function over one horizon, with the sums of its components.

    A reward that fails is not called again; `reason` says why, and its rewards are zero from there on.
    """

    def __init__(self, reward: Reward) -> None:
        self.reason = ""
        self._reward = reward
        self._names: tuple[str, ...] = ()
        self._sums: Tensor | None = None

    def __call__(self, inputs: Mapping[str, Any], out: Tensor) -> None:
        """Write the rewards of the states reached, (M,), into `out`, which comes in as zeros."""
        if self.reason:
            return
        try:
            total, components = self._reward(inputs)
        except RewardFailure as failure:
            self.reason = str(failure)
            return
        if self._sums is not None and tuple(components) != self._names:
            self.reason = f"its components changed from {list(self._names)} to {list(components)} between two calls"
            return
        out.copy_(total)
        sums = torch.stack([total, *components.values()]).sum(1)
        self._names = tuple(components)
        self._sums = sums if self._sums is None else self._sums + sums

    def sums(self) -> dict[str, float]:
        """Component (and "total") -> sum over worlds and steps so far; sets `reason` when one is not finite."""
        if self._sums is None:
            return {}
        sums = dict(zip(("total", *self._names), self._sums.tolist(), strict=True))
        bad = [name for name, finite in zip(sums, self._sums.isfinite().tolist(), strict=True) if not finite]
        if bad and not self.reason:
            self.reason = f"{', '.join(map(repr, reversed(bad)))} became infinite or not a number"
        return sums


@dataclass
class Horizon:
    """One horizon: the experience, and per candidate (K) the counts to trace."""

    experience: Experience
    scorers: list[Scorer]
    metric: Tensor
    """(K,) sum of the hidden metric over the entries that count."""
    metric_counts: Tensor
    """(K,) number of those entries."""
    episode_steps: Tensor = field(repr=False)
    """(K,) sum of the lengths of the episodes that ended."""
    episodes: Tensor = field(repr=False)
    """(K,) number of episodes that ended."""
    diverged: Tensor = field(repr=False)
    """(K,) worlds whose state went non-finite."""


class Collector:
    """Acts in the environment's K x M worlds with K policies and scores each candidate's slice with its own reward."""

    def __init__(self, env: Environment, rewards: list[Reward]) -> None:
        self.env = env
        self.rewards = rewards
        self.ages = torch.zeros(env.num_envs, dtype=torch.int64)
        """(N,) steps since each world's episode began."""

    @torch.no_grad()
    def collect(self, ppo: PPO, noise: Tensor) -> Horizon:
        """One horizon of T = len(noise) steps; noise (T, M, num_actions) is added, scaled, to every candidate's mean
        actions.
        """
        env, std = self.env, ppo.std.unsqueeze(1)
        groups, worlds, horizon = env.groups, env.worlds, len(noise)
        observations = torch.empty(groups, horizon, worlds, env.obs_buf.shape[1])
        means = torch.empty(groups, *noise.shape)
        actions = torch.empty_like(means)
        rewards = torch.zeros(groups, horizon, worlds)
        lengths = torch.zeros(groups, horizon, worlds, dtype=torch.int64)
        final_observations: dict[int, Tensor] = {}
        scorers = [Scorer(reward) for reward in self.rewards]
        steps: list[Step] = []
        for t in range(horizon):
            observations[:, t] = env.obs_buf.view(groups, worlds, -1)
            means[:, t] = ppo.mean_actions(observations[:, t])
            torch.addcmul(means[:, t], std, noise[t], out=actions[:, t])
            step = env.step(actions[:, t].reshape(groups * worlds, -1))
            for group, scorer in enumerate(scorers):
                scorer(env.inputs(group), rewards[group, t])
            steps.append(step)
            self.ages += 1
            done = step.terminated | step.truncated
            if done.any():
                if step.truncated.any():
                    final_observations[t] = env.obs_buf.view(groups, worlds, -1).clone()
                lengths[:, t] = torch.where(done, self.ages, 0).view(groups, worlds)
                self.ages[done] = 0
                env.reset(done)
        metric = self._over_time([step.metric for step in steps])
        metric_counts = self._over_time([step.metric_counts for step in steps])
        return Horizon(
            Experience(
                observations=observations,
                actions=actions,
                means=means,
                rewards=rewards,
                terminated=self._over_time([step.terminated for step in steps]),
                truncated=self._over_time([step.truncated for step in steps]),
                next_observations=env.obs_buf.view(groups, worlds, -1).clone(),
                final_observations=final_observations,
            ),
            scorers,
            metric=(metric * metric_counts).sum((1, 2)),
            metric_counts=metric_counts.sum((1, 2)),
            episode_steps=lengths.sum((1, 2)),
            episodes=(lengths > 0).sum((1, 2)),
            diverged=self._over_time([step.diverged for step in steps]).sum((1, 2)),
        )

    def _over_time(self, values: list[Tensor]) -> Tensor:
        """T tensors (K * M,) as one, (K, T, M)."""
        stacked = torch.stack(values).view(len(values), self.env.groups, self.env.worlds)
        return stacked.transpose(0, 1).contiguous()

    def keep(self, groups: list[int]) -> None:
        """Go on with these groups only."""
        self.ages = self.ages.view(self.env.groups, -1)[groups].flatten()
        self.env.keep(groups)
        self.rewards = [self.rewards[group] for group in groups]
