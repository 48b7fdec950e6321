"""What needs a problem. Tasks are named: experiments and studies hold a problem's name, not a foreign key."""

from __future__ import annotations

from webapp.experiments.models import Experiment
from webapp.problems.models import Problem
from webapp.studies.models import Arm
from webapp.votes import answers

MOST = 5
"""Of each kind that are named."""


def uses_of(problem: Problem) -> list[str]:
    """What stands against deleting it, in words."""
    arms = Arm.objects.filter(task=problem.name).select_related("study").order_by("pk")
    found = {
        "experiment": [row.name for row in Experiment.objects.filter(task=problem.name).order_by("pk")],
        "arm": [f"{arm.name} of {arm.study}" for arm in arms],
        "open A/B vote": [poll.title for poll in answers.open_polls(problem)],
    }
    return [f"{problem} is used by {_words(kind, names)}." for kind, names in found.items() if names]


def _words(kind: str, names: list[str]) -> str:
    named = ", ".join(f"“{name}”" for name in names[:MOST])
    return f"the {kind} {named}" if len(names) == 1 else f"{len(names)} {kind}s: {named}{_rest(names)}"


def _rest(names: list[str]) -> str:
    return f" and {len(names) - MOST} more" if len(names) > MOST else ""
