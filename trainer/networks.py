"""K policies and K value functions as one stacked set of parameters.

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
_BACK: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "elu": lambda slope, x, y: torch.ops.aten.elu_backward(slope, 1.0, 1.0, 1.0, False, x),
    "silu": lambda slope, x, y: torch.ops.aten.silu_backward(slope, x),
    "relu": lambda slope, x, y: torch.ops.aten.threshold_backward(slope, x, 0.0),
    "tanh": lambda slope, x, y: torch.ops.aten.tanh_backward(slope, y),
}
"""From a loss's derivative by y = activation(x) to that by x."""
FINAL_LAYER_GAIN = 0.01
"""Scale of the initial weights of the action head: the first actions are noise around zero."""
SMALL = 16**3
"""Multiplications up to which PyTorch computes bfloat16 products without oneDNN."""

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


def draw_parameters(shape: NetworkShape, initial_std: float, generator: torch.Generator) -> Tensor:
    """One candidate's parameters [P]: uniform in +-1/sqrt(inputs), the action head a hundredth of that, log std
    constant.
    """
    parts = []
    for layers, gain in ((shape.actor, FINAL_LAYER_GAIN), (shape.critic, 1.0)):
        for index, (inputs, outputs) in enumerate(layers):
            bound = (gain if index == len(layers) - 1 else 1.0) / math.sqrt(inputs)
            parts.append(torch.empty((inputs + 1) * outputs).uniform_(-bound, bound, generator=generator))
    return torch.cat([*parts, torch.full((shape.num_actions,), math.log(initial_std))])


def draw_for_seeds(seeds: Sequence[int], draw: Callable[[torch.Generator], Tensor]) -> Tensor:
    """What `draw` gives for each of K seeds, [K, ...]; equal seeds get the same."""
    drawn = {seed: draw(torch.Generator().manual_seed(seed)) for seed in dict.fromkeys(seeds)}
    return torch.stack([drawn[seed] for seed in seeds])


@dataclass(frozen=True)
class Trace:
    """What a perceptron computed, kept so that a gradient can go back through it."""

    inputs: list[Tensor]
    """The inputs of each layer, (K, B, inputs)."""
    sums: list[Tensor]
    """The sums of each hidden layer before its activation, (K, B, outputs)."""
    output: Tensor
    """(K, B, outputs) float32."""


def multiply_each(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """X W, or X W + b, of K layers: (K, B, inputs), (K, inputs, outputs), (K, 1, outputs) -> (K, B, outputs). Each of
    the K has the same bits in any company, so that results do not depend on how they are split.

    On a CPU two things stand against it. Of one layer with one output the library makes a product of matrix and vector,
    whose last bits are others: as one of two equal layers it gets those that it has among several. And bfloat16
    products take another way where all those of a call together have SMALL multiplications at most: where one alone
    has as few, they are computed in float32.
    """
    if x.dtype != torch.float32 and not x.is_cuda and x.shape[1] * x.shape[2] * weight.shape[2] <= SMALL:
        wide = None if bias is None else bias.float()
        return multiply_each(x.float(), weight.float(), wide).to(x.dtype)
    if len(x) == 1 and weight.shape[-1] == 1:
        twice = None if bias is None else bias.expand(2, -1, -1)
        return multiply_each(x.expand(2, -1, -1), weight.expand(2, -1, -1), twice)[:1]
    return torch.bmm(x, weight) if bias is None else torch.baddbmm(bias, x, weight)


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

    def refresh(self) -> None:
        """Compute with the parameters as they are now."""
        if self._working is not self.flat:
            self._working.copy_(self.flat)

    def mean(self, observations: Tensor) -> Tensor:
        """Mean actions (K, B, num_actions) of normalised observations (K, B, num_obs)."""
        return self._trace(observations, self._actor).output

    def value(self, observations: Tensor) -> Tensor:
        """Normalised values (K, B) of normalised observations (K, B, num_obs)."""
        return self._trace(observations, self._critic).output.squeeze(-1)

    def traces(self, observations: Tensor) -> tuple[Trace, Trace]:
        """What policy and value function make of normalised observations (K, B, num_obs), for `gradient`."""
        x = observations.to(self._working.dtype)
        return self._trace(x, self._actor), self._trace(x, self._critic)

    def value_head(self, flat: Tensor) -> Layer:
        """Weights and biases of the value functions' last layer in parameters [K, P], or in as many other numbers."""
        return self._views(flat)[1][-1]

    def gradient(self, traces: Sequence[Trace], slopes: Sequence[Tensor], log_std_slope: Tensor) -> Tensor:
        """Gradient [K, P] of K losses whose derivatives by the traces' outputs are `slopes` (K, B, outputs), and by log
        std `log_std_slope` (K, num_actions).

        By hand, as the losses are: automatic differentiation costs half as much again.
        """
        gradient = torch.empty_like(self.flat)
        actor, critic, log_std = self._views(gradient)
        log_std.copy_(log_std_slope)
        networks = ((self._actor, actor), (self._critic, critic))
        for (layers, found), trace, slope in zip(networks, traces, slopes, strict=True):
            self._go_back(layers, found, trace, slope.to(self._working.dtype))
        return gradient

    def _go_back(self, layers: list[Layer], found: list[Layer], trace: Trace, slope: Tensor) -> None:
        """Write into `found` the derivatives by weights and biases, for y = x W + b: x^T dy and the sum of dy."""
        back = _BACK[self.shape.activation]
        for index in reversed(range(len(layers))):
            weight, bias = found[index]
            x = trace.inputs[index]
            weight.copy_(multiply_each(x.mT, slope))
            bias.copy_(slope.sum(1, keepdim=True, dtype=torch.float32))
            if index:
                slope = back(multiply_each(slope, layers[index][0].mT), trace.sums[index - 1], x)

    def _trace(self, x: Tensor, layers: list[Layer]) -> Trace:
        activation = ACTIVATIONS[self.shape.activation]
        inputs, sums = [x.to(self._working.dtype)], []
        for weight, bias in layers[:-1]:
            sums.append(multiply_each(inputs[-1], weight, bias))
            inputs.append(activation(sums[-1]))
        weight, bias = layers[-1]
        return Trace(inputs, sums, multiply_each(inputs[-1], weight, bias).float())

    def _views(self, flat: Tensor) -> tuple[list[Layer], list[Layer], Tensor]:
        """Layers of actor and critic and log std, in the order of draw_parameters."""
        actor, critic = self.shape.actor, self.shape.critic
        sizes = [size for inputs, outputs in actor + critic for size in ((inputs, outputs), (1, outputs))]
        columns = torch.split(flat.detach(), [*map(math.prod, sizes), self.shape.num_actions], dim=1)
        tensors = [column.view(-1, *size) for column, size in zip(columns[:-1], sizes, strict=True)]
        layers = list(zip(tensors[::2], tensors[1::2], strict=True))
        return layers[: len(actor)], layers[len(actor) :], columns[-1]
