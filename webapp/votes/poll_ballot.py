"""Casting votes: one for each pair and evaluator, in order, until N evaluators have answered everything."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from webapp.base.database import read_now
from webapp.votes import lifecycle, single_items
from webapp.votes.models import Evaluator, Poll, Showing, Vote

CLIENT_KEYS = ("decide_ms", "plays", "focus_lost", "load_ms", "failed_clips")
STRENGTHS = {1: gettext_noop("slightly"), 2: gettext_noop("clearly"), 3: gettext_noop("much")}
OUT_OF_DATE = gettext_noop("That page was out of date, so nothing was saved from it. This is where you are now.")
TOO_LATE = gettext_noop("Enough people had answered before this answer arrived, so it was not counted.")


@dataclass(frozen=True)
class Answer:
    """What a form says."""

    choice: str = ""
    strength: str = ""
    client: dict[str, int] = field(default_factory=dict)
    rating: str = ""
    """As typed: of a film or an answer, where one is rated at a time."""
    reasoning: str = ""


def find_current_showing(evaluator: Evaluator) -> Showing | None:
    """The pair that this person should judge now; None when all are judged."""
    return Showing.objects.filter(evaluator=evaluator, vote=None).select_related("pair").order_by("position").first()


def find_last_vote(evaluator: Evaluator) -> Vote | None:
    """The newest answer: the only one that may be taken back."""
    votes = Vote.objects.filter(showing__evaluator=evaluator).select_related("showing")
    return votes.order_by("-showing__position").first()


def compute_undo_seconds(vote: Vote) -> float:
    """How much longer this answer may be taken back, until the next one."""
    age = (read_now() - vote.created_at).total_seconds()
    return float(max(0.0, settings.UNDO_SECONDS - max(0.0, age)))


def take_back(evaluator: Evaluator, token: str) -> str:
    """Delete the last answer, which is that to the showing with this token. Returns a message if it stays.

    A second press of the same button finds nothing to delete and changes nothing.
    """
    with transaction.atomic():
        poll = lifecycle.lock_poll(evaluator.poll_id)
        evaluator = Evaluator.objects.get(pk=evaluator.pk)
        showing = Showing.objects.filter(evaluator=evaluator, token=token).first()
        if showing is None or evaluator.withdrawn_at:
            return _(OUT_OF_DATE)
        vote = Vote.objects.filter(showing=showing).first()
        if vote is None:
            return ""
        late = poll.status != Poll.Status.OPEN or vote != find_last_vote(evaluator)
        if late or compute_undo_seconds(vote) <= 0:
            return _("That answer could not be taken back any more. It stands.")
        vote.delete()
        Showing.objects.filter(pk=showing.pk).update(taken_back=F("taken_back") + 1)
        Evaluator.objects.filter(pk=evaluator.pk).update(finished_at=None)
    return ""


def cast_vote(evaluator: Evaluator, token: str, answer: Answer) -> str:
    """Save an answer to the showing with this token. Returns a message about a problem; empty if there is none."""
    with transaction.atomic():
        poll = lifecycle.lock_poll(evaluator.poll_id)
        evaluator = Evaluator.objects.get(pk=evaluator.pk)
        showing = Showing.objects.filter(evaluator=evaluator, token=token).select_related("vote").first()
        if showing is None or evaluator.withdrawn_at:
            return _(OUT_OF_DATE)
        standing = Vote.objects.filter(showing=showing).first()
        if standing:
            same = _is_same(poll, standing, answer)
            return "" if same else _("You had already answered that question. Your first answer stands.")
        if poll.status != Poll.Status.OPEN or lifecycle.is_full(poll):
            return _(TOO_LATE)
        if showing != find_current_showing(evaluator):
            return _(OUT_OF_DATE)
        wrong = _find_mistake(poll, showing, answer)
        return wrong or _save_vote(poll, evaluator, showing, answer)


def _is_same(poll: Poll, standing: Vote, answer: Answer) -> bool:
    if not poll.is_single:
        return standing.choice == answer.choice
    marks = (single_items.read_mark(poll, answer.rating), single_items.read_mark(poll, answer.reasoning))
    return (standing.rating, standing.reasoning) == marks


def _find_mistake(poll: Poll, showing: Showing, answer: Answer) -> str:
    if poll.is_single:
        return single_items.find_mistake(poll, showing.pair, answer.rating, answer.reasoning)
    choices = ["left", "right", *(["same"] if poll.allow_tie else [])]
    if answer.choice not in choices:
        return str(showing.pair.medium.choose_of_two)
    if poll.ask_strength and answer.choice != "same" and answer.strength not in map(str, STRENGTHS):
        return _("Say how much better it is, then confirm.")
    return ""


def _save_vote(poll: Poll, evaluator: Evaluator, showing: Showing, answer: Answer) -> str:
    asked = poll.ask_strength and answer.choice != Vote.Choice.SAME and not poll.is_single
    reasoned = poll.is_single and single_items.asks_reasoning(poll, showing.pair)
    Vote.objects.create(
        showing=showing,
        choice=Vote.Choice.RATED if poll.is_single else answer.choice,
        rating=single_items.read_mark(poll, answer.rating) if poll.is_single else None,
        reasoning=single_items.read_mark(poll, answer.reasoning) if reasoned else None,
        strength=int(answer.strength) if asked else None,
        client={key: value for key, value in answer.client.items() if key in CLIENT_KEYS},
    )
    if find_current_showing(evaluator) is None:
        Evaluator.objects.filter(pk=evaluator.pk).update(finished_at=Now())
        lifecycle.close_if_full(poll)
    return ""
