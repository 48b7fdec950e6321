"""Trials: extra sets judged while the next round is made, to check the answers. Stored, never given to the loop."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from dataclasses import dataclass
from typing import TypeVar

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from simulation import catalog
from trainer.records import FINAL
from webapp.experiments.kinds import WITH_WORST
from webapp.experiments.models import Candidate, Clip
from webapp.review import ballot
from webapp.review.models import GoldSet, Screening, Trial, TrialPlan
from webapp.review.screenings import letters_of
from webapp.studies.models import Participant

Kind = Trial.Kind
T = TypeVar("T")


@dataclass(frozen=True)
class Planned:
    kind: Kind
    round: int
    """Shown while the robots of this round practise, or later."""


def plan_of(plan: TrialPlan, participant: Participant, rounds: int) -> list[Planned]:
    """This person's trials in order: drawn once and for all, spread over the rounds' waits.

    Attention and repeated trials show a round judged before, so they begin in the second round's wait.
    """
    draw = random.Random(f"{plan.study.seed} {participant.label} trials")
    kinds = [Kind.ATTENTION] * plan.attention + [Kind.GOLD] * plan.gold + [Kind.REPEATED] * plan.repeated
    draw.shuffle(kinds)
    kinds.sort(key=lambda kind: kind == Kind.GOLD)  # gold fills what the others leave free
    taken: Counter[int] = Counter()
    planned = []
    for kind in kinds:
        waits = range(1 if kind == Kind.GOLD else 2, rounds + 1)
        if not waits:
            continue
        wait = min(waits, key=lambda number: (taken[number], draw.random()))
        taken[wait] += 1
        planned.append(Planned(kind, wait))
    return sorted(planned, key=lambda one: one.round)


def current(participant: Participant, rounds: int, waits_for: int) -> Trial | None:
    """The trial that this person should judge now: one that was begun, else the next that is due.

    waits_for: the round whose robots practise; 0 where the person need not wait, so that nothing new is begun.
    """
    begun = Trial.objects.filter(participant=participant, answered_at=None).select_related("participant__study")
    task = _task(participant)
    for open_one in begun.order_by("number"):
        if len(_ready(open_one.order, task)) > 1:
            return open_one
    plan = TrialPlan.objects.filter(study=participant.study_id).select_related("study").first() if waits_for else None
    if plan is None:
        return None
    made = set(Trial.objects.filter(participant=participant).values_list("number", flat=True))
    for number, planned in enumerate(plan_of(plan, participant, rounds)):
        if number not in made and planned.round <= waits_for:
            trial = _begin(participant, planned.kind, number, waits_for)
            if trial is not None:
                return trial
    return None


def _task(participant: Participant) -> str:
    """What the page is about: nothing of another task belongs under its question."""
    experiment = participant.experiment
    return experiment.task if experiment else ""


def _begin(participant: Participant, kind: Kind, number: int, round: int) -> Trial | None:
    """A new trial of this kind; None where there is nothing to show in one."""
    seed = secrets.randbits(48)
    drawn = MAKERS[kind](participant, random.Random(seed))
    if drawn is None:
        return None
    trial, _ = Trial.objects.get_or_create(
        participant=participant,
        number=number,
        defaults={"kind": kind, "round": round, "seed": seed, **drawn},
    )
    return trial if trial.answered_at is None else None


def _attention(participant: Participant, draw: random.Random) -> dict[str, object] | None:
    """An earlier round; which to pick is drawn and told."""
    judged = _judged(participant)
    if not judged:
        return None
    order = _shuffled(_ready(draw.choice(judged).order), draw)
    best, worst = draw.sample(order, 2)
    return {"order": order, "expected_best_id": best, "expected_worst_id": worst if len(order) > 2 else None}


def _gold(participant: Participant, draw: random.Random) -> dict[str, object] | None:
    """A gold set of the task at hand that this person has not judged, neither as one nor as a round."""
    seen = set(Trial.objects.filter(participant=participant, kind=Kind.GOLD).values_list("expected_best", flat=True))
    seen |= {pk for screening in Screening.objects.filter(participant=participant) for pk in screening.order}
    of_task = {"best__iteration__experiment__task": _task(participant)}
    sets = GoldSet.objects.filter(study=participant.study_id, **of_task).select_related("best").order_by("pk")
    for gold in _shuffled([one for one in sets if one.best_id not in seen and one.worst_id not in seen], draw):
        mates = Candidate.objects.filter(iteration=gold.best.iteration_id).values_list("pk", flat=True)
        order = _shuffled(_ready(list(mates) if gold.whole_round else [gold.best_id, gold.worst_id]), draw)
        if gold.best_id in order and gold.worst_id in order:
            worst = gold.worst_id if len(order) > 2 else None
            return {"order": order, "expected_best_id": gold.best_id, "expected_worst_id": worst}
    return None


def _repeated(participant: Participant, draw: random.Random) -> dict[str, object] | None:
    """The oldest round that was not repeated yet, in a new order; expected is what was picked then."""
    done = set(Trial.objects.filter(participant=participant, kind=Kind.REPEATED).values_list("repeats", flat=True))
    for screening in _judged(participant):
        vote = ballot.vote_of(screening)
        if screening.pk in done or vote is None or vote.cannot_tell:
            continue
        order = _shuffled(_ready(screening.order), draw)
        worst = vote.worst_id if len(order) > 2 else None
        return {"order": order, "repeats": screening, "expected_best_id": vote.best_id, "expected_worst_id": worst}
    return None


MAKERS = {Kind.ATTENTION: _attention, Kind.GOLD: _gold, Kind.REPEATED: _repeated}


def _judged(participant: Participant) -> list[Screening]:
    """Rounds of the task at hand that this person has judged and that can still be shown, oldest first."""
    of_task = {"request__experiment__task": _task(participant)}
    mine = Screening.objects.filter(participant=participant, request__kind__in=WITH_WORST, **of_task)
    judged = mine.filter(votes__locked_at__isnull=False).distinct().order_by("pk")
    return [screening for screening in judged if len(_ready(screening.order)) > 1]


def _ready(order: list[int], task: str = "") -> list[int]:
    """Those with a clip that can be shown, or with an answer that can be read: all of them, or of one task."""
    of_task = {"iteration__experiment__task": task} if task else {}
    able = set(showable().filter(pk__in=order, **of_task).values_list("pk", flat=True))
    return [pk for pk in order if pk in able]


def showable() -> QuerySet[Candidate]:
    """Candidates that a page can show: a robot's by its final clip, an answer once it was tried."""
    robots = Q(iteration__experiment__task__in=list(catalog.tasks()))
    films = Clip.objects.filter(percent=FINAL, status=Clip.Status.READY).values("candidate")
    return Candidate.objects.filter(robots & Q(pk__in=films) | ~robots & Q(status=Candidate.Status.TRAINED))


def _shuffled(things: list[T], draw: random.Random) -> list[T]:
    return draw.sample(things, len(things))


def told(trial: Trial) -> list[str]:
    """The letters that the page says to pick: best, and worst where it is asked for."""
    return letters_of(trial, [trial.expected_best_id, trial.expected_worst_id]) if trial.kind == Kind.ATTENTION else []


@transaction.atomic
def answer(trial: Trial, choice: ballot.Choice) -> str:
    """Save the answer, once. Returns what the person must know; empty when all is well."""
    trial = Trial.objects.select_for_update().get(pk=trial.pk)
    if trial.answered_at:
        return ""
    if not choice.cannot_judge:
        picked = ballot.picked(trial, choice, needs_worst=trial.asks_worst)
        if isinstance(picked, str):
            return ballot.in_words_of(trial, picked)
        trial.best_id, trial.worst_id = picked
    trial.cannot_tell, trial.broken = choice.cannot_judge, choice.broken
    trial.client, trial.answered_at = choice.client, timezone.now()
    trial.save()
    return ""
