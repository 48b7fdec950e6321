"""What to know before a plan starts: arms that ask for exactly the same, such as ICPL and OpenLoop in a single round,
and teachers that see little.
"""

from __future__ import annotations

from llm.repetition_check import find_equal_flows
from webapp.comparisons.arms import Arm
from webapp.comparisons.plan import Plan
from webapp.experiments import loop
from webapp.experiments.models import Experiment
from webapp.experiments.pairs import warn_of_teacher


def list_warnings(plan: Plan) -> list[str]:
    """All of them. Raises ValueError for a task that is gone."""
    teachers = (warn_of_teacher(task, arm.method, arm.settings) for task in plan.tasks for arm in plan.arms)
    return [*describe_equal_arms(plan), *filter(None, dict.fromkeys(teachers))]


def describe_equal_arms(plan: Plan) -> list[str]:
    """A warning for each group of equal arms: which, and why. Controls ask for the same on purpose. Raises ValueError
    for a task that is gone.
    """
    arms = [arm for arm in plan.arms if not arm.is_control]
    tasks = [loop.describe_task(Experiment(task=task)) for task in plan.tasks]
    problems = {problem.form: problem for problem in tasks}  # a flow depends on nothing else of its task
    flows = [(arm.method, arm.k, arm.n, arm.settings) for arm in arms]
    groups = [group for problem in problems.values() for group in find_equal_flows(problem, flows)]
    return [_describe([arms[number] for number in group]) for group in dict.fromkeys(groups)]


def _describe(arms: list[Arm]) -> str:
    *others, last = [arm.label for arm in arms]
    one = arms[0]
    shape = f"{one.rounds} round{'s' if one.rounds > 1 else ''} of {one.k} candidates"
    words = f"{', '.join(others)} and {last} are equal here: in {shape} they ask for exactly the same."
    return words + (" A larger budget, or a smaller K, gives them more rounds." if one.rounds == 1 else "")
