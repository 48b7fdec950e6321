"""How reliable a person's answers are: the results of checks as plain numbers. Answers are flagged, never dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from webapp.review.models import PairScreening, Trial, Vote
from webapp.studies.models import Participant, Study


@dataclass(frozen=True)
class Agreement:
    """One repeated trial against the first answer."""

    round: int
    same_best: bool
    same_worst: bool | None
    """None if no worst was asked for."""
    chance: float
    """The agreement that random picks would reach."""


@dataclass(frozen=True)
class Quality:
    """One person's answers to the trials of a study, and how their votes were watched."""

    attention: tuple[bool, ...] = ()
    """For each attention trial answered, in order: whether the videos that the page named were picked."""
    gold: tuple[bool, ...] = ()
    """For each gold trial answered whose films still exist: whether best and worst were the known ones."""
    repeated: tuple[Agreement, ...] = ()
    undecided: int = 0
    """Gold and repeated trials in which the person could not judge, or something was wrong with the videos."""
    votes: int = 0
    hasty: int = 0
    """Votes cast sooner after the page was opened, by the server's clock, than the videos can be watched."""
    unwatched: int = 0
    """Votes whose page had not seen every video watched for long enough."""
    pairs: int = 0
    """Answers to pairs of a training, with skips; those that do not count, because others were first, left out."""
    skipped: int = 0
    gold_pairs: tuple[bool, ...] = ()
    """For each gold pair that the person did not skip: whether the known one was preferred."""
    flags: tuple[str, ...] = ()
    """Sentences about what an experimenter should look at."""

    @property
    def consistency(self) -> float | None:
        """The share of repeated picks, best and worst, that were the same again; None without any."""
        same = [pick for one in self.repeated for pick in (one.same_best, one.same_worst) if pick is not None]
        return sum(same) / len(same) if same else None

    @property
    def chance(self) -> float | None:
        """The mean `consistency` of somebody who picks at random."""
        weights = [(one.chance, 1 if one.same_worst is None else 2) for one in self.repeated]
        total = sum(weight for _, weight in weights)
        return sum(chance * weight for chance, weight in weights) / total if total else None


def assess_study(study: Study) -> dict[Participant, Quality]:
    """The quality of everybody who has answered anything in this study."""
    people = study.participants.exclude_pilots().order_by("label")
    trials = Trial.objects.filter(participant__study=study, answered_at__isnull=False).order_by("answered_at")
    votes = Vote.objects.filter(screening__participant__study=study, undone_at=None).select_related("screening")
    by_trial: dict[int, list[Trial]] = {}
    by_vote: dict[int, list[Vote]] = {}
    by_pair: dict[int, list[PairScreening]] = {}
    for trial in trials:
        by_trial.setdefault(trial.participant_id, []).append(trial)
    for vote in votes:
        by_vote.setdefault(vote.screening.participant_id, []).append(vote)
    for row in find_standing_pairs(study):
        by_pair.setdefault(row.participant_id, []).append(row)
    return {
        person: _assess(*(rows.get(person.pk, []) for rows in (by_trial, by_vote, by_pair)))  # type: ignore[arg-type]
        for person in people
        if any(person.pk in rows for rows in (by_trial, by_vote, by_pair))
    }


def find_standing_pairs(study: Study) -> QuerySet[PairScreening]:
    """The answers about pairs of a study's people, gold pairs too."""
    rows = PairScreening.objects.filter(participant__in=study.participants.exclude_pilots(), released_at=None)
    return rows.exclude(answer="").order_by("answered_at", "pk")


def is_gold_right(row: PairScreening) -> bool | None:
    """Whether an answer to a gold pair prefers the known one, its first; None for other pairs, for skips, and where
    the gold pair was removed.
    """
    return None if row.gold_id is None or row.answer in ("", "skip") else row.answer == "first"


def _assess(trials: list[Trial], votes: list[Vote], pairs: list[PairScreening]) -> Quality:
    judged = [trial for trial in trials if not (trial.cannot_tell or trial.broken)]
    attention = tuple(_is_as_expected(trial) for trial in trials if trial.kind == Trial.Kind.ATTENTION)
    gold = tuple(
        _is_as_expected(trial)
        for trial in judged
        if trial.kind == Trial.Kind.GOLD and trial.expected_best_id is not None
    )
    repeated = tuple(compare_repeat(trial) for trial in judged if trial.kind == Trial.Kind.REPEATED)
    hasty, unwatched = sum(map(_is_hasty, votes)), sum(map(_is_unwatched, votes))
    undecided = sum(trial.kind != Trial.Kind.ATTENTION and (trial.cannot_tell or trial.broken) for trial in trials)
    asked = [row for row in pairs if row.pair_id is not None]
    skipped = sum(row.answer == "skip" for row in asked)
    gold_pairs = tuple(right for row in pairs if (right := is_gold_right(row)) is not None)
    checks = (len(asked), skipped, gold_pairs)
    found = Quality(attention, gold, repeated, undecided, len(votes), hasty, unwatched, *checks)
    return replace(found, flags=tuple(_find_flags(found)))


def _is_as_expected(trial: Trial) -> bool:
    if trial.best_id is None or trial.best_id != trial.expected_best_id:
        return False
    return trial.expected_worst_id is None or trial.worst_id == trial.expected_worst_id


def compare_repeat(trial: Trial) -> Agreement:
    """Compare a repeated trial's answer with the vote that it repeats, which the trial keeps as its expectation."""
    same_worst = None if trial.expected_worst_id is None else trial.worst_id == trial.expected_worst_id
    return Agreement(trial.round, trial.best_id == trial.expected_best_id, same_worst, 1 / len(trial.order))


def find_vote_flags(vote: Vote) -> list[str]:
    """What makes one choice doubtful; empty if nothing does."""
    found = {"hasty": _is_hasty(vote), "not watched": _is_unwatched(vote), "videos broken": vote.broken}
    return [flag for flag, applies in found.items() if applies]


def _is_hasty(vote: Vote) -> bool:
    seconds = (vote.created_at - vote.screening.opened_at).total_seconds()
    return not vote.cannot_tell and seconds < vote.screening.watch_seconds


def _is_unwatched(vote: Vote) -> bool:
    return not vote.cannot_tell and vote.client.get("enough") == 0


def _find_flags(found: Quality) -> Iterable[str]:
    for name, passed in (("attention", found.attention), ("gold", found.gold)):
        if not all(passed):
            yield f"failed {passed.count(False)} of {len(passed)} {name} trials"
    if not all(found.gold_pairs):
        yield f"failed {found.gold_pairs.count(False)} of {len(found.gold_pairs)} gold pairs"
    if found.consistency is not None and found.chance is not None and found.consistency <= found.chance:
        yield "repeated picks agree no better than chance"
    if found.hasty:
        yield f"{found.hasty} of {found.votes} votes were cast sooner than the videos can be watched, or answers read"
    if found.unwatched:
        yield f"{found.unwatched} of {found.votes} votes were cast before every video was watched for long enough"
