"""Collect one horizon of experience from K candidates' worlds, with the sums for traces."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from simulation.environment import Environment, Step
from trainer.experience import Experience
from trainer.learner import Learner
from trainer.scoring import Score, Scorer, score_horizon, stack_steps


@dataclass
class Horizon:
    """One horizon: the experience, and per candidate (K) the counts to trace."""

    experience: Experience
    scores: list[Score]
    step_metric: Tensor = field(repr=False)
    """(K, T, M) the hidden metric of each step."""
    step_counts: Tensor = field(repr=False)
    """(K, T, M) bool: the steps at which it counts."""
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
    poses: Tensor = field(repr=False)
    """(K, T, W, P): how the first W worlds stood before each step, as Environment.poses has it; W = 0 where nobody
    films them."""


class Collector:
    """Acts in the environment's K x M worlds with K policies and scores each candidate's slice with its own reward.

    Rewards do not act on the worlds, so each is called once for the whole horizon: the inputs of every step are kept.
    """

    def __init__(
        self, env: Environment, scorers: list[Scorer], shared_experience: bool = False, filmed_worlds: int = 0
    ) -> None:
        """`shared_experience`: score all slices with every candidate's reward. `filmed_worlds`: W, how many worlds of
        each candidate have their poses recorded.
        """
        self.env = env
        self.filmed_worlds = filmed_worlds
        self.scorers = scorers
        self.shared_experience = shared_experience
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
        poses: list[Tensor] = []
        final_observations: dict[int, Tensor] = {}
        for t, exploration in enumerate(noise.unbind(1)):
            action, mean = learner.act(self._group_worlds(observations[-1]), exploration)
            actions.append(action.flatten(0, 1))
            means.append(mean.flatten(0, 1))
            poses.append(self._record_poses())
            step = env.step(actions[-1])
            steps.append(step)
            reached.append(env.attributes)
            self.ages += 1
            done = step.terminated | step.truncated
            lengths.append(self.ages * done)
            if done.any():
                final_observations[t] = self._group_worlds(env.obs_buf)
                self.ages[done] = 0
                env.reset(done)
            observations.append(env.obs_buf)
        scores = score_horizon(self.env, self.scorers, reached, self.shared_experience)
        truncated = self._stack_steps([step.truncated for step in steps])
        cut_off = truncated.any(2).any(0).tolist()
        metric = self._stack_steps([step.metric for step in steps])
        metric_counts = self._stack_steps([step.metric_counts for step in steps])
        episodes = self._stack_steps(lengths)
        rewards = torch.stack([score.rewards for score in scores])
        of_all = rewards.view(len(scores), *truncated.shape) if self.shared_experience else None
        return Horizon(
            Experience(
                observations=self._stack_steps(observations[:-1]),
                actions=self._stack_steps(actions),
                means=self._stack_steps(means),
                rewards=rewards.view(truncated.shape) if of_all is None else take_own_rewards(of_all),
                terminated=self._stack_steps([step.terminated for step in steps]),
                truncated=truncated,
                next_observations=self._group_worlds(observations[-1]),
                final_observations={t: final for t, final in final_observations.items() if cut_off[t]},
                rewards_of_all=of_all,
            ),
            scores,
            step_metric=metric,
            step_counts=metric_counts,
            metric=(metric * metric_counts).sum((1, 2)),
            metric_counts=metric_counts.sum((1, 2)),
            episode_steps=episodes.sum((1, 2)),
            episodes=(episodes > 0).sum((1, 2)),
            diverged=self._stack_steps([step.diverged for step in steps]).sum((1, 2)),
            poses=torch.stack(poses, dim=1),
        )

    def keep(self, groups: list[int]) -> None:
        """Go on with these groups only."""
        self.ages = self._group_worlds(self.ages)[groups].flatten()
        self.env.keep(groups)
        self.scorers = [self.scorers[group] for group in groups]

    def _record_poses(self) -> Tensor:
        """How the filmed worlds stand (K, W, P)."""
        if not self.filmed_worlds:
            return torch.zeros(self.env.groups, 0, 0)
        firsts = torch.arange(self.env.groups, device=self.env.device).unsqueeze(1) * self.env.worlds
        worlds = firsts + torch.arange(self.filmed_worlds, device=self.env.device)
        return self.env.poses(worlds.flatten()).view(*worlds.shape, -1)

    def _group_worlds(self, values: Tensor) -> Tensor:
        """(N, ...) as (K, M, ...)."""
        return values.view(self.env.groups, self.env.worlds, *values.shape[1:])

    def _stack_steps(self, values: list[Tensor]) -> Tensor:
        """T tensors (N, ...), as one, (K, T, M, ...)."""
        return stack_steps(values, self.env.groups)


def take_own_rewards(rewards_of_all: Tensor) -> Tensor:
    """What each candidate's reward gives for its own states (K, T, M), from Experience.rewards_of_all."""
    return torch.stack([rewards[group] for group, rewards in enumerate(rewards_of_all)])
