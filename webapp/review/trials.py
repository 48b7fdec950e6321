"""Trials: extra sets that check a person's answers while the next round is made. The loop never sees them."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from dataclasses import dataclass
from typing import TypeVar

from django.db import transaction
from django.db.models import Q, QuerySet

from simulation import catalog
from trainer.records import FINAL
from webapp.base.database import read_now
from webapp.base.prepared import Prepared
from webapp.experiments.kinds import WORST_KINDS
from webapp.experiments.models import Candidate, Clip
from webapp.review import ballot
from webapp.review.models import GoldSet, Screening, Trial, TrialPlan
from webapp.review.screenings import find_letters
from webapp.studies.models import Participant

TrialKind = Trial.Kind
T = TypeVar("T")
OPEN_TRIALS = Prepared(
    lambda participant: (
        Trial.objects.filter(participant=participant, answered_at=None)
        .select_related("participant__study")
        .order_by("number")
    )
)
TRIAL_PLAN = Prepared(lambda study: TrialPlan.objects.filter(study=study).select_related("study")[:1])


@dataclass(frozen=True)
class PlannedTrial:
    kind: TrialKind
    round: int
    """The trial is shown while the robots of this round practise, or later."""


def plan_trials(plan: TrialPlan, participant: Participant, rounds: int) -> list[PlannedTrial]:
    """This person's trials in order, drawn from the study's seed and spread over the rounds' waits.

    Attention and repeated trials show a round judged before, so they begin in the second round's wait.
    """
    draw = random.Random(f"{plan.study.seed} {participant.label} trials")
    kinds = [TrialKind.ATTENTION] * plan.attention + [TrialKind.GOLD] * plan.gold + [TrialKind.REPEATED] * plan.repeated
    draw.shuffle(kinds)
    kinds.sort(key=lambda kind: kind == TrialKind.GOLD)  # gold trials take the waits that the others leave free
    trials_in: Counter[int] = Counter()
    planned = []
    for kind in kinds:
        waits = range(1 if kind == TrialKind.GOLD else 2, rounds + 1)
        if not waits:
            continue
        wait = min(waits, key=lambda number: (trials_in[number], draw.random()))
        trials_in[wait] += 1
        planned.append(PlannedTrial(kind, wait))
    return sorted(planned, key=lambda one: one.round)


def find_current(participant: Participant, rounds: int, waits_for: int) -> Trial | None:
    """The trial that this person should judge now: one that was begun, else the next that is due.

    waits_for: the round whose robots practise; 0 if the person need not wait, and then no new trial begins.
    """
    task = _find_task(participant)
    for open_one in OPEN_TRIALS.fetch(participant.pk):
        if len(_filter_showable(open_one.order, task)) > 1:
            return open_one
    plan = TRIAL_PLAN.find(participant.study_id) if waits_for else None
    if plan is None:
        return None
    begun_numbers = set(Trial.objects.filter(participant=participant).values_list("number", flat=True))
    for number, planned in enumerate(plan_trials(plan, participant, rounds)):
        if number not in begun_numbers and planned.round <= waits_for:
            trial = _create_trial(participant, planned.kind, number, waits_for)
            if trial is not None:
                return trial
    return None


def _find_task(participant: Participant) -> str:
    """The task of the person's experiment: a page shows candidates of this task only."""
    experiment = participant.experiment
    return experiment.task if experiment else ""


def _create_trial(participant: Participant, kind: TrialKind, number: int, round: int) -> Trial | None:
    """A new trial of this kind; None if there is nothing to show in one."""
    seed = secrets.randbits(48)
    values = MAKERS[kind](participant, random.Random(seed))
    if values is None:
        return None
    trial, _ = Trial.objects.get_or_create(
        participant=participant,
        number=number,
        defaults={"kind": kind, "round": round, "seed": seed, **values},
    )
    return trial if trial.answered_at is None else None


def _make_attention(participant: Participant, draw: random.Random) -> dict[str, object] | None:
    """An earlier round; the page says which to pick, which is drawn."""
    judged = _find_judged(participant)
    if not judged:
        return None
    order = _shuffle(_filter_showable(draw.choice(judged).order), draw)
    best, worst = draw.sample(order, 2)
    return {"order": order, "expected_best_id": best, "expected_worst_id": worst if len(order) > 2 else None}


def _make_gold(participant: Participant, draw: random.Random) -> dict[str, object] | None:
    """A gold set of the person's task whose candidates they have not judged before."""
    seen = set(
        Trial.objects.filter(participant=participant, kind=TrialKind.GOLD).values_list("expected_best", flat=True)
    )
    seen |= {pk for screening in Screening.objects.filter(participant=participant) for pk in screening.order}
    of_task = {"best__iteration__experiment__task": _find_task(participant)}
    sets = GoldSet.objects.filter(study=participant.study_id, **of_task).select_related("best").order_by("pk")
    for gold in _shuffle([one for one in sets if one.best_id not in seen and one.worst_id not in seen], draw):
        whole = Candidate.objects.filter(iteration=gold.best.iteration_id).values_list("pk", flat=True)
        order = _shuffle(_filter_showable(list(whole) if gold.whole_round else [gold.best_id, gold.worst_id]), draw)
        if gold.best_id in order and gold.worst_id in order:
            worst = gold.worst_id if len(order) > 2 else None
            return {"order": order, "expected_best_id": gold.best_id, "expected_worst_id": worst}
    return None


def _make_repeated(participant: Participant, draw: random.Random) -> dict[str, object] | None:
    """The oldest round that was not repeated yet, in a new order; the first choice is the expected one."""
    done = set(Trial.objects.filter(participant=participant, kind=TrialKind.REPEATED).values_list("repeats", flat=True))
    for screening in _find_judged(participant):
        vote = ballot.find_vote(screening)
        if screening.pk in done or vote is None or vote.cannot_tell:
            continue
        order = _shuffle(_filter_showable(screening.order), draw)
        worst = vote.worst_id if len(order) > 2 else None
        return {"order": order, "repeats": screening, "expected_best_id": vote.best_id, "expected_worst_id": worst}
    return None


MAKERS = {TrialKind.ATTENTION: _make_attention, TrialKind.GOLD: _make_gold, TrialKind.REPEATED: _make_repeated}


def _find_judged(participant: Participant) -> list[Screening]:
    """Rounds of the person's task that they have judged and that can still be shown, oldest first."""
    of_task = {"request__experiment__task": _find_task(participant)}
    mine = Screening.objects.filter(participant=participant, request__kind__in=WORST_KINDS, **of_task)
    judged = mine.filter(votes__locked_at__isnull=False).distinct().order_by("pk")
    return [screening for screening in judged if len(_filter_showable(screening.order)) > 1]


def _filter_showable(order: list[int], task: str = "") -> list[int]:
    """The candidates whose clip can be shown or whose answer can be read, of this task if one is given."""
    of_task = {"iteration__experiment__task": task} if task else {}
    showable = set(find_showable().filter(pk__in=order, **of_task).values_list("pk", flat=True))
    return [pk for pk in order if pk in showable]


def find_showable() -> QuerySet[Candidate]:
    """Candidates that a page can show: a robot's by its final clip, an answer once it was tried."""
    robots = Q(iteration__experiment__task__in=list(catalog.list_tasks()))
    films = Clip.objects.filter(percent=FINAL, status=Clip.Status.READY).values("candidate")
    return Candidate.objects.filter(robots & Q(pk__in=films) | ~robots & Q(status=Candidate.Status.TRAINED))


def _shuffle(things: list[T], draw: random.Random) -> list[T]:
    return draw.sample(things, len(things))


def find_required_letters(trial: Trial) -> list[str]:
    """The letters that an attention trial's page says to pick: best, and worst if it is asked for."""
    return (
        find_letters(trial, [trial.expected_best_id, trial.expected_worst_id])
        if trial.kind == TrialKind.ATTENTION
        else []
    )


@transaction.atomic
def save_answer(trial: Trial, choice: ballot.Choice) -> str:
    """Save the answer, once. Returns a message about a problem; empty if there is none."""
    trial = Trial.objects.select_for_update().get(pk=trial.pk)
    if trial.answered_at:
        return ""
    if not choice.cannot_judge:
        picked = ballot.resolve_choice(trial, choice, needs_worst=trial.asks_worst)
        if isinstance(picked, str):
            return picked
        trial.best_id, trial.worst_id = picked
    trial.cannot_tell, trial.broken = choice.cannot_judge, choice.broken
    trial.client, trial.answered_at = choice.client, read_now()
    trial.save()
    return ""
