"""Every allowed function and method, called with all kinds of arguments: none may change an input or draw a number."""

from __future__ import annotations

import contextlib
import random
import warnings

import pytest
import torch
from torch import Tensor

from simulation.rewards import allowed
from simulation.rewards.contract import RewardFailure, compile_reward
from simulation.rewards.parsing import Refused

pytestmark = pytest.mark.slow
"""Five thousand calls take five seconds; what is refused by name is in test_sources.py."""

CALLS = 12
"""Calls of each, with arguments drawn from a seed; about a tenth of them make sense to torch."""
ARGUMENTS = (
    *("dof_pos", "dof_vel", "actions", "dof_pos[:, 0]", "dof_vel[:, 1]", "mask", "index", "dof_pos", "dof_vel"),
    *("0", "1", "-1", "2", "0.5", "True", "False", "None", "[dof_pos, dof_vel]", "(1, 2)", "torch.float32", "..."),
)
FUNCTIONS = [
    *(f"torch.{name}" for name in sorted(allowed.TORCH_FUNCTIONS)),
    *(f"math.{name}" for name in sorted(allowed.MATH_FUNCTIONS)),
    *sorted(allowed.HELPERS | allowed.BUILTINS),
]
OWNERS = ("dof_pos", "dof_vel", "dof_pos[:, 0]", "mask", "index", "dof_pos[0, 0]")


def source(call: str) -> str:
    return (
        "def compute_reward(dof_pos, dof_vel, actions):\n    index = torch.arange(2)\n    mask = dof_pos > 0\n"
        f"    x = {call}\n    return dof_pos[:, 0], {{}}\n"
    )


def arguments(generator: random.Random) -> str:
    drawn = [generator.choice(ARGUMENTS) for _ in range(generator.choice((1, 1, 2, 2, 3, 4, 5)))]
    named = [f"{generator.choice(sorted(allowed.KEYWORDS))}={generator.choice(ARGUMENTS)}"]
    return ", ".join(drawn + (named if generator.random() < 0.15 else []))


@pytest.fixture
def inputs() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = {"dof_pos": (4, 2), "dof_vel": (4, 2), "actions": (4, 1)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def harmless(call: str, inputs: dict[str, Tensor]) -> bool:
    """Whether the call is refused or fails, or returns without having changed an input or torch's state."""
    before = {name: value.clone() for name, value in inputs.items()}
    state = torch.get_rng_state()
    with warnings.catch_warnings(), contextlib.suppress(Refused, RewardFailure):
        warnings.simplefilter("ignore")
        compile_reward(source(call), "Cartpole")(inputs)
    unchanged = all(torch.equal(inputs[name], value) for name, value in before.items())
    return unchanged and torch.equal(torch.get_rng_state(), state) and torch.get_default_dtype() == torch.float32


def draw_function_calls(name: str) -> list[str]:
    generator = random.Random(name)
    return [f"{name}({arguments(generator)})" for _ in range(CALLS)]


def draw_method_calls(name: str) -> list[str]:
    generator = random.Random(name)
    calls = [f"{generator.choice(OWNERS)}.{name}({arguments(generator)})" for _ in range(CALLS)]
    return [*calls, f"dof_pos.{name}()"]


def test_no_call_of_a_function_does_harm(inputs: dict[str, Tensor]):
    calls = [call for name in FUNCTIONS for call in draw_function_calls(name)]
    assert len(calls) > 2000 and [call for call in calls if not harmless(call, inputs)] == []


def test_no_call_of_a_method_does_harm(inputs: dict[str, Tensor]):
    calls = [call for name in sorted(allowed.METHODS) for call in draw_method_calls(name)]
    assert len(calls) > 2000 and [call for call in calls if not harmless(call, inputs)] == []


def test_the_search_finds_a_function_that_writes(inputs: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(allowed, "POSITIONAL", {})
    assert not harmless("F.relu(dof_pos, True)", inputs)
