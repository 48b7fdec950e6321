"""Votes: cast, undo, lock. A vote is a row before the page says thank you, and it counts once it is locked."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from trainer.records import FINAL
from webapp.base.database import read_now
from webapp.base.http import strip_nul
from webapp.base.prepared import Prepared
from webapp.experiments import events, loop
from webapp.experiments.kinds import get_judgement
from webapp.experiments.models import Clip, Experiment, Request
from webapp.review import panels, tags
from webapp.review.models import Screening, Trial, Vote
from webapp.review.screenings import LETTERS, SCREENING_BY_TOKEN, find_letters, find_medium, find_readable
from webapp.studies.models import Assignment, Participant

OUT_OF_DATE = gettext_noop("That page was out of date, so nothing was saved from it. This is where you are now.")
ROUND_OVER = gettext_noop("That round is already over, so this choice was not counted. This is where you are now.")
STANDING_VOTE = Prepared(
    lambda request, participant: Vote.objects.filter(
        request=request, screening__participant=participant, undone_at=None
    ).select_related("screening")[:1],
    values=2,
)
UNLOCKED_VOTES = Prepared(
    lambda participant: Vote.objects.filter(
        request__experiment__assignments__participant=participant, undone_at=None, locked_at=None
    ).values_list("created_at", Now())
)
"""When each unlocked vote in a person's experiments was cast, and the time by the same clock."""
LIVE = (Experiment.Status.RUNNING, Experiment.Status.WAITING)


@dataclass(frozen=True)
class Choice:
    """What a form says. Letters as shown; empty if nothing was chosen."""

    best: str = ""
    worst: str = ""
    cannot_tell: bool = False
    broken: bool = False
    """Something is wrong with the videos."""
    reason: str = ""
    tags: tuple[str, ...] = ()
    client: dict[str, Any] = field(default_factory=dict)
    """What the browser measured (webapp.review.telemetry)."""

    @property
    def cannot_judge(self) -> bool:
        return self.cannot_tell or self.broken


@dataclass(frozen=True)
class CastResult:
    """The result of casting: the vote that counts, and a message if it is not the choice that was sent."""

    vote: Vote | None
    message: str = ""


def cast_vote(participant: Participant, token: str, choice: Choice) -> CastResult:
    """Save a choice for the screening with this token. Casting the same choice twice gives the same vote."""
    screening = SCREENING_BY_TOKEN.find(participant.pk, token)
    if screening is None:
        return CastResult(None, _(OUT_OF_DATE))
    with transaction.atomic():
        try:
            experiment = loop.lock(screening.request.experiment_id)
        except Experiment.DoesNotExist:
            return CastResult(None, _(OUT_OF_DATE))
        request = Request.objects.get(pk=screening.request_id)
        request.experiment = experiment
        screening.request, screening.participant = request, participant
        standing = find_standing_vote(request, participant)
        if standing:
            same = _is_same(standing, screening, choice)
            message = "" if same else _describe_standing(standing, screening)
            return CastResult(standing, message)
        if request.status != Request.Status.OPEN or not experiment.live:
            return CastResult(None, _(ROUND_OVER))
        chosen = resolve_choice(screening, choice, needs_worst=get_judgement(request).asks_worst)
        if isinstance(chosen, str):
            return CastResult(None, chosen)
        vote = _save(screening, choice, *chosen)
        told = {"only": participant.label}  # the pages of the others do not change before the vote is locked
        events.emit(experiment, "voted", "The participant confirmed a choice", told, public=True)
        if choice.broken:
            text = f"{participant.label} says that something is wrong with the videos."
            events.emit(experiment, "reported", text, payload={"vote": vote.pk})
    return CastResult(vote)


def find_standing_vote(request: Request, participant: Participant) -> Vote | None:
    return STANDING_VOTE.find(request.pk, participant.pk)


def find_vote(screening: Screening) -> Vote | None:
    """The screening's vote that was not taken back."""
    return Vote.objects.filter(screening=screening, undone_at=None).first()


def undo_vote(vote: Vote) -> bool:
    """Take a vote back; False when it is locked already."""
    with transaction.atomic():
        undone = Vote.objects.filter(pk=vote.pk, undone_at=None, locked_at=None).update(undone_at=Now())
        if undone:
            told = {"only": vote.screening.participant.label}
            events.emit(vote.request.experiment, "undone", "The participant took the choice back", told, public=True)
    return bool(undone)


def lock_due_votes(votes: QuerySet[Vote] | None = None) -> int:
    """Lock every vote (or those in `votes`) that can no longer be taken back. Returns how many requests it answered."""
    undo = timedelta(seconds=settings.UNDO_SECONDS)
    over = Q(created_at__lte=Now() - undo) | Q(created_at__gt=Now() + undo)  # later: the clock was set back
    scope = (Vote.objects.all() if votes is None else votes).filter(undone_at=None, locked_at=None)
    # A vote in an experiment that has failed waits, unlocked, until the experiment is live again.
    due = scope.filter(over, request__experiment__status__in=LIVE)
    return sum(_lock(vote) for vote in due.select_related("request", "best__iteration", "worst__iteration"))


@transaction.atomic
def _lock(vote: Vote) -> bool:
    try:
        experiment = loop.lock(vote.request.experiment_id)
    except Experiment.DoesNotExist:
        return False
    if not experiment.live:  # a vote that is locked in a failed experiment would never become an answer
        return False
    if not Vote.objects.filter(pk=vote.pk, undone_at=None, locked_at=None).update(locked_at=Now()):
        return False
    settled = panels.settle_request(vote.request)
    if not settled:  # pages that say how many others still choose ask for it
        events.emit(vote.request.experiment, "chosen", "A choice can no longer be taken back")
    return settled


def compute_undo_seconds(vote: Vote) -> float:
    if vote.locked_at or vote.undone_at:
        return 0.0
    age = (read_now() - vote.created_at).total_seconds()
    return float(max(0.0, settings.UNDO_SECONDS - max(0.0, age)))


def resolve_choice(screening: Screening | Trial, choice: Choice, needs_worst: bool) -> tuple[int, int | None] | str:
    """The primary keys of best and worst, or a sentence that says what is wrong with the choice."""
    playable, words = set(_find_playable(screening)), find_medium(screening)
    needs_worst = needs_worst and len(playable) > 1
    if choice.cannot_judge:
        drawn = random.Random(f"{screening.seed} cannot tell").sample(sorted(playable), min(2, len(playable)))
        return (drawn[0], drawn[1] if needs_worst else None) if drawn else str(words.none_to_choose)
    best, worst = _find_candidate(screening, choice.best), _find_candidate(screening, choice.worst)
    if best is None or (needs_worst and worst is None):
        return str(words.choose_both if needs_worst else words.choose_one)
    if best == worst and needs_worst:
        return str(words.both_are_same)
    if not {best, worst if needs_worst else best} <= playable:
        return str(words.cannot_be_shown)
    return best, worst if needs_worst else None


def _find_playable(screening: Screening | Trial) -> list[int]:
    readable = find_readable(screening)
    if readable is not None:
        return list(readable)
    ready = Clip.objects.filter(candidate__in=screening.order, percent=FINAL, status=Clip.Status.READY)
    return list(ready.values_list("candidate_id", flat=True))


def _find_candidate(screening: Screening | Trial, letter: str) -> int | None:
    shown = dict(zip(LETTERS, screening.order, strict=False))
    return shown.get(letter)


def _save(screening: Screening, choice: Choice, best: int, worst: int | None) -> Vote:
    known = tags.list_known(screening.participant.study, screening.request.experiment.task_info)
    return Vote.objects.create(
        request=screening.request,
        screening=screening,
        best_id=best,
        worst_id=worst,
        cannot_tell=choice.cannot_judge,
        broken=choice.broken,
        reason=strip_nul(choice.reason).strip()[:2000],
        tags=[tag for tag in choice.tags if tag in known],
        client=choice.client,
    )


def _is_same(vote: Vote, screening: Screening, choice: Choice) -> bool:
    if choice.cannot_judge or vote.cannot_tell:
        return (choice.cannot_judge, choice.broken) == (vote.cannot_tell, vote.broken)
    worst_too = vote.worst_id is None or vote.worst_id == _find_candidate(screening, choice.worst)
    return vote.best_id == _find_candidate(screening, choice.best) and worst_too


def _describe_standing(vote: Vote, screening: Screening) -> str:
    if vote.broken:
        return _("You had already answered this round: something was wrong with the videos. That answer stands.")
    if vote.cannot_tell:
        return str(find_medium(screening).could_not_tell)
    best, *worst = find_letters(screening, [vote.best_id, vote.worst_id])
    if not worst:
        return _("You had already chosen in this round: best %(best)s. That choice stands.") % {"best": best}
    return _("You had already chosen in this round: best %(best)s, worst %(worst)s. That choice stands.") % {
        "best": best,
        "worst": worst[0],
    }


def find_votes(experiment: Experiment) -> QuerySet[Vote]:
    return Vote.objects.filter(request__experiment=experiment)


def lock_votes_around(participant: Participant) -> None:
    """Lock the votes in this person's experiments that can no longer be taken back, those of others included."""
    undo = timedelta(seconds=settings.UNDO_SECONDS)
    if any(abs(now - cast_at) >= undo for cast_at, now in UNLOCKED_VOTES.fetch(participant.pk)):
        mine = Assignment.objects.filter(participant=participant)
        lock_due_votes(Vote.objects.filter(request__experiment__in=mine.values("experiment")))
