"""Assignment: which arms a person gets, in which order, and the experiment of each place."""

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
    *("task", "method", "options", "judge", "judge_options", "k", "n"),
    *("preset", "training_start", "shared_experience"),
    *("model", "describer", "judge_model", "vision", "prompt_set", "token_budget", "dollar_budget"),
)
STAYS = ("", Outcome.FINISHED)
LONGEST_TITLE = 80
PILOT_SEEDS = 1_000_000_000
"""The experiments of pilots take seeds from here on, so that they neither use up nor share those of a study."""


def lock_study(study_pk: int) -> Study:
    """Lock the study until the transaction ends, so that places are given one at a time. Take it before other locks."""
    return Study.objects.select_for_update(no_key=True).get(pk=study_pk)


def find_members(experiment: Experiment | OuterRef) -> QuerySet[Assignment]:
    """The places of the people who judge the experiment (in a subquery, that of the row) and have not left."""
    places = Assignment.objects.filter(participant__withdrawn_at=None, participant__outcome__in=STAYS)
    return places.filter(experiment=experiment).select_related("arm", "participant")


def count_copies(experiment: Experiment) -> int:
    """How many people answer each pair of segments."""
    members = list(find_members(experiment))
    return max(1, min(members[0].arm.overlap, len(members))) if members else 1


def find_participants(experiment: Experiment) -> list[Participant]:
    """The participants whose choices the experiment follows, in the order they came; empty outside studies."""
    return [place.participant for place in experiment.assignments.all()]


def find_enrolled(study: Study) -> QuerySet[Participant]:
    """The participants who consented and have not left: quotas and balance count these."""
    people = study.participants.exclude_pilots()
    return people.filter(consented_at__isnull=False, withdrawn_at=None, outcome__in=STAYS)


# --- arms -----------------------------------------------------------------------------------------------------


def plan_places(participant: Participant) -> list[Assignment]:
    """The places a newcomer would get: those assigned by hand, else a draw. Empty when there is no room.

    For pilots there is always room.
    """
    study = participant.study
    by_hand = list(participant.assignments.select_related("arm"))
    if by_hand:
        room = participant.pilot or all(has_room(place.arm, besides=participant) for place in by_hand)
        return by_hand if room else []
    drawn = participant.pilot or study.assignment != Study.Assigning.BY_HAND
    arms = draw_arms(study, participant.label, full_too=participant.pilot) if drawn else []
    return [Assignment(participant=participant, arm=arm, position=number) for number, arm in enumerate(arms, 1)]


def assign_places(participant: Participant) -> None:
    """Give a newcomer their places. The caller holds the study's lock and has checked that there is room."""
    Assignment.objects.bulk_create([place for place in plan_places(participant) if place.pk is None])


def draw_arms(study: Study, label: str, full_too: bool = False) -> list[Arm]:
    """The arms of the person with this label, in order; empty when too few have room.

    Nobody gets an arm twice before they had each one. Balanced: at every place the arm with the fewest people; among
    equals the one least often at that place; among equals one is drawn. Seeded: drawn from the seed and the label
    alone. A balanced draw depends on the study's seed, the label and the places already given, and on nothing else.
    full_too: draw from arms whose quota is reached, too.
    """
    every = list(study.arms.all())
    arms = [arm for arm in every if full_too or has_room(arm)]
    if not arms or len(arms) < min(study.experiments_each, len(every)):
        return []
    draw = random.Random(f"{study.seed} {label}")
    if study.assignment == Study.Assigning.SEEDED:
        rounds = [draw.sample(arms, len(arms)) for _ in range(-(-study.experiments_each // len(arms)))]
        return [arm for shuffled in rounds for arm in shuffled][: study.experiments_each]
    return _draw_balanced(study, arms, draw)


def _draw_balanced(study: Study, arms: Sequence[Arm], draw: random.Random) -> list[Arm]:
    places = Assignment.objects.filter(participant__in=find_enrolled(study)).values_list("arm", "position")
    people_of, count_at = Counter(arm for arm, _ in places), Counter(places)
    chosen: list[Arm] = []
    for position in range(1, study.experiments_each + 1):
        keys = {arm.pk: (chosen.count(arm), people_of[arm.pk], count_at[arm.pk, position]) for arm in arms}
        fewest = min(keys.values())
        chosen.append(draw.choice([arm for arm in arms if keys[arm.pk] == fewest]))
    return chosen


def has_room(arm: Arm, besides: Participant | None = None) -> bool:
    if arm.quota is None:
        return True
    people = find_enrolled(arm.study).filter(assignments__arm=arm).distinct()
    return (people.exclude(pk=besides.pk) if besides else people).count() < arm.quota


# --- experiments ----------------------------------------------------------------------------------------------


def begin_experiment(place: Assignment) -> Experiment:
    """Give the place its experiment: one with an incomplete panel, or a new one. The last member of the panel starts
    it; a pilot is a panel alone. The caller holds the study's lock.
    """
    experiment = _find_open_panel(place) or create_experiment(place)
    place.experiment = experiment
    place.save(update_fields=["experiment"])
    if place.participant.pilot or find_members(experiment).count() >= place.arm.panel:
        loop.start(experiment)
    else:
        events.emit(experiment, "joined", f"{place.participant.label} is here.", public=True)
    return experiment


def _find_open_panel(place: Assignment) -> Experiment | None:
    """The oldest experiment of this arm that waits for people and does not have this person yet."""
    if place.arm.panel == 1 or place.participant.pilot:
        return None
    waiting = find_study_experiments(place.arm.study).filter(assignments__arm=place.arm, status=Experiment.Status.DRAFT)
    mine = Assignment.objects.filter(participant=place.participant, experiment=OuterRef("pk"))
    return waiting.exclude(Exists(mine)).order_by("pk").first()


def find_study_experiments(study: Study, pilots: bool = False) -> QuerySet[Experiment]:
    """The experiments of the study's participants; with `pilots`, those of its pilots instead."""
    people = study.participants.pilots() if pilots else study.participants.exclude_pilots()
    return Experiment.objects.filter(
        Exists(Assignment.objects.filter(experiment=OuterRef("pk"), participant__in=people))
    )


def create_experiment(place: Assignment) -> Experiment:
    """A new experiment with the arm's plan and the study's next seed; not started."""
    plan = {name: getattr(place.arm, name) for name in PLAN}
    return Experiment.objects.create(**plan, name=_make_name(place), seed=_find_next_seed(place))


def _make_name(place: Assignment) -> str:
    title = place.arm.study.title[:LONGEST_TITLE]
    if place.arm.panel == 1 or place.participant.pilot:
        return f"{title}: {place.participant.label}" + (f", {place.position}" if place.position > 1 else "")
    before = find_study_experiments(place.arm.study).filter(assignments__arm=place.arm).distinct().count()
    return f"{title}: {place.arm.name[:20]}, panel {before + 1}"


def _find_next_seed(place: Assignment) -> int:
    """Every experiment of a study has its own seed; they count up from the study's, those of pilots from theirs."""
    study, pilot = place.arm.study, place.participant.pilot
    first = PILOT_SEEDS if pilot else study.seed
    last = find_study_experiments(study, pilot).aggregate(last=Max("seed"))["last"]
    return first if last is None else max(first, last + 1)


def find_due(participants: QuerySet[Participant] | None = None) -> QuerySet[Assignment]:
    """Places whose turn has come: every earlier experiment of the person has its winner."""
    before = Assignment.objects.filter(participant=OuterRef("participant"), position__lt=OuterRef("position"))
    unfinished = before.filter(~Q(experiment__status=Experiment.Status.FINISHED))
    waiting = Assignment.objects.filter(
        experiment=None,
        participant__consented_at__isnull=False,
        participant__withdrawn_at=None,
        participant__outcome="",
        participant__study__origin=None,  # imported studies are read only
    )
    mine = waiting if participants is None else waiting.filter(participant__in=participants)
    return mine.exclude(Exists(unfinished)).order_by("pk")


def begin_due(participants: QuerySet[Participant] | None = None) -> int:
    """Begin every place whose turn has come, once. The reaper calls it, and a person's page for that person."""
    return sum(_begin_once(place) for place in find_due(participants).select_related("participant"))


@transaction.atomic
def _begin_once(place: Assignment) -> bool:
    lock_study(place.participant.study_id)
    row = find_due().filter(pk=place.pk).select_related("arm__study", "participant").first()
    if row:
        before = Assignment.objects.filter(participant=row.participant, position__lt=row.position).last()
        begin_experiment(row)
        if before and before.experiment:  # tells the bench page of the earlier experiment
            text = f"{row.participant.label} goes on to the next experiment."
            events.emit(before.experiment, "went on", text, public=True)
    return row is not None
