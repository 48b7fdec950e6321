"""Collect one horizon of experience from K candidates' worlds, and what to trace about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from simulation.environment import Environment, Step
from simulation.rewards.contract import RewardFailure, RewardFunction
from trainer.experience import Experience
from trainer.learner import Learner


@dataclass(frozen=True)
class Score:
    """What one candidate's reward function said about a horizon."""

    rewards: Tensor
    """(T * M,) totals; zeros where it failed."""
    sums: dict[str, float]
    """"total" and every component -> its sum over steps and worlds; empty where it failed."""
    reason: str = ""
    """Why it failed."""


def score_horizon(
    env: Environment, rewards: Sequence[RewardFunction], reached: Sequence[Mapping[str, Any]]
) -> list[Score]:
    """Call each candidate's reward once, for all states of a horizon; `reached`: env.attributes after each step."""
    read = {name for reward in rewards for name in (reward.world_input, *reward.arguments)}
    per_world = {name for name in read if "num_envs" in env.info.inputs[name]}
    constants = {name: reached[0][name] for name in read - per_world}
    # (K, T * M, ...): the worlds of all steps side by side
    states = {name: over_time([step[name] for step in reached], env.groups).flatten(1, 2) for name in per_world}
    with env.on_device():
        return [
            _score(reward, constants | {name: values[group] for name, values in states.items()})
            for group, reward in enumerate(rewards)
        ]


def over_time(values: Sequence[Tensor], groups: int) -> Tensor:
    """T tensors (K * M, ...) of K groups, as one, (K, T, M, ...)."""
    shape = (len(values), groups, -1, *values[0].shape[1:])
    return torch.stack(tuple(values)).view(shape).transpose(0, 1).contiguous()


def _score(reward: RewardFunction, inputs: Mapping[str, Any]) -> Score:
    try:
        total, components = reward(inputs)
    except RewardFailure as failure:
        states = inputs[reward.world_input]
        return Score(torch.zeros(len(states), device=states.device), {}, str(failure))
    sums = torch.stack([total, *components.values()]).sum(1, dtype=torch.float64).tolist()
    return Score(total, dict(zip(("total", *components), sums, strict=True)))


@dataclass
class Horizon:
    """One horizon: the experience, and per candidate (K) the counts to trace."""

    experience: Experience
    scores: list[Score]
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
    """Acts in the environment's K x M worlds with K policies and scores each candidate's slice with its own reward.

    Rewards do not act on the worlds, so each is called once for the whole horizon: the inputs of every step are kept.
    """

    def __init__(self, env: Environment, rewards: list[RewardFunction]) -> None:
        self.env = env
        self.rewards = rewards
        self.ages = torch.zeros(env.num_envs, dtype=torch.int64, device=env.device)
        """(N,) steps since each world's episode began."""

    @torch.no_grad()
    def collect(self, learner: Learner, noise: Tensor) -> Horizon:
        """One horizon of T steps; noise (K or 1, T, M, num_actions) makes the candidates' actions explore."""
        env = self.env
        observations, means, actions = [env.obs_buf], [], []
        reached: list[dict[str, Tensor | float]] = []
        steps: list[Step] = []
        lengths: list[Tensor] = []
        final_observations: dict[int, Tensor] = {}
        for t, exploration in enumerate(noise.unbind(1)):
            action, mean = learner.act(self._grouped(observations[-1]), exploration)
            actions.append(action.flatten(0, 1))
            means.append(mean.flatten(0, 1))
            step = env.step(actions[-1])
            steps.append(step)
            reached.append(env.attributes)
            self.ages += 1
            done = step.terminated | step.truncated
            lengths.append(self.ages * done)
            if done.any():
                final_observations[t] = self._grouped(env.obs_buf)
                self.ages[done] = 0
                env.reset(done)
            observations.append(env.obs_buf)
        scores = score_horizon(self.env, self.rewards, reached)
        truncated = self._over_time([step.truncated for step in steps])
        cut_off = truncated.any(2).any(0).tolist()
        metric = self._over_time([step.metric for step in steps])
        metric_counts = self._over_time([step.metric_counts for step in steps])
        episodes = self._over_time(lengths)
        return Horizon(
            Experience(
                observations=self._over_time(observations[:-1]),
                actions=self._over_time(actions),
                means=self._over_time(means),
                rewards=torch.stack([score.rewards for score in scores]).view(truncated.shape),
                terminated=self._over_time([step.terminated for step in steps]),
                truncated=truncated,
                next_observations=self._grouped(observations[-1]),
                final_observations={t: final for t, final in final_observations.items() if cut_off[t]},
            ),
            scores,
            metric=(metric * metric_counts).sum((1, 2)),
            metric_counts=metric_counts.sum((1, 2)),
            episode_steps=episodes.sum((1, 2)),
            episodes=(episodes > 0).sum((1, 2)),
            diverged=self._over_time([step.diverged for step in steps]).sum((1, 2)),
        )

    def keep(self, groups: list[int]) -> None:
        """Go on with these groups only."""
        self.ages = self._grouped(self.ages)[groups].flatten()
        self.env.keep(groups)
        self.rewards = [self.rewards[group] for group in groups]

    def _grouped(self, values: Tensor) -> Tensor:
        """(N, ...) as (K, M, ...)."""
        return values.view(self.env.groups, self.env.worlds, *values.shape[1:])

    def _over_time(self, values: list[Tensor]) -> Tensor:
        """T tensors (N, ...), as one, (K, T, M, ...)."""
        return over_time(values, self.env.groups)
