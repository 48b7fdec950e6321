"""A participant's way into a study and out of it."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from webapp.audit import record
from webapp.experiments import events, loop
from webapp.experiments.models import Experiment
from webapp.studies import assigning, opening
from webapp.studies.models import Assignment, Outcome, Participant, Study, new_token
from webapp.studies.signals import member_left

ENDED = (Experiment.Status.CANCELLED, Experiment.Status.FINISHED)


def visitor(study: Study, source: str = Participant.Source.OPEN, label: str = "", token: str = "") -> Participant:
    """A newcomer without a personal link: who pressed Start on a demonstration, or came by the open link."""
    label = label or f"Visitor {secrets.token_hex(4)}"
    return Participant.objects.create(study=study, label=label, source=source, token=token or new_token())


def last_label(study: Study, letter: str, sources: Collection[str]) -> int:
    """The number after which those who come in this way are called. No label is given again, even after a deletion."""
    people = Participant.objects.filter(study=study)
    labels = people.filter(label__regex=rf"^{letter}\d+$").values_list("label", flat=True)
    came = people.filter(source__in=sources).count()  # of those whose data was deleted the row is left
    return max(came, max((int(label[1:]) for label in labels), default=0))


def consent(participant: Participant) -> str:
    """Store what was agreed to, give the person their places, and begin the first. Agreeing twice does nothing twice.

    Returns why the person could not get in (see opening.refusal); empty when they are in.
    A person whose experiments were deleted is asked again, and begins again.
    """
    with transaction.atomic():
        assigning.lock(participant.study_id)
        participant = Participant.objects.select_related("study").get(pk=participant.pk)
        if participant.outcome or participant.withdrawn_at or _inside(participant):
            return ""
        reason = opening.refusal(participant)
        if reason:
            return reason
        assigning.assign(participant)
        kept = participant.study.publish_consent()
        Participant.objects.filter(pk=participant.pk).update(
            consented_at=timezone.now(), consent_version=kept.version, consent_hash=kept.hash
        )
        experiment = assigning.begin(participant.assignments.select_related("arm__study", "participant")[0])
        events.emit(experiment, "consented", f"{participant.label} agreed to version {kept.version}.")
    return ""


def _inside(participant: Participant) -> bool:
    return participant.consented_at is not None and participant.assignments.exists()


def instructed(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, instructed_at=None).update(instructed_at=timezone.now())


def debriefed(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, debriefed_at=None).update(debriefed_at=timezone.now())


def finish_due(participants: QuerySet[Participant] | None = None) -> int:
    """Note who has come to the end: every one of their experiments has its winner, or one of them was cancelled."""
    mine = Assignment.objects.filter(participant=OuterRef("pk"))
    unfinished = mine.filter(Q(experiment=None) | ~Q(experiment__status=Experiment.Status.FINISHED))
    scope = Participant.objects.all() if participants is None else participants
    ended = scope.filter(Exists(mine), finished_at=None, withdrawn_at=None, outcome="").exclude(Exists(unfinished))
    cancelled = mine.filter(experiment__status=Experiment.Status.CANCELLED)
    stopped = scope.filter(Exists(cancelled), withdrawn_at=None, outcome="", study__origin=None)  # not of an import
    return ended.update(finished_at=timezone.now(), outcome=Outcome.FINISHED) + stopped.update(outcome=Outcome.STOPPED)


def withdraw(participant: Participant) -> None:
    """Leave the study for good: nothing more is trained or shown for this person. A panel goes on without them."""
    participant.withdrawn_at = participant.withdrawn_at or timezone.now()
    _end(participant, Outcome.WITHDRAWN, participant.withdrawn_at, "left the study")


def fail(participant: Participant) -> None:
    """End the part of somebody who did not pass the comprehension check."""
    _end(participant, Outcome.FAILED, None, "did not pass the comprehension check")


def stop(participant: Participant) -> None:
    """End the part of somebody who does not want to wait until a failure is mended."""
    _end(participant, Outcome.STOPPED, None, "did not want to wait until it is mended")


@transaction.atomic
def _end(participant: Participant, outcome: Outcome, withdrawn_at: object, words: str) -> None:
    assigning.lock(participant.study_id)
    still = Participant.objects.filter(pk=participant.pk, withdrawn_at=None)
    if outcome != Outcome.WITHDRAWN:
        still = still.filter(outcome="")
    if not still.update(outcome=outcome, withdrawn_at=withdrawn_at):
        return
    participant.outcome = outcome
    if outcome == Outcome.WITHDRAWN:
        record("participant", "withdrew", participant, study=participant.study.title)
    places = participant.assignments.exclude(experiment=None).select_related("experiment")
    for experiment in [place.experiment for place in places if place.experiment]:
        events.emit(experiment, "withdrawn", f"{participant.label} {words}.", public=True)
        if experiment.status in ENDED:
            continue
        if assigning.members(experiment).exists():
            member_left.send(Experiment, experiment=experiment)
        else:
            loop.cancel(experiment)  # a failed one too: nobody can retry it then
