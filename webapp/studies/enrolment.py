"""A participant's way into a study and out of it."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from webapp.audit import record
from webapp.experiments import events, loop
from webapp.experiments.models import Experiment
from webapp.studies import assigning, opening
from webapp.studies.models import Arm, Assignment, Outcome, Participant, Study, new_token
from webapp.studies.signals import member_left
from webapp.studies.texts.localizing import localize_study

ENDED = (Experiment.Status.CANCELLED, Experiment.Status.FINISHED)


def create_participant(
    study: Study, source: str = Participant.Source.OPEN, label: str = "", token: str = ""
) -> Participant:
    """A participant without a personal link: somebody who pressed Start on a demonstration or used the open link."""
    label = label or f"Visitor {secrets.token_hex(4)}"
    return Participant.objects.create(study=study, label=label, source=source, token=token or new_token())


def find_last_number(study: Study, letter: str, sources: Collection[str]) -> int:
    """The highest number in labels of people who came in this way. No label is used again, even after a deletion."""
    people = study.participants.exclude_pilots()
    labels = people.filter(label__regex=rf"^{letter}\d+$").values_list("label", flat=True)
    count = people.filter(source__in=sources).count()  # rows of people whose data was deleted have lost their labels
    return max(count, max((int(label[1:]) for label in labels), default=0))


@transaction.atomic
def invite(study: Study, count: int, arms: Sequence[Arm] = ()) -> list[str]:
    """Add participants P01, P02 ... after the highest such label, each in these arms in order; return their labels."""
    assigning.lock_study(study.pk)  # so that two clicks do not give the same labels
    last = find_last_number(study, "P", [Participant.Source.LINK])
    people = Participant.objects.bulk_create(
        Participant(study=study, label=f"P{number:02d}") for number in range(last + 1, last + 1 + count)
    )
    places = [
        Assignment(participant=person, arm=arm, position=place)
        for person in people
        for place, arm in enumerate(arms, 1)
    ]
    Assignment.objects.bulk_create(places)
    return [person.label for person in people]


def accept_consent(participant: Participant, language: str = "") -> str:
    """Store the consent, give the person their places, and begin the first. A second consent does nothing.

    Returns why the person could not get in (see opening.find_refusal); empty when they are in.
    `language`: in which the person read the text; empty: the study's own.
    A person whose experiments were deleted is asked for consent again, and begins again.
    """
    with transaction.atomic():
        assigning.lock_study(participant.study_id)
        participant = Participant.objects.select_related("study").get(pk=participant.pk)
        if participant.outcome or participant.withdrawn_at or _has_begun(participant):
            return ""
        reason = opening.find_refusal(participant)
        if reason:
            return reason
        assigning.assign_places(participant)
        study = participant.study
        language = language or study.language
        original = study.consent_text
        localize_study(study, language)
        read_in = study.language if study.consent_text == original else language
        if not participant.pilot:
            study.publish_consent(read_in)
        Participant.objects.filter(pk=participant.pk).update(
            consented_at=Now(),
            consent_version=study.consent_version,
            consent_hash=study.consent_hash,
            consent_language=read_in,
            language=language,
        )
        experiment = assigning.begin_experiment(participant.assignments.select_related("arm__study", "participant")[0])
        events.emit(experiment, "consented", f"{participant.label} agreed to version {study.consent_version}.")
    return ""


def _has_begun(participant: Participant) -> bool:
    return participant.consented_at is not None and participant.assignments.exists()


def mark_instructed(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, instructed_at=None).update(instructed_at=Now())


def mark_debriefed(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, debriefed_at=None).update(debriefed_at=Now())


def finish_due(participants: QuerySet[Participant] | None = None) -> int:
    """Give their outcome to participants whose experiments all have winners, or one of whose was cancelled."""
    mine = Assignment.objects.filter(participant=OuterRef("pk"))
    unfinished = mine.filter(Q(experiment=None) | ~Q(experiment__status=Experiment.Status.FINISHED))
    scope = Participant.objects.all() if participants is None else participants
    ended = scope.filter(Exists(mine), finished_at=None, withdrawn_at=None, outcome="").exclude(Exists(unfinished))
    cancelled = mine.filter(experiment__status=Experiment.Status.CANCELLED)
    stopped = scope.filter(Exists(cancelled), withdrawn_at=None, outcome="", study__origin=None)
    return ended.update(finished_at=Now(), outcome=Outcome.FINISHED) + stopped.update(outcome=Outcome.STOPPED)


def withdraw(participant: Participant) -> None:
    """Leave the study for good: nothing more is trained for or shown to this person. A panel goes on without them."""
    participant.withdrawn_at = participant.withdrawn_at or timezone.now()
    _end_participation(participant, Outcome.WITHDRAWN, participant.withdrawn_at, "left the study")


def fail(participant: Participant) -> None:
    """End the part of somebody who did not pass the comprehension check."""
    _end_participation(participant, Outcome.FAILED, None, "did not pass the comprehension check")


def stop(participant: Participant) -> None:
    """End the part of somebody who does not want to wait until a failure is mended."""
    _end_participation(participant, Outcome.STOPPED, None, "did not want to wait until it is mended")


def end_at_recruitment_site(participant: Participant) -> None:
    """End the part of somebody whose submission was returned, or ran out of time, at the recruitment site."""
    _end_participation(participant, Outcome.STOPPED, None, "ended their part at the recruitment site")


@transaction.atomic
def _end_participation(participant: Participant, outcome: Outcome, withdrawn_at: object, words: str) -> None:
    assigning.lock_study(participant.study_id)
    row = Participant.objects.filter(pk=participant.pk, withdrawn_at=None)
    if outcome != Outcome.WITHDRAWN:
        row = row.filter(outcome="")
    if not row.update(outcome=outcome, withdrawn_at=withdrawn_at):
        return
    participant.outcome = outcome
    if outcome == Outcome.WITHDRAWN:
        record("participant", "withdrew", participant, study=participant.study.title)
    places = participant.assignments.exclude(experiment=None).select_related("experiment")
    for experiment in [place.experiment for place in places if place.experiment]:
        events.emit(experiment, "withdrawn", f"{participant.label} {words}.", public=True)
        if experiment.status in ENDED:
            continue
        if assigning.find_members(experiment).exists():
            member_left.send(Experiment, experiment=experiment)
        else:
            loop.cancel(experiment)  # a failed one too, so that nobody retries it
