"""A participant's way into a study and out of it."""

from __future__ import annotations

import secrets

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from webapp.experiments import events, loop
from webapp.experiments.models import Experiment
from webapp.review import panels
from webapp.studies import assigning
from webapp.studies.models import Assignment, Outcome, Participant, Study
from webapp.studies.opening import turned_away

ENDED = (Experiment.Status.CANCELLED, Experiment.Status.FINISHED)


def visitor(study: Study, source: str = Participant.Source.OPEN, label: str = "") -> Participant:
    """A newcomer without a personal link: who pressed Start on a demonstration, or came by the open link."""
    label = label or f"Visitor {secrets.token_hex(4)}"
    return Participant.objects.create(study=study, label=label, source=source)


def consent(participant: Participant) -> str:
    """Store what was agreed to, give the person their places, and begin the first. Agreeing twice does nothing twice.

    Returns why the person could not get in (see opening.turned_away; also "unassigned"); empty when they are in.
    Somebody whose experiments were deleted is asked again, and begins anew.
    """
    with transaction.atomic():
        study = assigning.lock(participant.study_id)
        participant = Participant.objects.select_related("study").get(pk=participant.pk)
        if participant.withdrawn_at or participant.consented_at and participant.assignments.exists():
            return ""
        reason = turned_away(study)
        if not reason and not assigning.assign(participant):
            reason = "unassigned" if study.assignment == Study.Assigning.BY_HAND else "full"
        if reason:
            return reason
        kept = study.publish_consent()
        Participant.objects.filter(pk=participant.pk).update(
            consented_at=timezone.now(), consent_version=kept.version, consent_hash=kept.hash
        )
        experiment = assigning.begin(participant.assignments.select_related("arm__study", "participant")[0])
        events.emit(experiment, "consented", f"{participant.label} agreed to version {kept.version}.")
    return ""


def instructed(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, instructed_at=None).update(instructed_at=timezone.now())


def debriefed(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, debriefed_at=None).update(debriefed_at=timezone.now())


def finish_due(participants: QuerySet[Participant] | None = None) -> int:
    """Note who has come to the end: every one of their experiments has its winner."""
    mine = Assignment.objects.filter(participant=OuterRef("pk"))
    unfinished = mine.filter(Q(experiment=None) | ~Q(experiment__status=Experiment.Status.FINISHED))
    scope = Participant.objects.all() if participants is None else participants
    ended = scope.filter(Exists(mine), finished_at=None, withdrawn_at=None, outcome="").exclude(Exists(unfinished))
    return ended.update(finished_at=timezone.now(), outcome=Outcome.FINISHED)


def withdraw(participant: Participant) -> None:
    """Leave the study for good: nothing more is trained or shown for this person. A panel goes on without them."""
    participant.withdrawn_at = participant.withdrawn_at or timezone.now()
    _end(participant, Outcome.WITHDRAWN, participant.withdrawn_at, "left the study")


def fail(participant: Participant) -> None:
    """End the part of somebody who did not pass the comprehension check."""
    _end(participant, Outcome.FAILED, None, "did not pass the comprehension check")


@transaction.atomic
def _end(participant: Participant, outcome: Outcome, withdrawn_at: object, words: str) -> None:
    assigning.lock(participant.study_id)
    still = Participant.objects.filter(pk=participant.pk, withdrawn_at=None)
    if outcome != Outcome.WITHDRAWN:
        still = still.filter(outcome="")
    if not still.update(outcome=outcome, withdrawn_at=withdrawn_at):
        return
    participant.outcome = outcome
    places = participant.assignments.exclude(experiment=None).select_related("experiment")
    for experiment in [place.experiment for place in places if place.experiment]:
        events.emit(experiment, "withdrawn", f"{participant.label} {words}.", public=True)
        if experiment.status in ENDED:
            continue
        if assigning.members(experiment).exists():
            panels.settle_experiment(experiment)
        else:
            loop.cancel(experiment)  # a failed one too: nobody can retry it then
