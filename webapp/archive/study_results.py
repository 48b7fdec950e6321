"""The results of a study, one row per experiment: what its page shows and what results.csv of an export holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from django.db.models import Q

from webapp.archive.study_answers import Answer, Question, measure_waiting, read_answers, read_questions
from webapp.base.charts import drop_infinite
from webapp.experiments.judges import JUDGES
from webapp.experiments.models import Experiment, Iteration
from webapp.review import quality
from webapp.studies.models import Arm, Assignment, Outcome, Participant, Study
from webapp.studies.questionnaires.scored import GivenScore, list_ratings, list_scored, read_scores
from webapp.votes.models import Pair, Poll
from webapp.votes.models import Vote as PairVote
from webapp.votes.poll_results import find_counted_votes

OUTCOMES_LEFT_OUT = {
    Outcome.WITHDRAWN: "left the study",
    Outcome.NOT_ELIGIBLE: "not eligible",
    Outcome.FAILED: "failed the check",
    Outcome.STOPPED: "stopped",
}
"""Why the experiments of a person with this outcome do not count."""
PILOT, UNFINISHED, NO_CHOICE = "pilot", "not finished", "no choice"


@dataclass(frozen=True)
class RoundScore:
    """The pick of one round."""

    number: int
    best: str
    score: float | None
    best_score: float | None
    scores: Mapping[str, float] = field(default_factory=dict)
    """Column -> mean score or rating of the questionnaires that followed this round."""


@dataclass(frozen=True)
class Result:
    """One experiment of a study."""

    people: tuple[Participant, ...]
    """The participant, or the members of the panel."""
    arm: Arm
    position: int
    """Its place in the participant's sequence."""
    experiment: Experiment
    score: float | None
    best_score: float | None
    rounds: tuple[RoundScore, ...]
    choices: int
    """Choices of rounds, and answers to pairs."""
    drawn: int
    """Choices of people who could not judge, whose picks were drawn at random; and pairs that were skipped."""
    seconds_choosing: float | None
    seconds_waiting: float | None
    seconds_total: float | None
    preferred: int
    compared: int
    """A/B votes that preferred its winner, and those that preferred either side; closed and unblinded votes only."""
    left_out: str
    """Why it does not count; empty if it counts."""
    flags: tuple[str, ...]
    scores: Mapping[str, float]
    """Column -> mean score that the people gave in a questionnaire: about this experiment, or once in the study where
    they were in no other arm.
    """

    @property
    def unit(self) -> str:
        """Who judged, as tests count them: one person, or one panel."""
        return "; ".join(person.label for person in self.people)

    @property
    def drawn_share(self) -> float | None:
        return self.drawn / self.choices if self.choices else None

    @property
    def preferred_share(self) -> float | None:
        return self.preferred / self.compared if self.compared else None


def read_results(study: Study, pilots: bool = False) -> list[Result]:
    """Every experiment that somebody in the study began, by arm and participant; without those of pilots by default."""
    people = study.participants.all() if pilots else study.participants.exclude_pilots()
    places = Assignment.objects.filter(participant__in=people).exclude(experiment=None)
    places = places.select_related("participant", "arm", "experiment__winner", "experiment__winner__iteration")
    of_experiment: dict[int, list[Assignment]] = defaultdict(list)
    for place in places.order_by("arm__position", "arm", "participant__label", "position"):
        of_experiment[place.experiment_id or 0].append(place)
    begun = [members[0].experiment for members in of_experiment.values() if members[0].experiment]
    answers, questions = read_answers(begun), read_questions(begun)
    rounds = _read_rounds(list(of_experiment))
    preferences = _count_preferences(list(of_experiment))
    flags = {person.pk: found.flags for person, found in quality.assess_study(study).items()}
    given = read_scores([*list_scored(study), *list_ratings(study)], people)
    arms = _list_arms(of_experiment.values())
    found = []
    for pk, members in of_experiment.items():
        own = _select_scores(given, members, arms)
        with_scores = [replace(one, scores=_average(own, one.number)) for one in rounds.get(pk, ())]
        args = (members, answers.get(pk, []), with_scores, questions.get(pk, []), preferences.get(pk), flags)
        found.append(_build_result(*args, scores=_average(own)))
    return found


def _list_arms(experiments: Iterable[Sequence[Assignment]]) -> dict[int, set[int]]:
    """Participant -> the arms in which they judged."""
    arms: dict[int, set[int]] = defaultdict(set)
    for members in experiments:
        for place in members:
            arms[place.participant_id].add(place.arm_id)
    return arms


def _select_scores(
    given: Sequence[GivenScore], members: Sequence[Assignment], arms: Mapping[int, set[int]]
) -> list[GivenScore]:
    """The scores about this experiment. What was asked once in the study is about a person's only arm."""
    people = {place.participant_id for place in members}
    mine = [one for one in given if one.participant in people]
    pk = members[0].experiment_id
    return [one for one in mine if one.experiment == pk or (one.experiment is None and len(arms[one.participant]) == 1)]


def _average(given: Iterable[GivenScore], number: int | None = None) -> dict[str, float]:
    """Column -> mean; of one round, or of all moments. Each person counts once."""
    values: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in given:
        if number is None or one.round == number:
            values[one.column][one.participant].append(one.value)
    return {column: fmean(map(fmean, people.values())) for column, people in values.items()}


def _build_result(
    members: Sequence[Assignment],
    answers: Sequence[Answer],
    rounds: Sequence[RoundScore],
    questions: Sequence[Question],
    preferred: tuple[int, int] | None,
    flags: dict[int, tuple[str, ...]],
    scores: Mapping[str, float],
) -> Result:
    first, experiment = members[0], members[0].experiment
    assert experiment is not None
    seconds = [one.seconds for one in answers if one.seconds is not None]
    people = tuple(place.participant for place in members)
    total = (experiment.finished_at, experiment.started_at)
    winner = experiment.winner
    return Result(
        people=people,
        arm=first.arm,
        position=first.position,
        experiment=experiment,
        score=drop_infinite(winner.final_score) if winner else None,
        best_score=drop_infinite(winner.rts) if winner else None,
        rounds=tuple(rounds),
        choices=len(answers),
        drawn=sum(one.undecided for one in answers),
        seconds_choosing=fmean(seconds) if seconds else None,
        seconds_waiting=measure_waiting([person.pk for person in people], experiment.started_at, questions, answers),
        seconds_total=(total[0] - total[1]).total_seconds() if total[0] and total[1] else None,
        preferred=preferred[0] if preferred else 0,
        compared=preferred[1] if preferred else 0,
        left_out=_find_reason(members, answers),
        flags=tuple(dict.fromkeys(flag for place in members for flag in flags.get(place.participant_id, ()))),
        scores=scores,
    )


def _find_reason(members: Sequence[Assignment], answers: Sequence[Answer]) -> str:
    """Why an experiment does not count. A panel's counts while one of its members stays."""
    people, experiment = [place.participant for place in members], members[0].experiment
    assert experiment is not None
    if all(person.pilot for person in people):
        return PILOT
    reasons = [OUTCOMES_LEFT_OUT.get(Outcome(person.outcome)) if person.outcome else None for person in people]
    if all(reasons):
        return reasons[0] or ""
    if experiment.status != Experiment.Status.FINISHED or experiment.winner is None:
        return UNFINISHED
    if JUDGES[experiment.judge].asks_people and all(one.undecided for one in answers):
        return NO_CHOICE
    return ""


def _read_rounds(experiments: Sequence[int]) -> dict[int, list[RoundScore]]:
    found: dict[int, list[RoundScore]] = defaultdict(list)
    judged = Iteration.objects.filter(experiment__in=experiments, aside=False).exclude(best=None)
    for row in judged.select_related("best__iteration").order_by("number"):
        assert row.best is not None
        one = RoundScore(row.number, row.best.key, drop_infinite(row.best.final_score), drop_infinite(row.best.rts))
        found[row.experiment_id].append(one)
    return found


def _count_preferences(experiments: Sequence[int]) -> dict[int, tuple[int, int]]:
    """(votes for its winner, votes for either side) of each experiment whose winner was shown in an A/B vote that is
    closed and unblinded."""
    winners = dict(Experiment.objects.filter(pk__in=experiments).exclude(winner=None).values_list("winner", "pk"))
    sides: dict[int, tuple[int | None, int | None]] = {}
    shown = Q(first__candidate__in=winners) | Q(second__candidate__in=winners)
    shown |= Q(first_answer__in=winners) | Q(second_answer__in=winners)
    pairs = Pair.objects.filter(shown, poll__status=Poll.Status.CLOSED, poll__unblinded_at__isnull=False)
    for pair in pairs.select_related("first", "second"):
        first = pair.first.candidate_id if pair.first else pair.first_answer_id
        second = pair.second.candidate_id if pair.second else pair.second_answer_id
        sides[pair.pk] = (winners.get(first or 0), winners.get(second or 0))
    counts: dict[int, tuple[int, int]] = {}
    for vote in _list_counted_votes(sides):
        for side, experiment in zip(("first", "second"), sides[vote.showing.pair_id], strict=True):
            if experiment and vote.answer in ("first", "second"):
                preferred, compared = counts.get(experiment, (0, 0))
                counts[experiment] = (preferred + (vote.answer == side), compared + 1)
    return counts


def _list_counted_votes(pairs: Iterable[int]) -> list[PairVote]:
    polls = Poll.objects.filter(pairs__in=pairs).distinct()
    return [vote for poll in polls for vote in find_counted_votes(poll) if vote.showing.pair_id in set(pairs)]
