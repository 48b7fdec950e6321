"""A participant's way into a study and out of it."""

from __future__ import annotations

import secrets

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from webapp.experiments import events, loop
from webapp.experiments.models import Experiment
from webapp.studies.models import Participant, Study

PLAN = (
    *("task", "method", "options", "judge", "judge_options", "k", "n", "preset"),
    *("model", "describer", "judge_model", "vision", "token_budget", "dollar_budget"),
)
GOING_ON = (Experiment.Status.DRAFT, Experiment.Status.RUNNING, Experiment.Status.WAITING)


def visitor(study: Study) -> Participant:
    """A newcomer who pressed Start on a demonstration."""
    with transaction.atomic():
        participant = Participant.objects.create(study=study, label=f"Visitor {secrets.token_hex(4)}")
        experiment_of(participant)
    return participant


def experiment_of(participant: Participant) -> Experiment:
    """The participant's own experiment; made from the study's plan, with the study's next seed, where there is none."""
    study = participant.study
    number = study.participants.filter(pk__lt=participant.pk).count()
    plan = {name: getattr(study, name) for name in PLAN}
    experiment, _ = Experiment.objects.get_or_create(
        participant=participant,
        defaults={**plan, "name": f"{study.title}: {participant.label}", "seed": study.seed + number},
    )
    return experiment


def consent(participant: Participant) -> None:
    """Store what was agreed to, and start the experiment. Agreeing twice starts nothing twice.

    Somebody whose experiment was deleted is asked again, and begins anew.
    """
    study = participant.study
    with transaction.atomic():
        asked = Participant.objects.filter(Q(consented_at=None) | Q(experiment=None), pk=participant.pk)
        agreed = asked.filter(withdrawn_at=None).update(
            consented_at=timezone.now(), consent_version=study.consent_version, consent_hash=study.consent_hash
        )
        experiment = experiment_of(participant)
        if agreed and experiment.status == Experiment.Status.DRAFT:
            events.emit(experiment, "consented", f"{participant.label} agreed to version {study.consent_version}.")
            loop.start(experiment)


def instructed(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, instructed_at=None).update(instructed_at=timezone.now())


def finished(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, finished_at=None).update(finished_at=timezone.now())


def withdraw(participant: Participant) -> None:
    """Leave the study for good: nothing more is trained or shown for this person."""
    participant.withdrawn_at = participant.withdrawn_at or timezone.now()
    with transaction.atomic():
        left = Participant.objects.filter(pk=participant.pk, withdrawn_at=None).update(
            withdrawn_at=participant.withdrawn_at
        )
        experiment = Experiment.objects.filter(participant=participant).first()
        if not left or experiment is None:
            return
        events.emit(experiment, "withdrawn", f"{participant.label} left the study.", public=True)
        loop.cancel(experiment)  # a failed one too: nobody can retry it then
