"""Plans of comparisons, and what carries them out in place of workers."""

from __future__ import annotations

from typing import Any

from tests.webapp import fake_workers
from tests.webapp.saved_rows import put_back
from webapp.comparisons import background, follow_ups, report_details
from webapp.comparisons.arms import Arm, name_arms, parse_arm
from webapp.comparisons.contrasts import parse_contrasts
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Plan
from webapp.experiments import loop
from webapp.experiments.models import Candidate, Experiment

METHODS = ("icpl:k=3", "open_loop:k=3")


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


def copy_finished_plan() -> Plan:
    """What finish_plan makes, in an empty installation."""
    report_details._finished.clear()  # its experiments end at the same moment each time
    return put_back(finish_plan)


def contrast_plan(*texts: str, methods: tuple[str, ...] = METHODS, **values: Any) -> Plan:
    arms = name_arms(parse_arm(text, 6) for text in methods)
    return plan_of(*arms, contrasts=parse_contrasts(texts, arms, 6), **{"retrain": 2, **values})


def run_all(plan: Plan) -> list[str]:
    """Carry every step out in order, with made-up results; policy p of an experiment scores 100 times its steps' number
    plus p. Returns the names of the experiments in their order.
    """
    names = []
    for number, step in enumerate(follow_ups.list_steps(plan)):
        rows = plan.find_experiments()
        assert step.is_ready(rows)
        row = follow_ups.create(step, rows)
        assert row is not None
        loop.start(row)
        fake_workers.do_work(row)
        names.append(row.name)
        for candidate in (
            Candidate.objects.filter(iteration__experiment=row) if step.cell is None or step.follows else ()
        ):
            Candidate.objects.filter(pk=candidate.pk).update(evaluation={"score": 100.0 * number + candidate.index})
    return names


def planned(**values: Any) -> Comparison:
    settings = {"tasks": ["Cartpole"], "methods": ["icpl:k=3", "open_loop:k=3"], "candidates": 6, "experiments": 2}
    return Comparison.objects.create(name="C", **{**settings, "retrain": 0, **values})


def statuses(comparison: Comparison) -> list[str]:
    """Of the plan's experiments, in its order; "-" for those that are not made yet."""
    rows = comparison.plan.find_experiments()
    found = [rows.get(comparison.plan.public_id(cell)) for cell in comparison.plan.cells()]
    return [row.status if row else "-" for row in found]


def running(comparison: Comparison) -> Experiment:
    (row,) = [row for row in comparison.plan.find_experiments().values() if row.live]
    return row


def carried_through(comparison: Comparison) -> None:
    """What reaper and workers do, to the end."""
    while comparison.status == "running":
        live = [row for row in comparison.plan.find_experiments().values() if row.live]
        for row in live:
            fake_workers.do_work(row)
        background.continue_running()
        comparison.refresh_from_db()
