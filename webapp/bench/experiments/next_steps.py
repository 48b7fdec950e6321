"""What can be done with a finished experiment: repeat it, compare its winner, take it along."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from trainer.records import FINAL
from webapp.experiments import repeating
from webapp.experiments.models import Clip, Experiment

MOST_RIVALS = 50


@dataclass(frozen=True)
class NextSteps:
    duplicate_url: str
    seed: int
    """The next free one."""
    refusal: str
    """Why the next seed cannot be started; empty if it can."""
    vote_url: str
    can_vote: bool
    """Whether the winner has something that evaluators can look at."""
    rivals: list[Experiment]
    """Finished experiments of the same task that a vote can compare it with, newest first."""


def find_next_steps(experiment: Experiment) -> NextSteps | None:
    """None before the experiment has finished."""
    if experiment.status != Experiment.Status.FINISHED:
        return None
    others = Experiment.objects.filter(task=experiment.task, status=Experiment.Status.FINISHED, archived_at=None)
    rivals = others.exclude(pk=experiment.pk).exclude(winner=None)
    can_vote = experiment.winner_id is not None
    if experiment.medium.filmed:
        filmed = Clip.objects.filter(percent=FINAL, status=Clip.Status.READY)
        rivals = rivals.filter(winner__in=filmed.values("candidate"))
        can_vote = can_vote and filmed.filter(candidate=experiment.winner_id).exists()
    return NextSteps(
        duplicate_url=f"{reverse('admin:experiments_experiment_add')}?{urlencode({'copy': str(experiment.public_id)})}",
        seed=repeating.copy_settings(experiment).seed,
        refusal=repeating.explain_refusal(experiment),
        vote_url=reverse("admin:votes_poll_add"),
        can_vote=can_vote,
        rivals=list(rivals.order_by("-created_at")[:MOST_RIVALS]),
    )
