"""SimbaV2's networks (Lee et al., 2025, "Hyperspherical Normalization for Scalable Deep Reinforcement Learning"), R of
them at once, as functions of flat parameters [R, P].

Weights and features stay on the unit sphere, so that neither can grow while what is learned from keeps changing: every
output unit's weights have norm 1, restored by `normalize_weights` after each optimiser step, and so has every feature
vector. What a layer may stretch is a learned scale per unit; what a block may change is a learned interpolation (LERP)
between its input and its output.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from trainer.networks import multiply_each

SHIFT = 3.0
"""Appended to the input before it is put on the sphere, so that its length is not lost (section 4.1)."""
WIDENING = 4
"""Hidden units of a block, for each of its features."""
SHORTEST = 1e-8
"""Vectors that are shorter count as so long."""


@dataclass(frozen=True)
class SimbaShape:
    """A network of `blocks` blocks over features of this width, with one or several linear heads."""

    inputs: int
    heads: tuple[int, ...]
    """Outputs of each head."""
    width: int
    blocks: int

    @cached_property
    def weights(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of every matrix: the embedding's, two of each block, two of each head."""
        width, wide = self.width, WIDENING * self.width
        heads = [matrix for outputs in self.heads for matrix in ((width, width), (width, outputs))]
        return ((self.inputs + 1, width), *(((width, wide), (wide, width)) * self.blocks), *heads)

    @cached_property
    def vectors(self) -> tuple[tuple[int, float], ...]:
        """(length, initial value) of every vector: the embedding's scale, scale and interpolation of each block, scale
        and bias of each head.
        """
        width, wide = self.width, WIDENING * self.width
        block = ((wide, math.sqrt(2 / wide)), (width, 1 / math.sqrt(width)))
        heads = [vector for outputs in self.heads for vector in ((width, 1.0), (outputs, 0.0))]
        return ((width, math.sqrt(2 / width)), *(block * self.blocks), *heads)

    @property
    def interpolation(self) -> float:
        """The factor of an interpolation vector: a block begins by changing 1 / (blocks + 1)."""
        return math.sqrt(self.width) / (self.blocks + 1)

    @cached_property
    def matrices(self) -> int:
        """The first parameters of P, which are those of the matrices."""
        return sum(inputs * outputs for inputs, outputs in self.weights)

    @cached_property
    def parameters(self) -> int:
        """P."""
        return self.matrices + sum(length for length, _ in self.vectors)


def draw_simba(shape: SimbaShape, generator: torch.Generator) -> Tensor:
    """One network's parameters [P]: orthogonal matrices with columns of norm 1, vectors at their initial values."""
    matrices = [
        torch.nn.init.orthogonal_(torch.empty(inputs, outputs), generator=generator).flatten()
        for inputs, outputs in shape.weights
    ]
    flat = torch.cat([*matrices, *(torch.full((length,), value) for length, value in shape.vectors)])
    normalize_weights(shape, flat.unsqueeze(0))
    return flat


def normalize_weights(shape: SimbaShape, flat: Tensor) -> None:
    """Put every output unit's weights in flat [R, P] back on the unit sphere, in place."""
    for weight in _view_matrices(shape, flat[:, : shape.matrices]):
        weight.div_(torch.linalg.vector_norm(weight, dim=1, keepdim=True).clamp_min_(SHORTEST))


def simba(shape: SimbaShape, flat: Tensor, x: Tensor, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Each head's outputs (R, B, outputs) for inputs x (R, B, inputs); products are computed in `dtype`.

    A scale multiplies the columns of its matrix in place of what they give for every sample, and a head's two matrices,
    with nothing between them, are multiplied with each other first: the same function at less work.
    """
    matrices, vectors = torch.split(flat, [shape.matrices, shape.parameters - shape.matrices], dim=1)
    weight = iter(_view_matrices(shape, matrices))
    vector = iter(torch.split(vectors.unsqueeze(1), [length for length, _ in shape.vectors], dim=2))

    def product(features: Tensor, matrix: Tensor) -> Tensor:
        return multiply_each(features.to(dtype), matrix.to(dtype)).float()

    x = _normalize_rows(functional.pad(x, (0, 1), value=SHIFT))
    features = _normalize_rows(product(x, next(weight) * next(vector)))
    for _ in range(shape.blocks):
        hidden = product(features, next(weight) * next(vector)).relu_()
        changed = _normalize_rows(product(hidden, next(weight)))
        # h <- unit((1 - a) h + a h~)
        features = _normalize_rows(torch.lerp(features, changed, next(vector) * shape.interpolation))
    outputs = []
    for _ in shape.heads:
        head = multiply_each(next(weight) * next(vector), next(weight))
        outputs.append(product(features, head) + next(vector))
    return outputs


def _view_matrices(shape: SimbaShape, flat: Tensor) -> list[Tensor]:
    """The matrices [R, inputs, outputs] in flat [R, matrices], sharing its memory."""
    ends = list(itertools.accumulate(inputs * outputs for inputs, outputs in shape.weights))
    sizes = [end - begin for begin, end in itertools.pairwise([0, *ends])]
    columns = torch.split(flat, sizes, dim=1)
    return [column.view(-1, *size) for column, size in zip(columns, shape.weights, strict=True)]


class Unit(torch.autograd.Function):
    """y = x / |x| along the last dimension, whose derivative is (dy - y (y . dy)) / |x|: a third of the operations that
    automatic differentiation needs.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Unit vectors of x (..., features)."""
        inverse = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min_(SHORTEST).reciprocal_()
        y: Tensor = x * inverse
        ctx.save_for_backward(y, inverse)
        return y

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Tensor:
        """Derivative by x from that by y."""
        (slope,), (y, inverse) = slopes, ctx.saved_tensors
        along = (slope * y).sum(-1, keepdim=True)
        across: Tensor = torch.addcmul(slope, y, along, value=-1.0).mul_(inverse)
        return across


def _normalize_rows(x: Tensor) -> Tensor:
    unit: Tensor = Unit.apply(x)  # type: ignore[no-untyped-call]
    return unit
