"""What to know before a plan starts: arms that ask for exactly the same, such as ICPL and OpenLoop in a single round,
teachers that see little, trainings that are not equally long.
"""

from __future__ import annotations

from collections.abc import Sequence

from llm.methods import get_method as find_method
from llm.records import Problem
from llm.repetition_check import find_equal_flows
from webapp.comparisons.arms import Arm
from webapp.comparisons.plan import Plan
from webapp.experiments import loop
from webapp.experiments.models import Experiment, PromptSet
from webapp.experiments.pair_sessions import warn_of_teacher

UNTESTED = (
    "No contrast is tested: without retrainings there are no Human and Sparse, by which several tasks are put together."
)


TRAINED_ON = (
    "The policies of {} go on from round to round, those of the other methods begin again: by TS they have learned "
    "from more samples with as many candidates. Scores are of a winner's reward, trained from random weights."
)


def list_warnings(plan: Plan) -> list[str]:
    """All of them. Raises ValueError for a task that is gone."""
    teachers = (warn_of_teacher(task, arm.method, arm.settings) for task in plan.tasks for arm in plan.arms)
    untested = [UNTESTED] if plan.asks_own and not plan.tests_contrasts else []
    return [*describe_equal_arms(plan), *filter(None, dict.fromkeys(teachers)), *_describe_trained_on(plan), *untested]


def _describe_trained_on(plan: Plan) -> list[str]:
    """A warning where some arms' trainings go on from earlier ones and others' do not."""
    trained = [arm.label for arm in plan.arms if arm.rounds > 1 and find_method(arm.method).trains_on(arm.settings)]
    if not trained or len(trained) == len(plan.arms):
        return []
    return [TRAINED_ON.format(", ".join(trained))]


def describe_equal_arms(plan: Plan) -> list[str]:
    """A warning for each group of equal arms: which, and why. Controls ask for the same on purpose. Raises ValueError
    for a task that is gone.
    """
    tasks = [loop.describe_task(Experiment(task=task)) for task in plan.tasks]
    problems = {problem.form: problem for problem in tasks}  # a flow depends on nothing else of its task
    found = [group for problem in problems.values() for arms in _group_by_words(plan) for group in _find(problem, arms)]
    return [_describe(group) for group in dict.fromkeys(found)]


def _group_by_words(plan: Plan) -> list[list[Arm]]:
    """The arms without controls, those with the same prompts together."""
    groups: dict[PromptSet | None, list[Arm]] = {}
    for arm in plan.arms:
        if not arm.is_control:
            groups.setdefault(arm.prompt_set, []).append(arm)
    return list(groups.values())


def _find(problem: Problem, arms: Sequence[Arm]) -> list[tuple[Arm, ...]]:
    flows = [(arm.method, arm.k, arm.n, arm.settings) for arm in arms]
    groups = find_equal_flows(problem, flows) if len(flows) > 1 else []
    return [tuple(arms[number] for number in group) for group in groups]


def _describe(arms: Sequence[Arm]) -> str:
    *others, last = [arm.label for arm in arms]
    one = arms[0]
    shape = f"{one.rounds} round{'s' if one.rounds > 1 else ''} of {one.k} candidates"
    words = f"{', '.join(others)} and {last} are equal here: in {shape} they ask for exactly the same."
    return words + (" A larger budget, or a smaller K, gives them more rounds." if one.rounds == 1 else "")
