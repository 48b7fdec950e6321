"""Proximal policy optimisation (Schulman et al., 2017) of K candidates at once.

Shapes: K candidates, T steps of the horizon, M worlds per candidate, B = samples of a minibatch. Nothing here mixes
candidates: every statistic is taken per candidate, every loss is a vector [K], and the learning rate, the optimiser's
moments, the gradient norm and the normalisers have one row per candidate. So a candidate's training does not depend on
which others share its stack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from simulation.catalog import Preset
from simulation.noise import SharedNoise
from trainer import memory
from trainer.adam import StackedAdam
from trainer.experience import Experience, RewardsOf
from trainer.networks import NetworkShape, StackedActorCritic, draw_for_seeds, draw_parameters
from trainer.normalizer import RunningNormalizer
from trainer.replay_buffer import select

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
LEARNING_RATES = (1e-6, 1e-2)
GRADIENT_NORM = 1.0
LAST_SHARE = 0.2
"""Of a training's steps, those over which the entropy's weight falls."""
ACTION_BOUND = 1.1
"""Mean actions beyond this are penalised (the bounds loss of rl_games); the environment clips at 1."""


@dataclass(frozen=True)
class Minibatch:
    """Samples of one update, views of the packed experience: (K, B) or (K, B, features)."""

    observations: Tensor
    actions: Tensor
    means: Tensor
    log_probs: Tensor
    values: Tensor
    returns: Tensor
    advantages: Tensor


def compute_advantages(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalised advantage estimates (K, T, M) (Schulman et al., 2016, equation 16); all inputs (K, T, M).

    next_values[t] is the value of the state that step t reached, *before* any reset. A terminal state is worth nothing.
    A truncated episode is worth what its last state promised: it enters the error, but the sum over later errors ends
    there too.
    """
    # delta_t = r_t + gamma V(s_t+1) - V(s_t)
    errors = rewards + gamma * next_values * ~terminated - values
    discount = gamma * gae_lambda * ~(terminated | truncated)
    advantages = torch.empty_like(rewards)
    advantage = torch.zeros_like(rewards[:, 0])
    for t in reversed(range(rewards.shape[1])):
        # A_t = delta_t + gamma lambda A_t+1
        advantage = errors[:, t] + discount[:, t] * advantage
        advantages[:, t] = advantage
    return advantages


def log_probability(actions: Tensor, means: Tensor, log_std: Tensor) -> Tensor:
    """Log density (K, B) of actions (K, B, A) under diagonal Gaussians with log std (K, A)."""
    scaled = (actions - means) * torch.exp(-log_std).unsqueeze(1)
    return -0.5 * scaled.square().sum(-1) - (log_std + LOG_SQRT_2PI).sum(-1, keepdim=True)


def gaussian_kl(old_means: Tensor, old_log_std: Tensor, means: Tensor, log_std: Tensor) -> Tensor:
    """Mean over the batch of KL(old || new), [K]; means (K, B, A), log std (K, A)."""
    moved = (old_means - means).square_().mean(1)
    ratio = (torch.exp(2 * old_log_std) + moved) / (2 * torch.exp(2 * log_std))
    return (log_std - old_log_std + ratio - 0.5).sum(-1)


def compute_ppo_slopes(
    batch: Minibatch, means: Tensor, log_std: Tensor, values: Tensor, preset: Preset, entropy_weight: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Derivatives of each candidate's loss by means (K, B, A), values (K, B) and log std (K, A).

    The loss is the batch's mean of -min(r A, clip(r, 1 - c, 1 + c) A) (equation 7), plus the larger of the squared
    errors of v and of v kept within c of the old value, plus bounds_weight times the squares of what means exceed
    ACTION_BOUND by; less entropy_weight times the entropy. By hand: automatic differentiation needs five times as many
    operations.
    """
    share = 1.0 / means.shape[1]
    # log p = -sum(z^2) / 2 - sum(log std) + constant with z = (a - mean) / std, and r = p / p_old
    inverse_std = torch.exp(-log_std).unsqueeze(1)
    z = (batch.actions - means).mul_(inverse_std)
    squares = z.square()
    log_probs = squares.sum(-1).mul_(-0.5).sub_((log_std + LOG_SQRT_2PI).sum(-1, keepdim=True))
    gains = (log_probs - batch.log_probs).exp_().mul_(batch.advantages)
    # d min(r A, clip(r) A) / d log p = r A, or nothing where r A is the larger: beyond A + c |A|
    clipped = gains > torch.add(batch.advantages, batch.advantages.abs(), alpha=preset.clip)
    slopes = gains.masked_fill_(clipped, 0.0).mul_(-share).unsqueeze(-1)
    # d log p / d mean = z / std and d log p / d log std = z^2 - 1; the entropy is the sum of log std
    log_std_slopes = squares.sub_(1.0).mul_(slopes).sum(1).sub_(entropy_weight)
    beyond = means - means.clamp(-ACTION_BOUND, ACTION_BOUND)
    mean_slopes = z.mul_(inverse_std).mul_(slopes).add_(beyond, alpha=2.0 * preset.bounds_weight * share)
    # d max(e^2, (v_kept - return)^2) / d v = 2 e with e = v - return, or nothing where the kept value's error is larger
    errors = values - batch.returns
    kept = torch.clamp(values, batch.values - preset.clip, batch.values + preset.clip).sub_(batch.returns)
    value_slopes = errors.masked_fill(kept.abs_() > errors.abs(), 0.0).mul_(2.0 * share)
    return mean_slopes, value_slopes, log_std_slopes


def adapt_learning_rate(rates: Tensor, kl: Tensor, target: float) -> Tensor:
    """Learning rates [K] after a step that moved the policies by kl [K]: down by 1.5 above twice the target, up below
    half of it.
    """
    slower, faster = kl > 2 * target, kl < 0.5 * target
    factor = torch.where(slower, 1 / 1.5, torch.where(faster, 1.5, 1.0))
    return (rates * factor).clamp(*LEARNING_RATES)


class PPO:
    """K learners: networks, normalisers, optimiser and learning rates.

    `mixed_precision` runs the networks' products in bfloat16, parameters and losses staying in float32. Everything is
    on `device`; what is random is drawn on the CPU, so that it does not depend on the device.
    """

    def __init__(
        self,
        shape: NetworkShape,
        preset: Preset,
        seeds: Sequence[int],
        mixed_precision: bool,
        device: torch.device | str = "cpu",
    ) -> None:
        """`seeds`: of each candidate's initial weights."""
        candidates = len(seeds)
        initial = draw_for_seeds(seeds, lambda generator: draw_parameters(shape, preset.initial_std, generator))
        self.preset = preset
        self.parts = memory.Parts("an update")
        self._dtype = torch.bfloat16 if mixed_precision else torch.float32
        self.networks = StackedActorCritic(shape, initial.to(device), self._dtype)
        self.optimizer = StackedAdam(self.networks.flat)
        self.observations = RunningNormalizer(candidates, shape.num_obs, device)
        self.values = RunningNormalizer(candidates, 1, device)
        self.rates = torch.full((candidates,), preset.learning_rate, device=device)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.networks.flat.device

    @torch.no_grad()
    def mean_actions(self, observations: Tensor) -> Tensor:
        """The policies' mean actions (K, M, num_actions) for observations (K, M, num_obs) of the environment."""
        return self.networks.mean(self.observations.normalize(observations))

    @torch.no_grad()
    def act(self, observations: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Exploring actions and mean actions (K, M, num_actions) for observations (K, M, num_obs) of the environment
        and standard normal noise (K or 1, M, num_actions).
        """
        means = self.mean_actions(observations)
        return means + self.std.unsqueeze(1) * noise, means

    @property
    def std(self) -> Tensor:
        """Standard deviations of the actions (K, num_actions)."""
        return self.networks.log_std.exp()

    def update(self, experience: Experience, noise: SharedNoise) -> None:
        """Improve all K policies from one horizon of experience; `noise` draws the order of minibatches."""
        packed = self._pack(experience)
        old_log_std = self.networks.log_std.clone()
        samples = packed.shape[1]
        for _ in range(self.preset.epochs):
            order = noise.permutation(samples).to(self.device)
            for indices in order.chunk(self.preset.minibatches, dim=1):
                self._step(packed, indices, old_log_std)
        self.observations.update(experience.observations.flatten(1, 2))

    def start_from(self, networks: object, observations: RunningNormalizer) -> None:
        """Begin with this policy's networks for all K in place of random ones.

        The statistics of the observations count as much as all that this training will see: what a policy does depends
        on them, and those of a body that stands still, which hardly varies, would make it fall within ten iterations.
        Optimiser, learning rates and the statistics of the values, which belong to another reward, start as in a new
        training. Raises ValueError where the parameters are those of other networks.
        """
        candidates = len(self.networks.flat)
        if not isinstance(networks, StackedActorCritic):
            raise ValueError("the policy to start from was trained with another algorithm than PPO")
        if networks.flat.shape[1] != self.networks.flat.shape[1]:
            raise ValueError(
                f"the policy to start from has {networks.flat.shape[1]} parameters, these networks have "
                f"{self.networks.flat.shape[1]}: it was trained with another preset or for another task"
            )
        repeated = networks.flat.to(self.device).repeat(candidates, 1)
        self.networks = StackedActorCritic(self.networks.shape, repeated, self._dtype)
        mean, variance = observations.mean.repeat(candidates, 1), observations.variance.repeat(candidates, 1)
        seen = self.preset.worlds * self.preset.horizon * self.preset.iterations
        self.observations.load_state_dict({"mean": mean, "variance": variance, "count": seen})

    def change_reward(self, groups: Sequence[int], rewards: RewardsOf, seeds: Sequence[int] | None = None) -> None:
        """Go on with another reward for these candidates. With `seeds`, their value functions' last layers begin again
        (B-Pref's PrefPPO after its unsupervised part): they predict the mean. There is nothing to relabel.
        """
        if seeds is None:
            return
        inputs, _ = self.networks.shape.critic[-1]
        bound = 1.0 / math.sqrt(inputs)
        drawn = draw_for_seeds(seeds, lambda stream: torch.empty(inputs, 1).uniform_(-bound, bound, generator=stream))
        weight, bias = self.networks.value_head(self.networks.flat)
        weight[list(groups)], bias[list(groups)] = drawn.to(self.device), 0.0
        for moments in (self.optimizer.first, self.optimizer.second):
            for part in self.networks.value_head(moments):
                part[list(groups)] = 0.0
        self.networks.refresh()

    def find_finite(self) -> Tensor:
        """[K] bool: whether each candidate's parameters and normalisers are all finite."""
        rows = (self.networks.flat, self.observations.variance, self.values.variance)
        return torch.stack([row.isfinite().all(1) for row in rows]).all(0)

    def keep(self, groups: list[int]) -> None:
        """Go on with these candidates only."""
        self.networks = StackedActorCritic(self.networks.shape, self.networks.flat[groups], self._dtype)
        self.optimizer.keep(groups)
        self.observations.keep(groups)
        self.values.keep(groups)
        self.rates = self.rates[groups]

    def policy_state(self, group: int) -> dict[str, Any]:
        """One candidate's policy, as checkpoint.load_policy reads it."""
        shape = asdict(self.networks.shape)
        return {
            "shape": {**shape, "hidden": list(shape["hidden"])},
            "parameters": self.networks.flat[group].clone().cpu(),
            "observation_mean": self.observations.mean[group].clone().cpu(),
            "observation_variance": self.observations.variance[group].clone().cpu(),
        }

    def state_dict(self) -> dict[str, Any]:
        """Everything that a continuation needs: tensors and plain values."""
        return {
            "parameters": self.networks.flat,
            "first": self.optimizer.first,
            "second": self.optimizer.second,
            "steps": self.optimizer.steps,
            "observations": self.observations.state_dict(),
            "values": self.values.state_dict(),
            "rates": self.rates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict, on this learner's device."""
        device = self.device
        self.networks = StackedActorCritic(self.networks.shape, state["parameters"].to(device), self._dtype)
        self.optimizer.first, self.optimizer.second = state["first"].to(device), state["second"].to(device)
        self.optimizer.steps = state["steps"]
        self.observations.load_state_dict(state["observations"])
        self.values.load_state_dict(state["values"])
        self.rates = state["rates"].to(device)

    @torch.no_grad()
    def _pack(self, experience: Experience) -> Tensor:
        """The horizon as one tensor (K, T * M, features), so that a minibatch is one indexing operation."""
        observations = self.observations.normalize(experience.observations.flatten(1, 2))
        values, next_values = self._values(experience, observations)
        preset = self.preset
        advantages = compute_advantages(
            experience.rewards * preset.reward_scale,
            values,
            next_values,
            experience.terminated,
            experience.truncated,
            preset.gamma,
            preset.gae_lambda,
        )
        returns = (advantages + values).flatten(1).unsqueeze(-1)
        self._renormalize_values(returns)
        variance, mean = torch.var_mean(advantages.flatten(1), dim=1, keepdim=True)
        advantages = (advantages.flatten(1) - mean) / (variance.sqrt() + 1e-8)
        means, actions = experience.means.flatten(1, 2), experience.actions.flatten(1, 2)
        log_probs = log_probability(actions, means, self.networks.log_std)
        values = self.values.normalize(values.flatten(1).unsqueeze(-1))
        scalars = [log_probs.unsqueeze(-1), values, self.values.normalize(returns), advantages.unsqueeze(-1)]
        return torch.cat([observations, actions, means, *scalars], dim=-1)

    def _renormalize_values(self, returns: Tensor) -> None:
        """Take the returns (K, B, 1) into the value normaliser, and keep what the value functions predict (Pop-Art).

        With s, m the old scale and mean and s', m' the new: w <- w s / s', b <- (b s + m - m') / s' (van Hasselt et
        al., 2016).
        """
        old_mean, old_scale = self.values.mean.unsqueeze(-1), self.values.scale.unsqueeze(-1)
        self.values.update(returns)
        mean, scale = self.values.mean.unsqueeze(-1), self.values.scale.unsqueeze(-1)
        weight, bias = self.networks.critic[-1]
        weight.mul_(old_scale / scale)
        bias.mul_(old_scale).add_(old_mean - mean).div_(scale)
        self.networks.refresh()

    def _values(self, experience: Experience, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Values (K, T, M) of the states acted in, and of the states reached, before resets."""
        candidates, horizon, worlds = experience.rewards.shape
        values = self._value(observations).view(candidates, horizon, worlds)
        last = self._value(self.observations.normalize(experience.next_observations)).unsqueeze(1)
        next_values = torch.cat([values[:, 1:], last], dim=1)
        for t, final in experience.final_observations.items():
            reached = self._value(self.observations.normalize(final))
            next_values[:, t] = torch.where(experience.truncated[:, t], reached, next_values[:, t])
        return values, next_values

    def _value(self, normalized: Tensor) -> Tensor:
        return self.values.denormalize(self.networks.value(normalized).unsqueeze(-1)).squeeze(-1)

    def _unpack(self, packed: Tensor) -> Minibatch:
        shape = self.networks.shape
        sizes = [shape.num_obs, shape.num_actions, shape.num_actions, 1, 1, 1, 1]
        wide = torch.split_with_sizes(packed, sizes, dim=-1)
        return Minibatch(*wide[:3], *(scalar.squeeze(-1) for scalar in wide[3:]))

    def _step(self, packed: Tensor, indices: Tensor, old_log_std: Tensor) -> None:
        """One optimiser step on these samples."""
        gradient, kl = self.parts.work(lambda parts: self._sum_parts(packed, indices, old_log_std, parts))
        self.rates = adapt_learning_rate(self.rates, kl, self.preset.kl_target)
        norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
        gradient *= (GRADIENT_NORM / (norm + 1e-6)).clamp_max(1.0)
        self.optimizer.step(self.networks.flat, gradient, self.rates)
        self.networks.refresh()

    def _sum_parts(self, packed: Tensor, indices: Tensor, old_log_std: Tensor, parts: int) -> tuple[Tensor, Tensor]:
        """Gradient [K, P] and KL divergence [K] of a minibatch: the means of its parts', weighted by their sizes."""
        if parts == 1:
            return self._gradient(select(packed, indices), old_log_std)
        gradient, kl = torch.zeros_like(self.networks.flat), torch.zeros_like(self.rates)
        for part in indices.chunk(parts, dim=1):
            share = part.shape[1] / indices.shape[1]
            part_gradient, part_kl = self._gradient(select(packed, part), old_log_std)
            gradient.add_(part_gradient, alpha=share)
            kl.add_(part_kl, alpha=share)
        return gradient, kl

    def _weigh_entropy(self) -> float:
        """The preset's weight, which falls to nothing over the last steps."""
        preset = self.preset
        left = 1.0 - self.optimizer.steps / (preset.iterations * preset.epochs * preset.minibatches)
        return preset.entropy_weight * min(1.0, max(0.0, left / LAST_SHARE))

    def _gradient(self, rows: Tensor, old_log_std: Tensor) -> tuple[Tensor, Tensor]:
        """Gradient [K, P] and KL divergence [K] of packed samples (K, B, features)."""
        networks, batch = self.networks, self._unpack(rows)
        policy, critic = networks.traces(batch.observations)
        means, values = policy.output, critic.output.squeeze(-1)
        mean_slopes, value_slopes, log_std_slopes = compute_ppo_slopes(
            batch, means, networks.log_std, values, self.preset, self._weigh_entropy()
        )
        slopes = (mean_slopes, value_slopes.unsqueeze(-1))
        gradient = networks.gradient((policy, critic), slopes, log_std_slopes)
        return gradient, gaussian_kl(batch.means, old_log_std, means, networks.log_std)
