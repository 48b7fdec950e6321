"""First programs: which quantities, in which form, with which weight. Six kinds, so that a round is a real choice."""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm import syntax
from llm.offline import layout
from llm.offline.quantities import LESS, MORE, NEAR_ONE, NEAR_ZERO, STAYING, Quantity

FORMS: Mapping[str, tuple[str, ...]] = {
    MORE: ("linear", "saturating", "growing"),
    NEAR_ONE: ("linear", "peak"),
    NEAR_ZERO: ("peak", "bell", "absolute"),
    LESS: ("cost", "decay"),
    STAYING: ("linear",),
}


@dataclass(frozen=True)
class Component:
    """One term of a reward. At its typical size the term is about `weight`."""

    quantity: Quantity
    form: str
    weight: float
    temperature: float

    @property
    def name(self) -> str:
        """Its key in the dictionary of components."""
        return f"{self.quantity.name}_reward" if self.weight >= 0 else f"{self.quantity.name}_cost"

    def lines(self) -> list[str]:
        """Assignments that end in one to `name`."""
        value = self.quantity.name
        temperature = f"{value}_temperature"
        lines = [f"{value} = {self.quantity.expression}"]
        if self.form not in ("linear", "absolute", "cost"):
            lines.append(f"{temperature} = {round_digits(self.temperature)}")
        return [*lines, f"{self.name} = {round_digits(self.weight)} * {_write_form(self, value, temperature)}"]


def _write_form(part: Component, x: str, t: str) -> str:
    """The transformation as code, about 1 at the quantity's typical size or at its best."""
    scale = round_digits(part.quantity.scale)
    forms = {
        "linear": f"{x} / {scale}" if part.quantity.scale != 1.0 else x,
        "saturating": f"torch.tanh({x} / {t})",
        "growing": f"(torch.exp(torch.clamp({x} / {t}, -3.0, 3.0)) - 1.0)",
        "peak": f"torch.exp(({x} - 1.0) / {t})"
        if part.quantity.aim == NEAR_ONE
        else f"torch.exp(-torch.abs({x}) / {t})",
        "bell": f"torch.exp(-torch.square({x}) / {t})",
        "absolute": f"torch.abs({x}) / {scale}",
        "cost": f"{x} / {scale}",
        "decay": f"torch.exp(-{x} / {t})",
    }
    return forms[part.form]


def round_digits(value: float) -> float:
    """Three significant digits."""
    return float(f"{value:.3g}")


def make_component(rng: random.Random, quantity: Quantity, weight: float, form: str | None = None) -> Component:
    """The quantity in a form that suits its aim; costs get a negative weight."""
    form = form or rng.choice(FORMS[quantity.aim])
    temperature = quantity.scale * math.exp(rng.uniform(-0.7, 0.7))
    if form == "bell":
        temperature *= quantity.scale
    signed = -weight if form in ("absolute", "cost") else weight
    return Component(quantity, form, signed, temperature)


@dataclass(frozen=True)
class Plan:
    """A kind of first program: (how many, with which weight each) of goals, supports, costs, and of anything."""

    goals: tuple[int, float]
    steady: tuple[int, float] = (0, 0.0)
    costs: tuple[int, float] = (0, 0.0)
    others: tuple[int, float] = (0, 0.0)
    plain: bool = False
    """The goal as it is, untransformed."""
    indirect: bool = False
    """Any quantity that the task text touches may stand for the goal."""


PLANS = (
    Plan(goals=(1, 2.0), costs=(1, 0.05), plain=True),
    Plan(goals=(1, 1.0), steady=(2, 0.15), costs=(1, 0.1)),
    Plan(goals=(2, 1.0), costs=(2, 0.1)),
    Plan(goals=(1, 0.7), steady=(2, 0.4), costs=(2, 0.2)),
    Plan(goals=(1, 1.0), steady=(1, 0.25), indirect=True),
    Plan(goals=(1, 1.0), others=(3, 0.2)),
)


def draft(rng: random.Random, kind: int, quantities: Sequence[Quantity]) -> list[Component]:
    """The components of a first program of this kind (any number; the plans take turns); needs a quantity."""
    plan = PLANS[kind % len(PLANS)]
    aims = [q for q in quantities if q.relevance > 0 and q.aim != STAYING] or list(quantities[:3])
    goals = [q for q in aims if q.aim != LESS or q.relevance >= aims[0].relevance] or aims
    top = [q for q in goals if q.relevance > 0.5 * goals[0].relevance] or goals[:1]
    rest = [q for q in quantities if q not in top]
    chosen = rng.sample(goals if plan.indirect else top, min(plan.goals[0], len(top)))
    if any("command" in q.tags for q in chosen) and not plan.indirect:  # ask for one, ask for all
        chosen += [q for q in top if "command" in q.tags and q not in chosen]
    parts = [
        make_component(rng, q, _draw_around(rng, plan.goals[1]), _choose_goal_form(rng, q, plan.plain)) for q in chosen
    ]
    nearby = [q for q in rest if "distance" in q.tags and q.relevance > 0]
    if nearby and any("opening" in q.tags for q in chosen):  # a thing that is to be opened must be reached first
        parts.append(make_component(rng, rng.choice(nearby), _draw_around(rng, 0.5), "peak"))
        rest = [q for q in rest if q not in nearby]
    steady = [q for q in rest if q.aim in (NEAR_ONE, NEAR_ZERO, STAYING) and q not in chosen]
    costs = [q for q in rest if q.aim == LESS]
    for pool, (count, weight) in ((steady, plan.steady), (costs, plan.costs), (rest, plan.others)):
        parts += [make_component(rng, q, _draw_around(rng, weight)) for q in rng.sample(pool, min(count, len(pool)))]
    return parts


def _choose_goal_form(rng: random.Random, goal: Quantity, plain: bool) -> str:
    """A goal is never a cost, because with costs alone it pays to end the episode early."""
    if goal.aim == MORE and plain:
        return "linear"
    return rng.choice([form for form in FORMS[goal.aim] if form not in ("absolute", "cost")])


def _draw_around(rng: random.Random, value: float) -> float:
    return value * math.exp(rng.uniform(-0.7, 0.7))


def write_source(parts: Sequence[Component], inputs: Mapping[str, str]) -> str:
    """The program of these components, as text."""
    used = [name for name in inputs if any(name in p.quantity.inputs for p in parts)]
    arguments = ", ".join(f"{name}: {choose_annotation(inputs[name])}" for name in used)
    body = "\n".join(f"    {line}" for part in parts for line in part.lines())
    total = " + ".join(p.name for p in parts)
    listed = ", ".join(f'"{p.name}": {p.name}' for p in parts)
    function = syntax.parse_module(
        f"def compute_reward({arguments}) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:\n{body}\n"
        f"    total_reward = {total}\n    return total_reward, {{{listed}}}\n"
    ).body[0]
    assert isinstance(function, ast.FunctionDef)
    return layout.format_function(function)


def choose_annotation(kind: str) -> str:
    """The type of an argument, from how the prompt documents the input."""
    return "torch.Tensor" if "ensor" in kind else kind.split()[0]
