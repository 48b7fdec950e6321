"""A program that a policy's learned reward begins with: learned reward = program + unit x reward model.

The program is the candidate's own reward function, as ICPL writes it. It works on more than observations, so what it
gave for a step is kept beside the step's inputs, as their last column. The reward model learns what the answers say
beyond it: two segments are compared by the sums of program / unit + model. `unit` is the deviation of the program's
rewards before the first session, so that a step of the model, in (-1, 1), weighs as much as they vary; of a program
that hardly varies, such as a bonus for staying up, it is the size of their mean. Until the first session the program
alone is the reward; nothing is explored by particle entropy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from trainer.experience import RewardsOf
from trainer.normalizer import RunningNormalizer
from trainer.preferences.algorithms import Preferences
from trainer.preferences.reward_model import RewardModel
from trainer.preferences.segments import Segments

LEAST_SHARE = 0.01
"""A deviation below this share of the mean is no measure of what the program says."""
NOTHING = 1e-6
"""Rewards of this size are none."""


def measure_unit(mean: float, variance: float) -> float:
    """What one step of a model weighs beside a program whose rewards have this mean and variance."""
    deviation = math.sqrt(variance)
    unit = deviation if deviation >= LEAST_SHARE * abs(mean) else abs(mean)
    return unit if unit > NOTHING else 1.0


class Priors:
    """The programs of R rows, of which some have one."""

    def __init__(self, wanted: Sequence[Preferences], device: torch.device | str = "cpu") -> None:
        self.rows = [one.prior for one in wanted]
        """Whether each row has one."""
        self.columns = int(any(self.rows))
        """Columns that inputs have beside observations and actions."""
        self._programs = [RunningNormalizer(1, 1, device) for _ in wanted]
        self._measured = [True for _ in wanted]
        """Whether `measure_unit` gives a row's unit; a training that began before it was there goes on without."""

    def unit(self, row: int) -> float:
        """What the row's model is multiplied by; 1 without a program."""
        if not self.rows[row]:
            return 1.0
        program = self._programs[row]
        if not self._measured[row]:
            return float(program.scale)
        return measure_unit(float(program.mean), float(program.variance))

    def extend(self, inputs: Tensor, programs: Tensor) -> Tensor:
        """Inputs (R, B, F) with what the programs gave (R, B) as their last column, where any row has one."""
        if not self.columns:
            return inputs
        has = torch.tensor(self.rows, device=inputs.device).unsqueeze(1)
        return torch.cat((inputs, torch.where(has, programs, 0.0).unsqueeze(-1)), dim=-1)

    def observe(self, row: int, programs: Tensor) -> None:
        """Take what a row's program gave (B,) into its unit: before the first session alone."""
        self._programs[row].update(programs.view(1, -1, 1))

    def convert_units(self, row: int, inputs: Tensor) -> Tensor:
        """A row's inputs (..., F) as its model takes them."""
        if not self.rows[row]:
            return inputs
        return torch.cat((inputs[..., :-1], inputs[..., -1:] / self.unit(row)), dim=-1)

    def read(self, row: int, segments: Segments) -> Segments:
        """A row's segments as its model takes them."""
        return replace(segments, inputs=self.convert_units(row, segments.inputs)) if self.rows[row] else segments

    def make_relabeller(
        self, rows: Sequence[int], model: RewardModel | None, before: RewardModel, spoke: Sequence[bool]
    ) -> RewardsOf:
        """What kept samples of these rows are worth to `model` (None: to none) in place of the model `before`, which
        has changed the reward of the rows that it `spoke` for.
        """

        def rewards(observations: Tensor, actions: Tensor, earlier: Tensor) -> Tensor:
            inputs = torch.cat((observations, actions.clamp(-1.0, 1.0)), dim=-1)
            inputs = functional.pad(inputs, (0, self.columns))
            found = torch.zeros_like(earlier) if model is None else model.predict(rows, inputs)
            for place, row in enumerate(rows):
                if self.rows[row]:
                    said = before.predict([row], inputs[place : place + 1])[0] if spoke[place] else 0.0
                    found[place] = earlier[place] + self.unit(row) * (found[place] - said)
            return found

        return rewards

    def keep(self, rows: list[int]) -> None:
        """Go on with these rows only; inputs keep their columns."""
        for name in ("rows", "_programs", "_measured"):
            setattr(self, name, [getattr(self, name)[row] for row in rows])

    def state_dict(self) -> list[dict[str, Any]]:
        """Everything that a continuation needs."""
        pairs = zip(self._programs, self._measured, strict=True)
        return [one.state_dict() | {"measured": measured} for one, measured in pairs]

    def load_state_dict(self, state: Sequence[dict[str, Any]]) -> None:
        """Continue from a state_dict; files of earlier versions, which had no programs, hold none."""
        for row, saved in enumerate(state):
            self._programs[row].load_state_dict(saved)
            self._measured[row] = saved.get("measured", False)
