"""Several people judge one experiment: a round is answered once, when each of them has chosen."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from llm.records import Pick
from trainer.records import FINAL
from webapp.experiments import events, loop
from webapp.experiments.kind import Said
from webapp.experiments.kinds import KINDS, judgement_of
from webapp.experiments.models import Clip, Experiment, Request
from webapp.review.models import Vote
from webapp.review.screenings import LETTERS, letters_of
from webapp.studies import assigning
from webapp.studies.models import Assignment, Participant

_LETTER = re.compile(rf"\b[{LETTERS}]\b")


@dataclass(frozen=True)
class Rated:
    """What a panel's choices say of one candidate: [estimate, low, high], None where it was not estimated."""

    key: str
    score: list[float] | None
    strength: list[float]


@dataclass(frozen=True)
class Pooled:
    """How several people's choices became one."""

    what: str
    """decided, or chose the winner."""
    people: int
    undecided: int
    rated: tuple[Rated, ...]
    """The strongest first."""


def answer_of(vote: Vote) -> Any:
    """The vote as the request's result: a Pick, the id of the winner, or which of two."""
    said = _said(vote)
    unseen = replace(said, pick=replace(said.pick, unseen=_unseen(vote.request)))
    return judgement_of(vote.request).result(vote.request.payload, unseen)


def _said(vote: Vote) -> Said:
    pick = Pick(vote.best.key, vote.worst.key if vote.worst else None, _told(vote), tuple(vote.tags))
    return Said(pick, vote.cannot_tell, vote.broken)


def _told(vote: Vote) -> str:
    """The reason for those who saw no letters: which letter the best and the worst had, where the reason names any."""
    if not _LETTER.search(vote.reason):
        return vote.reason
    named = zip(("best", "worst"), letters_of(vote.screening, [vote.best_id, vote.worst_id]), strict=False)
    return f"{vote.reason}\n[{', '.join(f'{letter} is the {which}' for which, letter in named)}.]"


def votes_of(request: Request) -> QuerySet[Vote]:
    """The standing votes of those who have not left, the earliest first."""
    people = assigning.members(request.experiment).values("participant")
    votes = Vote.objects.filter(request=request, undone_at=None, screening__participant__in=people)
    return votes.select_related("request", "screening", "best__iteration", "worst__iteration").order_by("pk")


def undecided(request: Request) -> QuerySet[Assignment]:
    """The places of those whose choice is still to come, or can still be taken back."""
    locked = votes_of(request).exclude(locked_at=None).values("screening__participant")
    return assigning.members(request.experiment).exclude(participant__in=locked)


def others_choosing(request: Request, participant: Participant) -> int:
    """How many others somebody waits for whose own choice is locked."""
    return undecided(request).exclude(participant=participant).count()


def voted(experiment: Experiment) -> tuple[int, int] | None:
    """How many of a panel have chosen in what waits for it, and of how many; None where nothing waits for several."""
    request = loop.waiting_request(experiment) if experiment.status == Experiment.Status.WAITING else None
    people = assigning.members(experiment).count() if request else 0
    return (votes_of(request).count(), people) if request and people > 1 else None


def settle(request: Request) -> bool:
    """Answer the request if nobody is left to wait for; the caller holds the experiment's lock. Whether it did."""
    votes = [vote for vote in votes_of(request) if vote.locked_at]
    return bool(votes) and not undecided(request).exists() and _answer(request, votes)


def settle_after_leaving(experiment: Experiment, **_: Any) -> bool:
    """The same for what the experiment waits for: a member has left."""
    row = loop.lock(experiment.pk)
    request = loop.waiting_request(row)
    return request is not None and settle(request)


def settle_due() -> int:
    """Answer what everybody has chosen in, and what was left open when something failed. Called by the reaper."""
    voted = Vote.objects.filter(undone_at=None).exclude(locked_at=None).values("request")
    live = (Experiment.Status.RUNNING, Experiment.Status.WAITING)
    waiting = Request.objects.filter(pk__in=voted, status=Request.Status.OPEN, experiment__status__in=live)
    return sum(_settle_once(request) for request in waiting.select_related("experiment"))


@transaction.atomic
def _settle_once(request: Request) -> bool:
    try:
        loop.lock(request.experiment_id)
    except Experiment.DoesNotExist:  # deleted meanwhile
        return False
    return settle(request)


@transaction.atomic
def close(experiment: Experiment) -> bool:
    """End the round with the choices that are there, also those that could still be taken back. False without any."""
    row = loop.lock(experiment.pk)
    request = loop.waiting_request(row)
    if request is None:
        return False
    Vote.objects.filter(request=request, undone_at=None, locked_at=None).update(locked_at=timezone.now())
    votes = list(votes_of(request))
    if not votes or not _answer(request, votes):
        return False
    events.emit(row, "closed early", f"Decided with {len(votes)} choices; others were still to come.")
    return True


def _answer(request: Request, votes: list[Vote]) -> bool:
    """One result of these votes, and for a panel how it came about."""
    if len(votes) == 1:
        return loop.answer(request.pk, answer_of(votes[0]))
    said = [_said(vote) for vote in votes]
    pooled, result = judgement_of(request).pool(request.payload, _shown(request), said)
    pooled["people"], pooled["undecided"] = len(votes), sum(vote.cannot_tell for vote in votes)
    Request.objects.filter(pk=request.pk, status=Request.Status.OPEN).update(pooled=pooled)
    return loop.answer(request.pk, result)


def _shown(request: Request) -> list[str]:
    """The candidates of the request that could be seen: all where there are no videos."""
    keys: list[str] = request.payload["candidates"]
    clips = Clip.objects.filter(candidate__iteration__experiment=request.experiment_id, percent=FINAL)
    ready = {clip.candidate.key for clip in clips.filter(status="ready").select_related("candidate__iteration")}
    return [key for key in keys if key in ready] or keys


def _unseen(request: Request) -> tuple[str, ...]:
    shown = _shown(request)
    return tuple(key for key in request.payload["candidates"] if key not in shown)


def told(kind: str, pooled: dict[str, Any]) -> Pooled:
    """What Request.pooled of a request of this kind says, for pages."""
    scores = pooled.get("score", {})
    rated = [Rated(key, scores.get(key), strength) for key, strength in pooled["strength"].items()]
    ranked = sorted(rated, key=lambda one: (-one.strength[0], one.key))
    judgement = KINDS[kind].judgement
    what = "chose the winner" if judgement and judgement.final else "decided"
    return Pooled(what, pooled["people"], pooled["undecided"], tuple(ranked))
