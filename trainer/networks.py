"""K policies and K value functions as one stacked set of parameters (design idea 2).

All parameters of candidate k are row k of one flat matrix [K, P]. Layers are views of its columns, [K, inputs,
outputs], so that K networks cost one batched matrix product per layer, and an optimiser step is a handful of operations
on [K, P].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": functional.elu,
    "silu": functional.silu,
    "relu": functional.relu,
    "tanh": torch.tanh,
}
FINAL_LAYER_GAIN = 0.01
"""Scale of the initial weights of the action head: the first actions are noise around zero."""

Layer = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class NetworkShape:
    """Two perceptrons over the same observation, one for the action's mean, one for the value, and a log std."""

    num_obs: int
    num_actions: int
    hidden: tuple[int, ...]
    activation: str

    @property
    def actor(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of each layer of the policy."""
        return self._layers(self.num_actions)

    @property
    def critic(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of each layer of the value function."""
        return self._layers(1)

    @cached_property
    def parameters(self) -> int:
        """P, the number of parameters of one candidate."""
        return self.num_actions + sum((i + 1) * o for i, o in self.actor + self.critic)

    def _layers(self, outputs: int) -> tuple[tuple[int, int], ...]:
        sizes = (self.num_obs, *self.hidden, outputs)
        return tuple(zip(sizes[:-1], sizes[1:], strict=True))


def initial_parameters(shape: NetworkShape, initial_std: float, generator: torch.Generator) -> Tensor:
    """One candidate's parameters [P]: uniform in +-1/sqrt(inputs), the action head a hundredth of that, log std
    constant.
    """
    parts = []
    for layers, gain in ((shape.actor, FINAL_LAYER_GAIN), (shape.critic, 1.0)):
        for index, (inputs, outputs) in enumerate(layers):
            bound = (gain if index == len(layers) - 1 else 1.0) / math.sqrt(inputs)
            parts.append(torch.empty((inputs + 1) * outputs).uniform_(-bound, bound, generator=generator))
    return torch.cat([*parts, torch.full((shape.num_actions,), math.log(initial_std))])


class StackedActorCritic:
    """K actor-critics over flat parameters [K, P], with which the layers share their memory."""

    def __init__(self, shape: NetworkShape, flat: Tensor) -> None:
        self.shape = shape
        self.flat = flat
        self._leaves: list[Tensor] = []
        self._offset = 0
        self.actor = [self._layer(*sizes) for sizes in shape.actor]
        self.critic = [self._layer(*sizes) for sizes in shape.critic]
        self.log_std = self._leaf(shape.num_actions)

    def mean(self, observations: Tensor) -> Tensor:
        """Mean actions (K, B, num_actions) of normalised observations (K, B, num_obs)."""
        return _perceptron(observations, self.actor, self.shape.activation)

    def value(self, observations: Tensor) -> Tensor:
        """Normalised values (K, B) of normalised observations (K, B, num_obs)."""
        return _perceptron(observations, self.critic, self.shape.activation).squeeze(-1)

    def gradient(self, losses: Tensor) -> Tensor:
        """Gradients [K, P] of the losses [K]: of their sum, since each depends on its own candidate alone."""
        return torch.cat([g.flatten(1) for g in torch.autograd.grad(losses.sum(), self._leaves)], dim=1)

    def _layer(self, inputs: int, outputs: int) -> Layer:
        return self._leaf(inputs, outputs), self._leaf(1, outputs)

    def _leaf(self, *sizes: int) -> Tensor:
        begin, end = self._offset, self._offset + math.prod(sizes)
        self._offset = end
        leaf = self.flat[:, begin:end].view(-1, *sizes).detach().requires_grad_()
        self._leaves.append(leaf)
        return leaf


def _perceptron(x: Tensor, layers: list[Layer], activation: str) -> Tensor:
    for weight, bias in layers[:-1]:
        x = ACTIVATIONS[activation](torch.baddbmm(bias, x, weight))
    weight, bias = layers[-1]
    return torch.baddbmm(bias, x, weight).float()
