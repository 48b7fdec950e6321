"""Which answers to trust: the denoising discriminator of RIME (Cheng et al. 2024, section 4.1).

Before each pass over its labels a row asks how far each answer lies from what its model predicts. Answers below
tau_lower are learned from, answers above tau_upper are turned round, those between are left out of this pass. tau_lower
is generous at the beginning, where the model knows nothing, and stricter with each pass.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from trainer.normalizer import RunningNormalizer
from trainer.preferences.algorithms import METHODS, Preferences

ALPHA = 0.5
BETA = (3.0, 1.0)
"""beta_t before the first pass, and at the end."""
BETA_PASSES = 60
"""Passes in which it falls (the paper's 1/30 a pass for locomotion)."""
UPPER = -math.log(0.001)
"""tau_upper."""
LARGEST_UNCERTAINTY = 3.0
"""beta_t s is at most this (the authors' code)."""
RHO_RATE = 0.1
"""How much of the way rho goes to the largest divergence of a pass (the authors' code)."""


def compute_label_divergences(targets: Tensor, predicted: Tensor) -> Tensor:
    """D_KL(y || P) (N,) of answers y (N, 2) and predictions P (N, 2): sum_i y_i ln(y_i / P_i).

    The authors' code has the cross-entropy, which is the same for decided answers. An answer that both are equal would
    be ln 2 away from a model that agrees.
    """
    predicted = predicted.clamp_min(torch.finfo(predicted.dtype).tiny)  # a softmax that underflows: finite, and sorted
    return (torch.xlogy(targets, targets) - torch.xlogy(targets, predicted)).sum(-1)


class Discriminator:
    """Sorts the labels of one row, pass by pass."""

    def __init__(self, warm_up: int) -> None:
        """`warm_up`: passes in which the learning rate rises to its whole (the authors' code)."""
        self.warm_up = warm_up
        self.passes = 0
        self.rho = 0.0
        """The bound of divergences of right answers, from those trusted so far."""
        self.trusted = RunningNormalizer(1, 1)
        """Mean and variance of all divergences trusted so far."""

    def lower(self) -> float:
        """tau_lower = -ln(rho) + alpha rho + beta_t s. Before anything was trusted it has no bound."""
        if self.rho == 0:
            return math.inf
        most, least = BETA
        beta = max(least, most - (most - least) * self.passes / BETA_PASSES)
        deviation = math.sqrt(float(self.trusted.variance))
        return -math.log(self.rho) + ALPHA * self.rho + min(beta * deviation, LARGEST_UNCERTAINTY)

    def rate_share(self) -> float:
        """The share of the learning rate that the next pass has."""
        return min(1.0, (self.passes + 1) / max(1, self.warm_up))

    def sort(self, divergences: Tensor) -> tuple[Tensor, Tensor]:
        """Which labels (N,) bool are kept and which are turned round in the next pass.

        What is below tau_lower is kept even where that is above tau_upper, as it can be in the first passes: the
        authors' code then turns it round and takes it twice.
        """
        kept = divergences < self.lower()
        turned = ~kept & (divergences > UPPER)
        if kept.any():
            trusted = divergences[kept].cpu()
            self.rho += RHO_RATE * (float(trusted.max()) - self.rho)
            self.trusted.update(trusted.view(1, -1, 1))
        self.passes += 1
        return kept, turned

    def state_dict(self) -> dict[str, Any]:
        """Everything that a continuation needs: tensors and plain values."""
        return {"passes": self.passes, "rho": self.rho, "trusted": self.trusted.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict."""
        self.passes, self.rho = state["passes"], state["rho"]
        self.trusted.load_state_dict(state["trusted"])


def make_discriminator(wanted: Preferences) -> Discriminator | None:
    """What sorts a row's labels where its method wants that: the learning rate is whole after the least passes of a
    third of its sessions (RIME's authors' code).
    """
    method = METHODS[wanted.method]
    return Discriminator(round(wanted.sessions * method.least_epochs / 3)) if method.denoised else None
