"""Several people judge one experiment: a round is answered once, when each of them has chosen."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from llm.records import Pick
from trainer.records import FINAL
from webapp.experiments import events, loop
from webapp.experiments import pair_sessions as experiment_pairs
from webapp.experiments.kind import PersonChoice
from webapp.experiments.kinds import KINDS, get_judgement
from webapp.experiments.models import Clip, Experiment, Request
from webapp.review import pairs
from webapp.review.models import Vote
from webapp.review.screenings import LETTERS, find_letters
from webapp.studies import assigning
from webapp.studies.models import Assignment, Participant

_LETTER = re.compile(rf"\b[{LETTERS}]\b")


@dataclass(frozen=True)
class CandidateRating:
    """What a panel's choices say about one candidate, as [estimate, low, high]; None if it was not estimated."""

    key: str
    score: list[float] | None
    strength: list[float]


@dataclass(frozen=True)
class PanelResult:
    """How the choices of several people became one."""

    verb: str
    """decided, or chose the winner."""
    people: int
    undecided: int
    rated: tuple[CandidateRating, ...]
    """The strongest first."""


def make_result(vote: Vote) -> Any:
    """The vote as the request's result: a Pick, the id of the winner, or which of two."""
    judged = _read_vote(vote)
    judged = replace(judged, pick=replace(judged.pick, unseen=_find_unseen(vote.request)))
    return get_judgement(vote.request).build_result(vote.request.payload, judged)


def _read_vote(vote: Vote) -> PersonChoice:
    pick = Pick(vote.best.key, vote.worst.key if vote.worst else None, _annotate_reason(vote), tuple(vote.tags))
    return PersonChoice(pick, vote.cannot_tell, vote.broken)


def _annotate_reason(vote: Vote) -> str:
    """The reason, with the letters of best and worst if it names any, for readers who did not see the letters."""
    if not _LETTER.search(vote.reason):
        return vote.reason
    named = zip(("best", "worst"), find_letters(vote.screening, [vote.best_id, vote.worst_id]), strict=False)
    return f"{vote.reason}\n[{', '.join(f'{letter} is the {which}' for which, letter in named)}.]"


def find_votes(request: Request) -> QuerySet[Vote]:
    """The standing votes of members who have not left, the earliest first."""
    people = assigning.find_members(request.experiment).values("participant")
    votes = Vote.objects.filter(request=request, undone_at=None, screening__participant__in=people)
    return votes.select_related("request", "screening", "best__iteration", "worst__iteration").order_by("pk")


def find_undecided(request: Request) -> QuerySet[Assignment]:
    """The places of members who have not chosen yet or can still take their choice back."""
    locked = find_votes(request).exclude(locked_at=None).values("screening__participant")
    return assigning.find_members(request.experiment).exclude(participant__in=locked)


def count_others_choosing(request: Request, participant: Participant) -> int:
    """How many other members still choose."""
    return find_undecided(request).exclude(participant=participant).count()


def count_voted(experiment: Experiment) -> tuple[int, int] | None:
    """How many members of a panel have chosen in the round that waits, and how many there are; None without a panel."""
    request = loop.find_waiting_request(experiment) if experiment.status == Experiment.Status.WAITING else None
    people = assigning.find_members(experiment).count() if request else 0
    return (find_votes(request).count(), people) if request and people > 1 else None


def settle_request(request: Request) -> bool:
    """Answer the request if every member has chosen. Returns whether it did. The caller locks the experiment."""
    if find_undecided(request).exists():
        return False
    votes = [vote for vote in find_votes(request) if vote.locked_at]
    return bool(votes) and _answer_request(request, votes)


def settle_after_leaving(experiment: Experiment, **_: Any) -> bool:
    """Answer the request that the experiment waits for, if the member who has left was the last to choose."""
    row = loop.lock(experiment.pk)
    request = loop.find_waiting_request(row)
    return request is not None and settle_request(request)


def settle_due_requests() -> int:
    """Answer requests in which everybody has chosen but that are open, for example after a failure. For the reaper."""
    locked = Vote.objects.filter(undone_at=None).exclude(locked_at=None)
    own = locked.filter(request=OuterRef(OuterRef("pk")), screening__participant=OuterRef("participant"))
    undecided = assigning.find_members(OuterRef("experiment")).filter(~Exists(own))
    live = (Experiment.Status.RUNNING, Experiment.Status.WAITING)
    waiting = Request.objects.filter(
        ~Exists(undecided), pk__in=locked.values("request"), status=Request.Status.OPEN, experiment__status__in=live
    )
    return sum(_settle_once(request) for request in waiting.select_related("experiment"))


@transaction.atomic
def _settle_once(request: Request) -> bool:
    try:
        loop.lock(request.experiment_id)
    except Experiment.DoesNotExist:
        return False
    return settle_request(request)


@transaction.atomic
def close_round(experiment: Experiment) -> bool:
    """End the round with the choices made so far, also those that could still be undone. False if there are none."""
    row = loop.lock(experiment.pk)
    session = experiment_pairs.find_open_session(row)
    if session is not None:
        return pairs.close_session(row, session)
    request = loop.find_waiting_request(row)
    if request is None:
        return False
    Vote.objects.filter(request=request, undone_at=None, locked_at=None).update(locked_at=Now())
    votes = list(find_votes(request))
    if not votes or not _answer_request(request, votes):
        return False
    events.emit(row, "closed early", f"Decided with {len(votes)} choices; others were still to come.")
    return True


def _answer_request(request: Request, votes: list[Vote]) -> bool:
    """Answer the request with one result of these votes; for a panel, store how they were pooled."""
    if len(votes) == 1:
        return loop.answer(request.pk, make_result(votes[0]))
    judged = [_read_vote(vote) for vote in votes]
    pooled, result = get_judgement(request).pool_choices(request.payload, _find_shown(request), judged)
    pooled["people"], pooled["undecided"] = len(votes), sum(vote.cannot_tell for vote in votes)
    Request.objects.filter(pk=request.pk, status=Request.Status.OPEN).update(pooled=pooled)
    return loop.answer(request.pk, result)


def _find_shown(request: Request) -> list[str]:
    """The candidates of the request that could be seen; all of them if there are no videos."""
    keys: list[str] = request.payload["candidates"]
    clips = Clip.objects.filter(candidate__iteration__experiment=request.experiment_id, percent=FINAL)
    ready = {clip.candidate.key for clip in clips.filter(status="ready").select_related("candidate__iteration")}
    return [key for key in keys if key in ready] or keys


def _find_unseen(request: Request) -> tuple[str, ...]:
    shown = _find_shown(request)
    return tuple(key for key in request.payload["candidates"] if key not in shown)


def read_pooled(kind: str, pooled: dict[str, Any]) -> PanelResult:
    """Request.pooled of a request of this kind, for pages."""
    scores = pooled.get("score", {})
    rated = [CandidateRating(key, scores.get(key), strength) for key, strength in pooled["strength"].items()]
    ranked = sorted(rated, key=lambda one: (-one.strength[0], one.key))
    judgement = KINDS[kind].judgement
    verb = "chose the winner" if judgement and judgement.is_final else "decided"
    return PanelResult(verb, pooled["people"], pooled["undecided"], tuple(ranked))
