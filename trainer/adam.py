"""Adam for stacked parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim.adam import adam


class StackedAdam:
    """Adam (Kingma and Ba, 2015, algorithm 1) on flat parameters [K, P] with one learning rate per row.

    `fused`: by PyTorch's kernel, which does in one launch what costs eight here; as a rule on a GPU. It has one
    learning rate for all, so it is asked for the direction, which the rates then scale.
    """

    BETAS = (0.9, 0.999)
    EPSILON = 1e-8

    def __init__(self, parameters: Tensor, fused: bool | None = None) -> None:
        self.fused = parameters.is_cuda if fused is None else fused
        self.first = torch.zeros_like(parameters)
        self.second = torch.zeros_like(parameters)
        self.steps = 0
        self.begun = [0] * len(parameters)
        """The step before each row's first."""

    def step(self, parameters: Tensor, gradient: Tensor, rates: Tensor) -> None:
        """Move the parameters [K, P] in place; rates [K]."""
        self.steps += 1
        together = len(set(self.begun)) == 1
        if self.fused and together and self.begun[0] == 0:
            parameters.addcmul_(self._direction(gradient), rates.unsqueeze(1))
            return
        beta1, beta2 = self.BETAS
        self.first.lerp_(gradient, 1 - beta1)
        self.second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        # m^ / (sqrt(v^) + e) = m / (1 - b1^t) / (sqrt(v) / s + e) with s = sqrt(1 - b2^t)
        ages = [self.steps - begun for begun in (self.begun[:1] if together else self.begun)]
        roots = [math.sqrt(1 - beta2**age) for age in ages]
        factors = [root / (1 - beta1**age) for root, age in zip(roots, ages, strict=True)]
        smallest = [root * self.EPSILON for root in roots]
        if together:
            steps, sizes = self.first * (rates * factors[0]).unsqueeze(1), self.second.sqrt().add_(smallest[0])
        else:
            steps = self.first * (rates * rates.new_tensor(factors)).unsqueeze(1)
            sizes = self.second.sqrt().add_(rates.new_tensor(smallest).unsqueeze(1))
        parameters.addcdiv_(steps, sizes, value=-1.0)

    def _direction(self, gradient: Tensor) -> Tensor:
        """The change by a step with a learning rate of 1."""
        direction = torch.zeros_like(gradient)
        steps = torch.full((), self.steps - 1.0, device=gradient.device)  # adam counts this one
        adam(
            *([direction], [gradient], [self.first], [self.second], [], [steps]),
            fused=True,
            amsgrad=False,
            beta1=self.BETAS[0],
            beta2=self.BETAS[1],
            lr=1.0,
            weight_decay=0.0,
            eps=self.EPSILON,
            maximize=False,
        )
        return direction

    def restart(self, rows: Sequence[int]) -> None:
        """Forget these rows' moments: their next step is a first one."""
        self.first[list(rows)] = 0.0
        self.second[list(rows)] = 0.0
        for row in rows:
            self.begun[row] = self.steps

    def rows(self, rows: Sequence[int]) -> StackedAdam:
        """An optimiser of these rows alone, which goes on from here."""
        part = StackedAdam(self.first[:0], self.fused)
        part.first, part.second, part.steps = self.first[list(rows)], self.second[list(rows)], self.steps
        part.begun = [self.begun[row] for row in rows]
        return part

    def replace(self, rows: Sequence[int], part: StackedAdam) -> None:
        """Take back rows that went on alone; the others have taken no step."""
        self.first[list(rows)], self.second[list(rows)] = part.first, part.second
        for row, begun in zip(rows, part.begun, strict=True):
            self.begun[row] = begun - part.steps + self.steps

    def keep(self, groups: list[int]) -> None:
        """Go on with these rows only."""
        self.first, self.second = self.first[groups], self.second[groups]
        self.begun = [self.begun[group] for group in groups]
