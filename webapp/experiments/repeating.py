"""A further experiment with the settings of another, or with the reward of its winner."""

from __future__ import annotations

import re
from typing import Any

from django.db import transaction
from django.db.models import Max

from llm.methods import METHODS, OFFERED, retrain
from simulation import catalog
from trainer.preferences import algorithms
from webapp.experiments import judges, loop
from webapp.experiments.models import Experiment, LoopSettings
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.experiments.seeds import find_next_seed

(RETRAINING,) = retrain.METHODS
SEED_COUNTS = (1, 3, 5, 10, 20)
"""Numbers of seeds that one retraining may have; they are trained at once."""
LOOKS_ON = "It films policies that another experiment trained. Go on from that one."
TRAINS_A_GIVEN_REWARD = "It trains a given reward. Train that with further seeds on the page of the search."
COPIED = tuple(field.name for field in LoopSettings._meta.get_fields())
LONGEST_NAME = 120


def explain_refusal(experiment: Experiment) -> str:
    """Why no experiment with its settings and the next seed can be started; empty if one can."""
    if experiment.looks_on:
        return LOOKS_ON
    if not experiment.searches:
        return TRAINS_A_GIVEN_REWARD
    if experiment.judge_info.asks_people:
        return "People judged it. Its study gives each new participant, or panel, an experiment with the next seed."
    return ""


def copy_settings(experiment: Experiment) -> Experiment:
    """A draft with the same settings and the next free seed, not saved."""
    own = {"overrides": experiment.overrides, "retrains": experiment.retrains}
    draft = Experiment(**own, **{name: getattr(experiment, name) for name in COPIED})
    draft.seed = find_next_seed(draft)
    stem = re.sub(r", seed \d+$", "", experiment.name)
    draft.name = f"{stem[: LONGEST_NAME - 18]}, seed {draft.seed}"
    return draft


@transaction.atomic
def start_next_seed(experiment: Experiment, owner: str) -> Experiment:
    """Start an experiment with the same settings and the next free seed. Raises ValueError with the reason if it
    cannot be started.
    """
    if reason := explain_refusal(experiment):
        raise ValueError(reason)
    loop.lock(experiment.pk)
    draft = copy_settings(experiment)
    draft.owner = owner
    draft.save()
    loop.start(draft)
    return draft


@transaction.atomic
def start_retraining(experiment: Experiment, owner: str, preset: str, count: int) -> Experiment:
    """Train the winner's reward again with `count` seeds that neither the search nor an earlier retraining has used.

    Raises ValueError with the reason if it cannot be done.
    """
    winner = loop.lock(experiment.pk).winner
    if reason := explain_retraining_refusal(experiment):
        raise ValueError(reason)
    if winner is None or preset not in catalog.get_task(experiment.task).presets or count not in SEED_COUNTS:
        raise ValueError(f"Choose settings of {experiment.task}, and 1, 3, 5, 10 or 20 seeds.")
    return _start_from_winner(
        experiment,
        owner,
        "retrained",
        method=RETRAINING.name,
        options=RETRAINING.settings({"reward": winner.source, "episodes": retrain.EPISODES}),
        k=count,
        n=RETRAINING.n,
        preset=preset,
        training_start=_find_start(experiment, preset),
        overrides=experiment.overrides if preset == experiment.preset else {},  # they replace fields of one preset
    )


@transaction.atomic
def start_learning_on(experiment: Experiment, owner: str, method: str, queries: int) -> Experiment:
    """Have the winner's policy learn on from `queries` answers about pairs: its reward is the winner's program and a
    model. The hidden metric answers. Raises ValueError with the reason if it cannot be done.
    """
    winner = loop.lock(experiment.pk).winner
    if reason := explain_learning_refusal(experiment):
        raise ValueError(reason)
    known = list_learning_methods(experiment)
    if winner is None or method not in known or queries not in algorithms.SESSIONS:
        counts = ", ".join(f"{count:,}" for count in algorithms.SESSIONS)
        raise ValueError(f"Choose one of {', '.join(known.values())}, and one of {counts} answers.")
    given = {"reward": winner.source, "truth": "metric", "queries": queries, "episodes": retrain.EPISODES}
    if catalog.get_task(experiment.task).metric_at_end:
        given["segment"] = 0  # the metric says nothing of parts of an episode
    return _start_from_winner(
        experiment,
        owner,
        known[method],
        method=method,
        options=METHODS[method].settings(given),
        k=1,
        n=1,
        preset=experiment.preset,
        overrides=experiment.overrides,
    )


def _start_from_winner(experiment: Experiment, owner: str, what: str, **own: Any) -> Experiment:
    """Start an experiment on the winner of another, with a seed new to both; `what` it is stands in its name."""
    seed = find_unseen_seed(experiment)
    row = Experiment.objects.create(
        name=f"{experiment.name[: LONGEST_NAME - 30]}, {what}, seed {seed}",
        task=experiment.task,
        judge=judges.WITHOUT_PEOPLE,
        seed=seed,
        retrains=experiment.winner,
        owner=owner,
        **own,
    )
    loop.start(row)
    return row


def explain_learning_refusal(experiment: Experiment) -> str:
    """Why its winner's policy cannot learn on from pairs; empty if it can."""
    if experiment.looks_on:
        return LOOKS_ON
    if experiment.winner_id is None or not experiment.medium.filmed:
        return "There is no policy of a winner to go on with."
    if experiment.asks_pairs or experiment.retrains_id:
        return "Learning from pairs goes on from the winner of a search."
    if experiment.preset not in catalog.get_task(experiment.task).presets:
        return f"{experiment.task_title} has no settings “{experiment.preset}” any more: its policy learned with them."
    return "" if experiment.task_info.metric else f"{experiment.task_title} has no metric that a teacher could compare."


def list_learning_methods(experiment: Experiment) -> dict[str, str]:
    """Name -> title of the methods whose policies can go on from the winner's: those of its algorithm."""
    algorithm = catalog.get_task(experiment.task).presets[experiment.preset].algorithm
    able = (method for method in OFFERED.values() if method.asks_pairs and not method.pairs_by_vision)
    return {method.name: method.title for method in able if method.algorithm == algorithm}


def _find_start(experiment: Experiment, preset: str) -> str:
    """That of the search, where a round that follows no other can start so."""
    start = experiment.training_start
    stays_up = start == TrainingStart.UPRIGHT and catalog.find_upright_policy(experiment.task, preset)
    return start if stays_up else TrainingStart.RANDOM


def explain_retraining_refusal(experiment: Experiment) -> str:
    """Why its winner's reward cannot be trained again; empty if it can."""
    if experiment.looks_on:
        return LOOKS_ON
    if experiment.winner_id is None or not experiment.medium.filmed:
        return "There is no reward of a winner to train."
    if experiment.asks_pairs:
        return "Its policy learned its reward from answers while it trained: there is no program to train again."
    return TRAINS_A_GIVEN_REWARD if experiment.retrains_id else ""


def find_unseen_seed(experiment: Experiment) -> int:
    """A seed from which neither the search nor a retraining of its winner drew."""
    retrained = Experiment.objects.filter(retrains=experiment.winner_id).aggregate(last=Max("seed"))["last"]
    return 1 + max(experiment.seed, -1 if retrained is None else retrained)
