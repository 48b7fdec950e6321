"""Contrasts that the writer of a comparison cannot see, because it reads the same from the prompts of both."""

from __future__ import annotations

from llm.methods import get_method as find_method
from llm.offline.sight import reads_alike
from llm.records import Problem
from llm.repetition_check import Flow
from webapp.comparisons.arms import Arm
from webapp.comparisons.contrasts import Contrast
from webapp.comparisons.plan import Plan
from webapp.experiments import loop
from webapp.experiments.models import Experiment


def find_unread(plan: Plan) -> list[Contrast]:
    """Of the offline writer alone: what a language model reads is not known. Arms whose judges differ, or that are the
    same again, ask for the same by construction; of other words than Prefine's own it is not known either. Methods
    without a writer differ in what they train.
    """
    if plan.model is not None and not plan.model.is_offline:
        return []
    problems = [loop.describe_task(Experiment(task=task)) for task in plan.tasks]
    return [one for one in plan.contrasts if _ask_alike(one) and all(_is_unread(one, p) for p in problems)]


def _ask_alike(contrast: Contrast) -> bool:
    a, b = contrast.first, contrast.second
    written = all(find_method(arm.method).writes for arm in (a, b))
    return written and a.judging == b.judging and a.again == b.again and not (a.prompt_set or b.prompt_set)


def _is_unread(contrast: Contrast, problem: Problem) -> bool:
    key = (contrast.first, contrast.second, problem.task, problem.form)
    if key not in _known:
        _known[key] = reads_alike(problem, _find_flow(contrast.first), _find_flow(contrast.second))
    return _known[key]


_known: dict[tuple[Arm, Arm, str, str], bool] = {}
"""Results of `reads_alike`, kept because pages of running comparisons are built often."""


def _find_flow(arm: Arm) -> Flow:
    return arm.method, arm.k, arm.n, arm.settings
