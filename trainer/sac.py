"""Soft actor-critic (Haarnoja et al., 2018) of K candidates at once, with SimbaV2's networks, categorical critics and
reward scaling (Lee et al., 2025).

Shapes: K candidates, M worlds per candidate, T steps of the horizon, B samples of a minibatch, Z atoms. As in
trainer.ppo nothing mixes candidates: replay, statistics, temperature and optimisers have rows of their own, and every
loss is a vector [K] whose sum is differentiated. Two critics a candidate are rows 2 k and 2 k + 1 of one matrix.

With shared experience one replay and one set of observation statistics are of all candidates' worlds: each row has K
rewards, and a candidate's minibatches have its own. The scale of returns stays each candidate's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from simulation.catalog import SacPreset
from simulation.noise import SharedNoise
from trainer import memory
from trainer.adam import StackedAdam
from trainer.experience import Experience, Newest, RewardsOf
from trainer.networks import draw_for_seeds
from trainer.normalizer import RunningNormalizer
from trainer.ppo import LOG_SQRT_2PI
from trainer.replay_buffer import ReplayBuffer, select
from trainer.replay_rows import pack_rows, pack_together, unpack_together
from trainer.returns import VALUE_LIMIT, ReturnScale
from trainer.simba import SimbaShape, draw_simba, normalize_weights, simba

ATOMS = 101
"""Values that a critic gives probabilities to, evenly from -VALUE_LIMIT to VALUE_LIMIT."""
LOG_STD = (-5.0, 2.0)
"""Bounds of the log standard deviation before the tanh."""
TARGET_ENTROPY = -0.5
"""For each action."""
BFLOAT16_FROM = 128
"""Width of critics from which products in bfloat16 save more than the conversions cost."""
RELABELLED = 1 << 16
"""Rows of the replay that get another reward at once."""
LAST_LEARNING_RATE = 0.1
"""The share of the first learning rate that is left at the end of the budget."""


def squash(mean: Tensor, raw_log_std: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Actions (K, B, A) in (-1, 1) and their log densities (K, B), from a head's outputs (K, B, A) and standard normal
    noise (K or 1, B, A): u = mean + std * noise, a = tanh(u).
    """
    low, high = LOG_STD
    log_std = low + 0.5 * (high - low) * (1 + torch.tanh(raw_log_std))
    u = mean + torch.exp(log_std) * noise
    # log N(u) - log |da/du| with da/du = 1 - tanh(u)^2, whose log is 2 (log 2 - u - softplus(-2 u))
    slope = 2 * (math.log(2) - u - functional.softplus(-2 * u))
    return torch.tanh(u), (-0.5 * noise.square() - log_std - LOG_SQRT_2PI - slope).sum(-1)


def project(probabilities: Tensor, values: Tensor) -> Tensor:
    """The distribution over the atoms (..., Z) that lies nearest to these probabilities (..., Z) of these values (...,
    Z): each is split between its two neighbours (Bellemare et al., 2017, equation 7).
    """
    spacing = 2 * VALUE_LIMIT / (ATOMS - 1)
    position = (values.clamp(-VALUE_LIMIT, VALUE_LIMIT) + VALUE_LIMIT) / spacing
    lower = position.floor().nan_to_num_(0.0).clamp_max_(ATOMS - 2)  # NaN stays NaN, at some atom
    upward, below = (position - lower) * probabilities, lower.long()
    nearest = torch.zeros_like(probabilities).scatter_add_(-1, below, probabilities - upward)
    return nearest.scatter_add_(-1, below + 1, upward)


def compute_temperature_slope(log_temperature: Tensor, log_probs: Tensor, actions: int) -> Tensor:
    """Derivative [K, 1] of exp(log_temperature) (entropy - target), whose minimum keeps the entropy of log_probs (K, B)
    at the target.
    """
    entropy = -log_probs.mean(1, keepdim=True)
    return log_temperature.exp() * (entropy - TARGET_ENTROPY * actions)


class SimbaPolicy:
    """Policies with SimbaV2's networks, and the critics that they were trained with, to go on from."""

    def __init__(self, shape: SimbaShape, flat: Tensor, critics: Tensor, log_temperature: Tensor) -> None:
        self.shape, self.flat, self.critics, self.log_temperature = shape, flat, critics, log_temperature

    @torch.no_grad()
    def mean(self, observations: Tensor) -> Tensor:
        """Mean actions (1, B, A) of normalised observations (1, B, num_obs)."""
        return torch.tanh(simba(self.shape, self.flat, observations)[0])


class SAC:
    """K learners. `mixed_precision` runs wide networks' products in bfloat16, all else staying in float32."""

    def __init__(
        self,
        num_obs: int,
        num_actions: int,
        preset: SacPreset,
        seeds: Sequence[int],
        mixed_precision: bool,
        device: torch.device | str = "cpu",
        shared_experience: bool = False,
    ) -> None:
        """`seeds`: of each candidate's initial weights."""
        candidates = len(seeds)
        self.shared_experience = shared_experience
        self.preset, self.num_obs, self.num_actions = preset, num_obs, num_actions
        self.shape, self.critic_shape = make_shapes(num_obs, num_actions, preset)
        wide = preset.critic_width >= BFLOAT16_FROM
        self._dtype = torch.bfloat16 if mixed_precision and wide else torch.float32
        initial = draw_for_seeds(seeds, self._draw_parameters).to(device)
        self.actors = initial[:, : self.shape.parameters].clone()
        """[K, P]."""
        self.critics = initial[:, self.shape.parameters :].reshape(2 * candidates, -1)
        """[2 K, P]."""
        self.targets = self.critics.clone()
        self.log_temperature = torch.full((candidates, 1), math.log(preset.initial_temperature), device=device)
        self.optimizers = [StackedAdam(rows) for rows in (self.actors, self.critics, self.log_temperature)]
        self.observations = RunningNormalizer(candidates, num_obs, device)
        self.returns = ReturnScale(candidates, preset.worlds, preset.gamma, device)
        self._state_features = 2 * num_obs + num_actions + 1
        """Columns of a row without rewards."""
        replays, rewards = (1, candidates) if shared_experience else (candidates, 1)
        self.replay = ReplayBuffer(replays, preset.replay, self._state_features + rewards, device)
        self.parts = memory.Parts("an update")
        self.atoms = torch.linspace(-VALUE_LIMIT, VALUE_LIMIT, ATOMS, device=device)

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""
        return self.actors.device

    @torch.no_grad()
    def act(self, observations: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Exploring actions and mean actions (K, M, num_actions) for observations (K, M, num_obs) of the environment
        and standard normal noise (K or 1, M, num_actions).
        """
        mean, log_std = self._policy(self.actors, self.observations.normalize(observations))
        return squash(mean, log_std, noise)[0], torch.tanh(mean)

    @torch.no_grad()
    def mean_actions(self, observations: Tensor) -> Tensor:
        """The policies' mean actions (K, M, num_actions) for observations (K, M, num_obs) of the environment."""
        return torch.tanh(self._policy(self.actors, self.observations.normalize(observations))[0])

    def update(self, experience: Experience, noise: SharedNoise) -> None:
        """Take one horizon into the replay, then improve all K; `noise` draws minibatches and sampled actions."""
        if experience.rewards_of_all is None:
            self.replay.add(pack_rows(experience))
            self.observations.update(experience.observations.flatten(1, 2))
        else:
            self.replay.add(pack_together(experience, experience.rewards_of_all))
            everywhere = experience.observations.flatten(0, 2)
            self.observations.update(everywhere.expand(len(self.actors), *everywhere.shape))
        self.returns.update(experience.rewards, experience.terminated | experience.truncated)
        preset = self.preset
        if self.replay.size < min(preset.learning_starts, self.replay.capacity):
            return
        indices = self._draw(noise, experience.newest).to(self.device)
        sampled = noise.normal(preset.updates, 2, preset.batch, self.num_actions).to(self.device)
        for update in range(preset.updates):
            rows = select(self.replay.rows, indices[:, update])
            if self.shared_experience:
                rows = unpack_together(rows[0], self._state_features)
            self._step(rows, sampled[:, update, 0], sampled[:, update, 1])

    def _draw(self, noise: SharedNoise, newest: dict[int, Newest]) -> Tensor:
        """The places in the replay of all samples of a horizon's minibatches, (K or 1, updates, batch).

        The last ones of a minibatch are drawn again for candidates that want some of their newest (hybrid experience
        replay: QPA, Hu et al. 2024, section 5.2): from a source of their own, so that all others draw as ever.
        """
        preset = self.preset
        indices = noise.integers(self.replay.size, preset.updates, preset.batch)
        if not newest:
            return indices
        indices = indices.expand(len(self.actors), -1, -1).clone()
        for group, wanted in newest.items():
            count, generator = round(wanted.share * preset.batch), torch.Generator().manual_seed(wanted.seed)
            most = min(wanted.samples, self.replay.size)
            ages = torch.randint(most, (preset.updates, count), generator=generator)
            indices[group, :, preset.batch - count :] = self.replay.places(ages)
        return indices

    def start_from(self, networks: object, observations: RunningNormalizer) -> None:
        """Begin with this policy, its critics and its temperature for all K in place of random ones.

        The statistics of the observations count as much as all that this training will see. Those of the returns,
        which belong to another reward, the optimisers and the replay start empty. Raises ValueError where the networks
        differ.
        """
        if not isinstance(networks, SimbaPolicy):
            raise ValueError("the policy to start from was trained with another algorithm than SAC")
        fits = (networks.flat.shape[1], networks.critics.shape[1]) == (self.actors.shape[1], self.critics.shape[1])
        if networks.shape != self.shape or not fits:
            raise ValueError(
                "the policy to start from has networks of other sizes: it was trained with another preset or for "
                "another task"
            )
        candidates = len(self.actors)
        self.actors = networks.flat.to(self.device).repeat(candidates, 1)
        self.critics = networks.critics.to(self.device).repeat(candidates, 1)
        self.targets = self.critics.clone()
        self.log_temperature = networks.log_temperature.to(self.device).repeat(candidates, 1)
        mean, variance = observations.mean.repeat(candidates, 1), observations.variance.repeat(candidates, 1)
        seen = self.preset.worlds * self.preset.horizon * self.preset.iterations
        self.observations.load_state_dict({"mean": mean, "variance": variance, "count": seen})

    def change_reward(self, groups: Sequence[int], rewards: RewardsOf, seeds: Sequence[int] | None = None) -> None:
        """Go on with another reward for these candidates: all of their replay gets it (PEBBLE, section 4.3). With
        `seeds`, their critics, these critics' optimiser and the scale of their returns begin again.
        """
        chosen, column = list(groups), 2 * self.num_obs + self.num_actions
        for begin in range(0, self.replay.size, RELABELLED):
            end = min(begin + RELABELLED, self.replay.size)
            rows = self.replay.rows[chosen, begin:end]
            found = rewards(rows[..., : self.num_obs], rows[..., 2 * self.num_obs : column], rows[..., column])
            self.replay.rows[..., column][chosen, begin:end] = found
        if seeds is None:
            return
        pairs = [row for group in chosen for row in (2 * group, 2 * group + 1)]
        drawn = draw_for_seeds(seeds, self._draw_parameters)[:, self.shape.parameters :]
        self.critics[pairs] = drawn.reshape(len(pairs), -1).to(self.device)
        self.targets[pairs] = self.critics[pairs]
        self.optimizers[1].restart(pairs)
        self.returns.restart(chosen)

    def find_finite(self) -> Tensor:
        """[K] bool: whether everything that each candidate has learned is finite."""
        rows = (self.actors, self.critics.view(len(self.actors), -1), self.log_temperature)
        return torch.stack([row.isfinite().all(1) for row in (*rows, self.returns.scale, self.observations.scale)]).all(
            0
        )

    def keep(self, groups: list[int]) -> None:
        """Go on with these candidates only."""
        pairs = [row for group in groups for row in (2 * group, 2 * group + 1)]
        self.actors, self.log_temperature = self.actors[groups], self.log_temperature[groups]
        self.critics, self.targets = self.critics[pairs], self.targets[pairs]
        for optimizer, rows in zip(self.optimizers, (groups, pairs, groups), strict=True):
            optimizer.keep(rows)
        for part in (self.observations, self.returns):
            part.keep(groups)
        if self.shared_experience:
            rewards = [self._state_features + group for group in groups]
            self.replay.keep_features([*range(self._state_features), *rewards])
        else:
            self.replay.keep(groups)

    def policy_state(self, group: int) -> dict[str, Any]:
        """One candidate's policy, as checkpoint.load_policy reads it."""
        sizes = {"width": self.shape.width, "blocks": self.shape.blocks}
        critic = {"width": self.critic_shape.width, "blocks": self.critic_shape.blocks}
        return {
            "algorithm": "sac",
            "shape": {"num_obs": self.num_obs, "num_actions": self.num_actions, **sizes},
            "critic": critic,
            "parameters": self.actors[group].clone().cpu(),
            "critics": self.critics[2 * group : 2 * group + 2].clone().cpu(),
            "log_temperature": self.log_temperature[group].clone().cpu(),
            "observation_mean": self.observations.mean[group].clone().cpu(),
            "observation_variance": self.observations.variance[group].clone().cpu(),
        }

    def state_dict(self) -> dict[str, Any]:
        """Everything that a continuation needs, the replay included: tensors and plain values."""
        return {
            "actors": self.actors,
            "critics": self.critics,
            "targets": self.targets,
            "log_temperature": self.log_temperature,
            "optimizers": [[one.first, one.second, one.steps, one.begun] for one in self.optimizers],
            "observations": self.observations.state_dict(),
            "returns": self.returns.state_dict(),
            "replay": self.replay.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict, on this learner's device."""
        device = self.device
        for name in ("actors", "critics", "targets", "log_temperature"):
            setattr(self, name, state[name].to(device))
        for optimizer, (first, second, steps, *begun) in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.first, optimizer.second, optimizer.steps = first.to(device), second.to(device), steps
            optimizer.begun = list(begun[0]) if begun else [0] * len(first)  # files of earlier versions have none
        self.observations.load_state_dict(state["observations"])
        self.returns.load_state_dict(state["returns"])
        self.replay.load_state_dict(state["replay"])

    def _draw_parameters(self, generator: torch.Generator) -> Tensor:
        shapes = (self.shape, self.critic_shape, self.critic_shape)
        return torch.cat([draw_simba(shape, generator) for shape in shapes])

    def _policy(self, flat: Tensor, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Means and log standard deviations, both before their tanh, of normalised observations (K, B, num_obs)."""
        mean, raw_log_std = simba(self.shape, flat, observations, self._dtype)
        return mean, raw_log_std

    def _logits(self, flat: Tensor, observations: Tensor, actions: Tensor) -> Tensor:
        """Logits of the atoms' probabilities (K, 2, B, Z) by both critics of each candidate."""
        pairs = torch.cat([observations, actions], dim=-1).repeat_interleave(2, dim=0)
        (logits,) = simba(self.critic_shape, flat, pairs, self._dtype)
        return logits.view(-1, 2, *logits.shape[1:])

    def _step(self, rows: Tensor, next_noise: Tensor, noise: Tensor) -> None:
        """One step of critics, actors and temperatures on packed samples (K, B, features)."""
        (gradient,) = self._average_parts(self._critics_gradient, rows, next_noise)
        self._descend(1, self.critics, gradient)
        normalize_weights(self.critic_shape, self.critics)
        gradient, slope = self._average_parts(self._actors_gradient, rows, noise)
        self._descend(0, self.actors, gradient)
        normalize_weights(self.shape, self.actors)
        self._descend(2, self.log_temperature, slope)
        self.targets.lerp_(self.critics, self.preset.target_rate)

    def _average_parts(
        self, means: Callable[[Tensor, Tensor], Sequence[Tensor]], rows: Tensor, noise: Tensor
    ) -> list[Tensor]:
        """What `means` gives for samples (K, B, features) and noise (K or 1, B, A), each a mean over the samples: of
        all at once, or of parts, weighted by their sizes, where memory does not suffice.
        """

        def average(parts: int) -> list[Tensor]:
            if parts == 1:
                return list(means(rows, noise))
            totals: list[Tensor] = []
            for some, theirs in zip(rows.chunk(parts, dim=1), noise.chunk(parts, dim=1), strict=True):
                found = [some.shape[1] / rows.shape[1] * mean for mean in means(some, theirs)]
                totals = [total.add_(more) for total, more in zip(totals, found, strict=True)] if totals else found
            return totals

        return self.parts.work(average)

    def _critics_gradient(self, rows: Tensor, next_noise: Tensor) -> Sequence[Tensor]:
        """Gradient [2 K, P] of the cross-entropy of the wanted distribution and the predicted one."""
        sizes = [self.num_obs, self.num_obs, self.num_actions, 1, 1]
        observations, next_observations, actions, rewards, goes_on = torch.split(rows, sizes, dim=-1)
        observations = self.observations.normalize(observations)
        rewards = rewards * self.returns.scale.unsqueeze(1)
        wanted = self._compute_targets(self.observations.normalize(next_observations), rewards, goes_on, next_noise)
        critics = self.critics.detach().requires_grad_()
        logits = self._logits(critics, observations, actions)
        # the derivative of -sum(wanted log softmax(logits)) by logits is softmax(logits) - wanted
        slope = torch.softmax(logits.detach(), dim=-1).sub_(wanted.unsqueeze(1)).div_(rows.shape[1])
        return torch.autograd.grad(logits, critics, slope)

    @torch.no_grad()
    def _compute_targets(self, next_observations: Tensor, rewards: Tensor, goes_on: Tensor, noise: Tensor) -> Tensor:
        """The critics' target (K, B, Z): r + gamma (Z(s', a') - temperature log p(a')), with Z by the target critic
        that expects less; r alone where the episode was terminated.
        """
        actions, log_probs = squash(*self._policy(self.actors, next_observations), noise)
        probabilities = torch.softmax(self._logits(self.targets, next_observations, actions), dim=-1)
        less = (probabilities @ self.atoms).argmin(1)
        index = less.unsqueeze(1).unsqueeze(-1).expand(-1, 1, -1, ATOMS)
        chosen = probabilities.gather(1, index).squeeze(1)
        soft = self.atoms - (self.log_temperature.exp() * log_probs).unsqueeze(-1)
        return project(chosen, rewards + self.preset.gamma * goes_on * soft)

    def _actors_gradient(self, rows: Tensor, noise: Tensor) -> Sequence[Tensor]:
        """Gradient [K, P] of the mean of temperature log p(a) - min Q(s, a), and the temperature's slope [K, 1]."""
        observations = self.observations.normalize(rows[..., : self.num_obs])
        actors = self.actors.detach().requires_grad_()
        actions, log_probs = squash(*self._policy(actors, observations), noise)
        logits = self._logits(self.critics, observations, actions)
        slopes = (
            self._value_slopes(logits.detach()),
            (self.log_temperature.exp() / rows.shape[1]).expand_as(log_probs),
        )
        slope = compute_temperature_slope(self.log_temperature, log_probs.detach(), self.num_actions)
        return *torch.autograd.grad((logits, log_probs), actors, slopes), slope

    def _value_slopes(self, logits: Tensor) -> Tensor:
        """Derivative of the mean of -min Q by logits (K, 2, B, Z): Q = p . atoms, so dQ / d logits = p (atoms - Q)."""
        probabilities = torch.softmax(logits, dim=-1)
        values = (probabilities @ self.atoms).unsqueeze(-1)
        less = values == values.amin(1, keepdim=True)
        share = less / less.sum(1, keepdim=True).mul_(-logits.shape[2])
        return probabilities.mul_(self.atoms - values).mul_(share)

    def _descend(self, which: int, parameters: Tensor, gradient: Tensor) -> None:
        """One optimiser step at the present learning rate."""
        optimizer, preset = self.optimizers[which], self.preset
        done = min(1.0, optimizer.steps / (preset.iterations * preset.updates))
        rate = preset.learning_rate * (1 - (1 - LAST_LEARNING_RATE) * done)
        optimizer.step(parameters, gradient, torch.full((len(parameters),), rate, device=self.device))


def make_shapes(num_obs: int, num_actions: int, preset: SacPreset) -> tuple[SimbaShape, SimbaShape]:
    """The networks of an actor, whose heads give mean and log standard deviation, and of a critic."""
    actor = SimbaShape(num_obs, (num_actions, num_actions), preset.actor_width, preset.actor_blocks)
    return actor, SimbaShape(num_obs + num_actions, (ATOMS,), preset.critic_width, preset.critic_blocks)
