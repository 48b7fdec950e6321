"""Adam for stacked parameters."""

from __future__ import annotations

import math

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

    def step(self, parameters: Tensor, gradient: Tensor, rates: Tensor) -> None:
        """Move the parameters [K, P] in place; rates [K]."""
        self.steps += 1
        if self.fused:
            parameters.addcmul_(self._direction(gradient), rates.unsqueeze(1))
            return
        beta1, beta2 = self.BETAS
        self.first.lerp_(gradient, 1 - beta1)
        self.second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        # m^ / (sqrt(v^) + e) = m / (1 - b1^t) / (sqrt(v) / s + e) with s = sqrt(1 - b2^t)
        root = math.sqrt(1 - beta2**self.steps)
        steps = self.first * (rates * (root / (1 - beta1**self.steps))).unsqueeze(1)
        parameters.addcdiv_(steps, self.second.sqrt().add_(root * self.EPSILON), value=-1.0)

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

    def keep(self, groups: list[int]) -> None:
        """Go on with these rows only."""
        self.first, self.second = self.first[groups], self.second[groups]
