"""What can be done with a finished experiment: repeat it, compare its winner, take it along."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from llm.methods import LOOKING_ON
from simulation import catalog
from trainer.preferences.algorithms import SESSIONS
from trainer.records import FINAL
from webapp.experiments import repeating
from webapp.experiments.models import Clip, Experiment

MOST_RIVALS = 50


@dataclass(frozen=True)
class NextSteps:
    duplicate_url: str
    """Empty where its method is not offered in the form."""
    seed: int
    """The next free one."""
    refusal: str
    """Why the next seed cannot be started; empty if it can."""
    presets: dict[str, str]
    """The settings with which the winner's reward can be trained again; empty if it cannot."""
    seed_counts: tuple[int, ...]
    """Numbers of seeds to choose from."""
    usual_count: int
    learning_methods: dict[str, str]
    """By which the winner's policy can learn on from pairs; empty if it cannot."""
    query_counts: tuple[int, ...]
    """Numbers of answers to choose from."""
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
    rivals = others.exclude(pk=experiment.pk).exclude(winner=None).exclude(method__in=LOOKING_ON)
    can_vote = experiment.winner_id is not None and not experiment.looks_on
    if experiment.medium.filmed:
        filmed = Clip.objects.filter(percent=FINAL, status=Clip.Status.READY)
        rivals = rivals.filter(winner__in=filmed.values("candidate"))
        can_vote = can_vote and filmed.filter(candidate=experiment.winner_id).exists()
    form = f"{reverse('bench:experiment_new')}?{urlencode({'copy': str(experiment.public_id)})}"
    can_learn = not repeating.explain_learning_refusal(experiment)
    can_retrain = not repeating.explain_retraining_refusal(experiment)
    known = catalog.get_task(experiment.task).presets if can_retrain else ()
    return NextSteps(
        duplicate_url=form if experiment.searches and not experiment.retrains_id else "",
        seed=repeating.copy_settings(experiment).seed,
        refusal=repeating.explain_refusal(experiment),
        presets={name: catalog.PRESETS[name] for name in known},
        seed_counts=repeating.SEED_COUNTS,
        usual_count=repeating.RETRAINING.k,
        learning_methods=repeating.list_learning_methods(experiment) if can_learn else {},
        query_counts=tuple(SESSIONS),
        vote_url=reverse("votes:new"),
        can_vote=can_vote,
        rivals=list(rivals.order_by("-created_at")[:MOST_RIVALS]),
    )
