"""K policies and K value functions as one stacked set of parameters (design idea 2).

All parameters of candidate k are row k of one flat matrix [K, P]. Layers are views of its columns, [K, inputs,
outputs], so that K networks cost one batched matrix product per layer, and an optimiser step is a handful of operations
on [K, P].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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


def seeded(seeds: Sequence[int], draw: Callable[[torch.Generator], Tensor]) -> Tensor:
    """What `draw` gives for each of K seeds, [K, ...]; equal seeds get the same."""
    drawn = {seed: draw(torch.Generator().manual_seed(seed)) for seed in dict.fromkeys(seeds)}
    return torch.stack([drawn[seed] for seed in seeds])


class StackedActorCritic:
    """K actor-critics over flat parameters [K, P], with which the layers share their memory.

    Products are computed in `dtype`. Where that is not float32, they use a copy of the parameters, which `refresh`
    brings up to date: call it after a change of the parameters.
    """

    def __init__(self, shape: NetworkShape, flat: Tensor, dtype: torch.dtype = torch.float32) -> None:
        self.shape = shape
        self.flat = flat
        self.actor, self.critic, self.log_std = self._views(flat)
        self._working = flat.to(dtype)  # flat itself where that is its type
        self._actor, self._critic, _ = self._views(self._working)
        self._leaves = [tensor.requires_grad_() for layer in (*self._actor, *self._critic) for tensor in layer]

    def refresh(self) -> None:
        """Compute with the parameters as they are now."""
        if self._working is not self.flat:
            self._working.copy_(self.flat)

    def mean(self, observations: Tensor) -> Tensor:
        """Mean actions (K, B, num_actions) of normalised observations (K, B, num_obs)."""
        return self._perceptron(observations, self._actor)

    def value(self, observations: Tensor) -> Tensor:
        """Normalised values (K, B) of normalised observations (K, B, num_obs)."""
        return self._perceptron(observations, self._critic).squeeze(-1)

    def gradient(self, outputs: Sequence[Tensor], slopes: Sequence[Tensor], log_std_slope: Tensor) -> Tensor:
        """Gradient [K, P] of K losses whose derivatives by these outputs of mean and value are `slopes`, and by log std
        (K, num_actions).
        """
        with torch.enable_grad():  # as one number: with slopes as an argument, torch would import its symbolic algebra
            products = [torch.dot(y.flatten(), slope.flatten()) for y, slope in zip(outputs, slopes, strict=True)]
            parts = torch.autograd.grad(torch.stack(products).sum(), self._leaves)
        return torch.cat([torch.cat([part.flatten(1) for part in parts], dim=1), log_std_slope], dim=1)

    def _perceptron(self, x: Tensor, layers: list[Layer]) -> Tensor:
        x, activation = x.to(self._working.dtype), ACTIVATIONS[self.shape.activation]
        for weight, bias in layers[:-1]:
            x = activation(torch.baddbmm(bias, x, weight))
        weight, bias = layers[-1]
        return torch.baddbmm(bias, x, weight).float()

    def _views(self, flat: Tensor) -> tuple[list[Layer], list[Layer], Tensor]:
        """Layers of actor and critic and log std, in the order of initial_parameters."""
        actor, critic = self.shape.actor, self.shape.critic
        sizes = [size for inputs, outputs in actor + critic for size in ((inputs, outputs), (1, outputs))]
        columns = torch.split(flat.detach(), [*map(math.prod, sizes), self.shape.num_actions], dim=1)
        tensors = [column.view(-1, *size) for column, size in zip(columns[:-1], sizes, strict=True)]
        layers = list(zip(tensors[::2], tensors[1::2], strict=True))
        return layers[: len(actor)], layers[len(actor) :], columns[-1]
