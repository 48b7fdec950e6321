"""Plans of comparisons, and one whose experiments a player has finished."""

from __future__ import annotations

from typing import Any

from tests.webapp import fake_workers
from webapp.comparisons.arms import Arm, parse_arm
from webapp.comparisons.plan import Plan
from webapp.experiments import loop


def plan_of(*arms: Arm, **values: Any) -> Plan:
    return Plan(**{"tasks": ("Cartpole",), "arms": arms, "experiments": 2, "candidates": 6, **values})


def finish_plan() -> Plan:
    """ICPL twice and OpenLoop once to their ends, OpenLoop once begun. Position p of round r scores 10 r + p."""
    plan = plan_of(parse_arm("icpl:k=3", 6), parse_arm("open_loop:k=3", 6))
    for number, cell in enumerate(plan.cells()):
        row = plan.experiment(cell)
        loop.start(row)
        fake_workers.do_work(row, failed=(0,) if number == 0 else (), until="Train" if number == 3 else "")
    return plan
