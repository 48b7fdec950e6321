"""When a participant is asked: the questionnaires that are due, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from webapp.base.prepared import Prepared
from webapp.experiments.models import Experiment
from webapp.studies.models import Assignment, Participant, Study
from webapp.studies.models.questionnaires import Item, Questionnaire, Response
from webapp.studies.questionnaires.kinds import KINDS

Placement = Questionnaire.Placement
RANK = {placement: rank for rank, placement in enumerate(Placement.values)}
FindRound = Callable[[Participant, Experiment], int]
"""The last round of the experiment that is over and that the person judged; 0 before the first."""

ACTIVE_QUESTIONNAIRES = Prepared(
    lambda study: Questionnaire.objects.filter(
        Exists(Item.objects.filter(questionnaire=OuterRef("pk"))), study=study, active=True
    )
)


@dataclass(frozen=True)
class Moment:
    """A questionnaire at one point of a person's way."""

    questionnaire: Questionnaire
    experiment: Experiment | None = None
    round: int = 0


def place_questionnaire(questionnaire: Questionnaire) -> tuple[int, int, int]:
    """Sorts questionnaires by when they are asked."""
    return RANK[questionnaire.placement], questionnaire.position, questionnaire.pk or 0


def list_active(study: Study) -> list[Questionnaire]:
    """The questionnaires that people are asked, in order. One without items is not asked."""
    return ACTIVE_QUESTIONNAIRES.fetch(study.pk)


def find_due(participant: Participant, find_round: FindRound) -> Moment | None:
    """The next questionnaire that the person must answer now; None if there is none.

    A questionnaire that was added later is not asked for moments that the person has passed.
    """
    questionnaires = list_active(participant.study)
    if not questionnaires:
        return None
    sent = set(
        Response.objects.filter(participant=participant)
        .exclude(sent_at=None)
        .values_list("questionnaire", "experiment", "round")
    )
    for moment in _list_moments(participant, questionnaires, find_round):
        key = (moment.questionnaire.pk, moment.experiment.pk if moment.experiment else None, moment.round)
        if key not in sent:
            return moment
    return None


def _list_moments(
    participant: Participant, questionnaires: Sequence[Questionnaire], find_round: FindRound
) -> Iterator[Moment]:
    places = list(participant.places)
    arms = {place.arm_id for place in places}
    judged = _find_last_judged(participant, places, find_round)
    finished = [place for place in places if _is_finished(place)]
    # One experiment after another: what came before the last was asked then. In turns any of them may be due.
    many = slice(None) if participant.study.interleaved else slice(-1, None)
    for one in questionnaires:
        if one.placement == Placement.BEFORE and not judged and not finished and asks_arm(one, arms):
            yield Moment(one)
    for one in questionnaires:
        for place, number in judged[many]:
            if one.placement == Placement.ROUNDS and asks_arm(one, {place.arm_id}) and one.follows_round(number):
                yield Moment(one, place.experiment, number)
    for one in questionnaires:
        for place in finished[many]:
            if one.placement == Placement.EXPERIMENT and asks_arm(one, {place.arm_id}):
                yield Moment(one, place.experiment)
    if places and len(finished) == len(places):
        for one in questionnaires:
            if one.placement == Placement.AFTER and asks_arm(one, arms):
                yield Moment(one)


def _find_last_judged(
    participant: Participant, places: Sequence[Assignment], find_round: FindRound
) -> list[tuple[Assignment, int]]:
    """The places in which the person has judged a round, each with the number of its last."""
    found = [(place, find_round(participant, place.experiment)) for place in places if place.experiment]
    return [(place, number) for place, number in found if number]


def _is_finished(place: Assignment) -> bool:
    return place.experiment is not None and place.experiment.status == Experiment.Status.FINISHED


def asks_arm(questionnaire: Questionnaire, arms: set[int]) -> bool:
    return not questionnaire.arms or bool(arms & set(questionnaire.arms))


def open_response(participant: Participant, moment: Moment) -> Response:
    """The row of this moment; its creation is the time at which the page was opened."""
    response, _ = Response.objects.get_or_create(
        participant=participant,
        questionnaire=moment.questionnaire,
        experiment=moment.experiment,
        round=moment.round,
    )
    return response


def estimate_minutes(study: Study) -> float:
    """Minutes that the questionnaires take a person with one experiment after another; the longest arm counts."""
    questionnaires = list_active(study)
    arms = list(study.arms.all())
    seconds = {
        one.pk: sum(KINDS[item.kind].estimate_seconds(item) for item in one.items.all()) for one in questionnaires
    }
    longest = 0.0
    for arm in arms:
        total = 0.0
        for one in questionnaires:
            if asks_arm(one, {arm.pk}):
                total += seconds[one.pk] * _count_times(one, arm.n, study.experiments_each)
        longest = max(longest, total)
    return longest / 60


def _count_times(questionnaire: Questionnaire, rounds: int, experiments: int) -> int:
    """How often one person answers it."""
    match questionnaire.placement:
        case Placement.ROUNDS:
            return experiments * sum(questionnaire.follows_round(number) for number in range(1, rounds + 1))
        case Placement.EXPERIMENT:
            return experiments
        case _:
            return 1
