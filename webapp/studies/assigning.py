"""Which arms a person gets, in which order, and the experiment of each place."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from webapp.experiments import events, loop
from webapp.experiments.models import Experiment
from webapp.studies.models import Arm, Assignment, Outcome, Participant, Study

PLAN = (
    *("task", "method", "options", "judge", "judge_options", "k", "n", "preset"),
    *("model", "describer", "judge_model", "vision", "token_budget", "dollar_budget"),
)
STAYS = ("", Outcome.FINISHED)
LONGEST_TITLE = 80


def lock(study_pk: int) -> Study:
    """The study, held until the transaction ends: its places are given one after another. Before any other lock."""
    return Study.objects.select_for_update(no_key=True).get(pk=study_pk)


def members(experiment: Experiment) -> QuerySet[Assignment]:
    """The places of those who judge it and have not left."""
    still = Assignment.objects.filter(participant__withdrawn_at=None, participant__outcome__in=STAYS)
    return still.filter(experiment=experiment).select_related("arm", "participant")


def people_of(experiment: Experiment) -> list[Participant]:
    """The participants whose choices it follows, in the order they came; empty outside of studies."""
    return [place.participant for place in experiment.assignments.all()]


def taken(study: Study) -> QuerySet[Participant]:
    """Those who consented and stayed: what quotas and balance count."""
    return study.participants.filter(consented_at__isnull=False, withdrawn_at=None, outcome__in=STAYS)


# --- arms -----------------------------------------------------------------------------------------------------


def places(participant: Participant) -> list[Assignment]:
    """What a newcomer would get: what was given by hand, else what is drawn now. Empty when there is no room."""
    study = participant.study
    given = list(participant.assignments.select_related("arm"))
    if given:
        return given if all(room(place.arm, besides=participant) for place in given) else []
    drawn = [] if study.assignment == Study.Assigning.BY_HAND else draw(study, participant.label)
    return [Assignment(participant=participant, arm=arm, position=number) for number, arm in enumerate(drawn, 1)]


def assign(participant: Participant) -> None:
    """Give a newcomer their places. The caller holds the study's lock, and has seen that there is room."""
    Assignment.objects.bulk_create([place for place in places(participant) if place.pk is None])


def draw(study: Study, label: str) -> list[Arm]:
    """The arms of the person with this label, in order; empty when too few have room.

    Nobody gets an arm twice before they had each one. Balanced: at every place the arm with the fewest people, of
    those the one least often at that place, of those one drawn. Seeded: drawn, whoever else is there. What is drawn
    depends on the study's seed, the label and who is there, and on nothing else.
    """
    every = list(study.arms.all())
    arms = [arm for arm in every if room(arm)]
    if not arms or len(arms) < min(study.experiments_each, len(every)):
        return []
    drawn = random.Random(f"{study.seed} {label}")
    if study.assignment == Study.Assigning.SEEDED:
        rounds = [drawn.sample(arms, len(arms)) for _ in range(-(-study.experiments_each // len(arms)))]
        return [arm for shuffled in rounds for arm in shuffled][: study.experiments_each]
    return _balanced(study, arms, drawn)


def _balanced(study: Study, arms: Sequence[Arm], drawn: random.Random) -> list[Arm]:
    places = Assignment.objects.filter(participant__in=taken(study)).values_list("arm", "position")
    people, at = Counter(arm for arm, _ in places), Counter(places)
    mine: list[Arm] = []
    for place in range(1, study.experiments_each + 1):
        keys = {arm.pk: (mine.count(arm), people[arm.pk], at[arm.pk, place]) for arm in arms}
        fewest = min(keys.values())
        mine.append(drawn.choice([arm for arm in arms if keys[arm.pk] == fewest]))
    return mine


def room(arm: Arm, besides: Participant | None = None) -> bool:
    if arm.quota is None:
        return True
    there = taken(arm.study).filter(assignments__arm=arm).distinct()
    return (there.exclude(pk=besides.pk) if besides else there).count() < arm.quota


# --- experiments ----------------------------------------------------------------------------------------------


def begin(place: Assignment) -> Experiment:
    """Give the place its experiment: a seat in a panel that is not complete, or a new one. Whoever completes the
    panel starts it. The caller holds the study's lock.
    """
    experiment = _gathering(place) or make(place)
    place.experiment = experiment
    place.save(update_fields=["experiment"])
    if members(experiment).count() >= place.arm.panel:
        loop.start(experiment)
    else:
        events.emit(experiment, "joined", f"{place.participant.label} is here.", public=True)
    return experiment


def _gathering(place: Assignment) -> Experiment | None:
    """The oldest experiment of this arm that waits for people, and that this person is not in."""
    if place.arm.panel == 1:
        return None
    waiting = Experiment.objects.filter(assignments__arm=place.arm, status=Experiment.Status.DRAFT)
    mine = Assignment.objects.filter(participant=place.participant, experiment=OuterRef("pk"))
    return waiting.exclude(Exists(mine)).order_by("pk").first()


def make(place: Assignment) -> Experiment:
    """A new experiment by the arm's plan, with the study's next seed; not started."""
    arm, study = place.arm, place.arm.study
    plan = {name: getattr(arm, name) for name in PLAN}
    return Experiment.objects.create(**plan, name=_name(place), seed=_next_seed(study))


def _name(place: Assignment) -> str:
    title = place.arm.study.title[:LONGEST_TITLE]
    if place.arm.panel == 1:
        return f"{title}: {place.participant.label}" + (f", {place.position}" if place.position > 1 else "")
    before = Experiment.objects.filter(assignments__arm=place.arm).distinct().count()
    return f"{title}: {place.arm.name[:20]}, panel {before + 1}"


def _next_seed(study: Study) -> int:
    """Every experiment of a study has its own, in order from the study's on."""
    last = Experiment.objects.filter(assignments__arm__study=study).aggregate(last=Max("seed"))["last"]
    return study.seed if last is None else max(study.seed, last + 1)


def due(participants: QuerySet[Participant] | None = None) -> QuerySet[Assignment]:
    """Places whose turn it is: everything before them has its winner."""
    before = Assignment.objects.filter(participant=OuterRef("participant"), position__lt=OuterRef("position"))
    unfinished = before.filter(~Q(experiment__status=Experiment.Status.FINISHED))
    waiting = Assignment.objects.filter(
        experiment=None,
        participant__consented_at__isnull=False,
        participant__withdrawn_at=None,
        participant__outcome="",
        participant__study__origin=None,  # an import is there to be looked at
    )
    mine = waiting if participants is None else waiting.filter(participant__in=participants)
    return mine.exclude(Exists(unfinished)).order_by("pk")


def begin_due(participants: QuerySet[Participant] | None = None) -> int:
    """Begin every place whose turn it is, once. Called by the reaper, and by a person's page for that person."""
    return sum(_begin_once(place) for place in due(participants).select_related("participant"))


@transaction.atomic
def _begin_once(place: Assignment) -> bool:
    lock(place.participant.study_id)
    still = due().filter(pk=place.pk).select_related("arm__study", "participant").first()
    if still:
        before = Assignment.objects.filter(participant=still.participant, position__lt=still.position).last()
        begin(still)
        if before and before.experiment:  # for the bench, beside what the new one says itself
            said = f"{still.participant.label} goes on to the next experiment."
            events.emit(before.experiment, "went on", said, public=True)
    return still is not None
