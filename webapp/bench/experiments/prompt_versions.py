"""What changed while an experiment ran: the versions that wrote its prompts, answers that were set aside, its task."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llm import replay
from simulation import catalog
from webapp.experiments.models import Experiment, Request, Run
from webapp.problems.media import get_medium


@dataclass(frozen=True)
class PromptSpan:
    """Consecutive steps whose prompts one version of Prefine wrote."""

    step: int
    """The first of them."""
    round: int | None
    """None for the last choice."""
    version: str
    """Empty where the version was not saved yet."""


def read_prompt_spans(experiment: Experiment) -> tuple[tuple[PromptSpan, ...], int]:
    """The spans in their order, and how many answers are set aside."""
    rows = experiment.requests.values_list("status", "finished_at", "step", "version", "payload__iteration")
    aside = [ended for status, ended, *_ in rows if status == Request.Status.ASIDE and ended]
    prompts = [(step, version, number) for status, _, step, version, number in rows if status != Request.Status.ASIDE]
    rounds = {step: number for step, _, number in prompts}
    spans = replay.group_versions((step, _shorten_commit(version)) for step, version, _ in prompts)
    return tuple(PromptSpan(step, rounds[step], version) for step, version in spans), len(aside)


def describe_task_revisions(experiment: Experiment) -> str:
    """Which rounds were trained on another revision of the task than today's; empty where none was."""
    if not get_medium(experiment.task).filmed:
        return ""
    today = catalog.get_task(experiment.task).revision
    runs = Run.objects.filter(request__experiment=experiment).exclude(task_revision=today)
    rows = runs.order_by("pk").values_list("request__payload__iteration", "task_revision")
    parts = [f"round {number} on revision {revision}" for number, revision in rows]
    return (
        f"The task is at revision {today}; trained were {', '.join(parts)}: their scores do not compare."
        if parts
        else ""
    )


def _shorten_commit(version: str) -> str:
    """The version with the first nine digits of its commit."""
    return re.sub(r"\b([0-9a-f]{9})[0-9a-f]{31}\b", r"\1", version)
