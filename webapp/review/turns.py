"""Which of their experiments a person is at, where a study lets them go on with the next one while a policy trains.

The place is stored (`Assignment.attended_at`), so that what a page sends is about the experiment that it showed. It
changes only when a page is asked for, and never while the person is asked something.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from webapp.base.database import read_now
from webapp.experiments import loop, pair_sessions, progress
from webapp.experiments.models import Experiment, PairSession
from webapp.review import ballot, trials
from webapp.review.models import PairScreening
from webapp.studies import assigning
from webapp.studies.models import Assignment, Participant

LEAST_SOONER = 60.0
"""Seconds by which another experiment's videos must be sooner, for its waiting page to take the place of this one's."""


def move_on(participant: Participant) -> bool:
    """Turn to the experiment that asks the person, or asks them first; begin their next while this one trains."""
    places = list(participant.places)
    current = participant.current
    if not participant.study.interleaved or len(places) < 2 or current is None or current.experiment is None:
        return False
    unfinished = [place for place in places if place.experiment and place.experiment.live]
    asked = {place: since for place in unfinished if (since := _find_asked_since(participant, place.experiment))}
    if current in asked or trials.find_current(participant, current.experiment.n, waits_for=0):
        return False
    idle = not asked and all(_trains_between_sessions(place.experiment) for place in unfinished)
    if idle and _begin_next(participant):
        return True
    target = min(asked, key=lambda place: asked[place]) if asked else _find_soonest(unfinished, current)
    if target == current:
        return False
    return bool(Assignment.objects.filter(pk=target.pk).update(attended_at=Now()))


def _find_asked_since(participant: Participant, experiment: Experiment | None) -> datetime | None:
    """Since when the experiment asks the person something, or lets them take back what they said; None if neither."""
    if experiment is None or experiment.paused:
        return None
    session = pair_sessions.find_open_session(experiment)
    if session is not None:
        return (session.opened_at or session.created_at) if _has_more(participant, session) else None
    request = loop.find_waiting_request(experiment)
    if request is None:
        return None
    vote = ballot.find_standing_vote(request, participant)
    return request.created_at if vote is None or vote.locked_at is None else None


def _has_more(participant: Participant, session: PairSession) -> bool:
    """Whether the person can answer a pair of a session, or take one back."""
    mine = PairScreening.objects.filter(participant=participant, pair__session=session).exclude(answer="")
    if mine.filter(answered_at__gt=read_now() - timedelta(seconds=settings.UNDO_SECONDS)).exists():
        return True
    return session.pairs.filter(answer="").exclude(pk__in=mine.values("pair")).exists()


def _trains_between_sessions(experiment: Experiment | None) -> bool:
    if experiment is None:
        return False
    answered = PairSession.objects.filter(request__experiment=experiment, status=PairSession.Status.ANSWERED)
    return experiment.live and pair_sessions.asks_people(experiment) and answered.exists()


@transaction.atomic
def _begin_next(participant: Participant) -> bool:
    """Begin the person's next experiment, once."""
    assigning.lock_study(participant.study_id)
    mine = Assignment.objects.filter(participant=participant, experiment=None, participant__study__origin=None)
    inside = mine.filter(participant__outcome="", participant__withdrawn_at=None)
    place = inside.select_related("arm__study", "participant").first()
    if place is None:
        return False
    assigning.begin_experiment(place)
    return True


def _find_soonest(places: list[Assignment], current: Assignment) -> Assignment:
    """The place whose videos are ready first, if that is clearly before the current one's."""
    read = progress.read_all([place.experiment for place in places if place.experiment])
    left = {place: read[place.experiment_id].seconds_left for place in places if place.experiment_id}
    known = {place: seconds for place, seconds in left.items() if seconds is not None}
    if not known:
        return current
    soonest = min(known, key=lambda place: known[place])
    own = known.get(current)
    return soonest if own is None or known[soonest] < own - LEAST_SOONER else current
