"""States on which a reward is tried: real ones of the task, and perturbed and plausible extreme ones made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from simulation.environment import Environment

WORLDS = 96
"""More than `allowed.MAX_ITERATIONS`, so that a loop over worlds fails the dry run."""
KEPT_STEPS = (1, 2, 5, 12, 25, 40)
HOLD = 8
"""Steps for which the worlds that hold their actions hold them."""
JITTER, SPREAD = 0.1, 3.0
"""Perturbed: noise of a tenth of the spread over worlds. Extreme: three times the spread."""

Inputs = dict[str, Tensor | float]


@dataclass(frozen=True)
class Sample:
    """One batch of reward inputs of WORLDS worlds."""

    kind: str
    """Where they come from, in words."""
    inputs: Inputs


def collect_samples(task: str) -> list[Sample]:
    """Inputs of the task at several steps of random, held, full and no actions; then perturbed; then extreme.

    Nothing is reset in between: robots that have fallen stay so.
    """
    environment = Environment(task, worlds=WORLDS, seed=1)
    generator = torch.Generator().manual_seed(1)
    per_world = {name for name, kind in environment.info.inputs.items() if "num_envs" in kind}
    real = []
    held = torch.zeros(WORLDS, environment.info.num_actions)
    for step in range(max(KEPT_STEPS) + 1):
        drawn = torch.rand(held.shape, generator=generator) * 2.0 - 1.0
        held = drawn if step % HOLD == 0 else held
        kinds = torch.arange(WORLDS).unsqueeze(1) % 4
        actions = torch.where(kinds == 0, drawn, torch.where(kinds == 1, held, held.sign() * (kinds == 2)))
        environment.step(actions)
        if step in KEPT_STEPS:
            real.append({name: copy_value(value) for name, value in environment.attributes.items()})
    last = real[-3:]
    perturbed = [_change_inputs(inputs, per_world, 1.0, JITTER, generator) for inputs in last]
    extreme = [_change_inputs(inputs, per_world, SPREAD, 0.0, generator) for inputs in last]
    return [
        *(Sample("states reached by random actions", inputs) for inputs in real),
        *(Sample("slightly perturbed states", inputs) for inputs in perturbed),
        *(Sample(f"extreme states ({SPREAD:g} times the spread of random actions)", inputs) for inputs in extreme),
    ]


def copy_value(value: Tensor | float) -> Tensor | float:
    """A clone of a tensor; a number as it is."""
    return value.clone() if isinstance(value, Tensor) else value


def _change_inputs(
    inputs: Inputs, per_world: set[str], spread: float, jitter: float, generator: torch.Generator
) -> Inputs:
    """Every per-world input with its deviation from the mean scaled by `spread` and noise of `jitter` deviations added.

    Directions and rotations stay of unit length, actions within [-1, 1], what is positive stays positive, and a `prev_`
    input stays as close to its successor as `spread` says.
    """
    changed = dict(inputs)
    for name in per_world:
        value = inputs[name]
        assert isinstance(value, Tensor)
        if value.is_floating_point():
            changed[name] = _spread(name, value, spread, jitter, generator)
    for name in per_world:
        now = name.removeprefix("prev_")
        if now != name and now in inputs:
            changed[name] = changed[now] - spread * (inputs[now] - inputs[name])
    return changed


def _spread(name: str, value: Tensor, spread: float, jitter: float, generator: torch.Generator) -> Tensor:
    mean, deviation = value.mean(dim=0), value.std(dim=0)
    noise = torch.randn(value.shape, generator=generator) * deviation
    moved = mean + spread * (value - mean) + jitter * noise
    lowest = value.amin(dim=0)
    moved = torch.where(lowest > 0, torch.maximum(moved, lowest / 2.0), moved)
    if name == "actions":
        return moved.clamp(-1.0, 1.0)
    if value.shape[-1] in (7, 13):  # a pose or root state: its quaternion
        return torch.cat((moved[..., :3], _as_long(moved[..., 3:7], value[..., 3:7]), moved[..., 7:]), dim=-1)
    return _as_long(moved, value) if value.dim() > 1 else moved


def _as_long(moved: Tensor, value: Tensor) -> Tensor:
    """`moved`, of unit length where all of `value` is."""
    lengths = value.norm(dim=-1, keepdim=True)
    if not torch.allclose(lengths, torch.ones_like(lengths), atol=1e-3):
        return moved
    moved_lengths: Tensor = moved.norm(dim=-1, keepdim=True)
    return moved / moved_lengths.clamp(min=1e-6)


def select_worlds(inputs: Mapping[str, Tensor | float], per_world: set[str], index: Tensor) -> Inputs:
    """The inputs of the worlds `index` only, in that order."""
    return {n: v[index] if n in per_world and isinstance(v, Tensor) else v for n, v in inputs.items()}
