"""Pilots: people who try a study out before it counts, also while it is a draft."""

from __future__ import annotations

import re

from django.db import transaction

from webapp.studies import assigning
from webapp.studies.models import Arm, Assignment, Participant, Study


def find_refusal(study: Study) -> str:
    """Why nobody can try this study out; empty if somebody can."""
    if hasattr(study, "origin"):
        return "It was imported and is read only."
    if study.status == Study.Status.CLOSED:
        return "A closed study takes no pilots. Copy it, and pilot the copy."
    return "" if study.arms.exists() else "Add an arm first: a pilot has nothing to judge."


@transaction.atomic
def add_pilot(study: Study, arm: Arm | None = None) -> Participant:
    """A new pilot, in this arm or in those that a newcomer would draw. Raises ValueError with the reason if refused."""
    study = assigning.lock_study(study.pk)
    if reason := find_refusal(study):
        raise ValueError(reason)
    labels = study.participants.filter(label__regex=r"^Pilot \d+$").values_list("label", flat=True)
    number = max((int(re.sub(r"\D", "", label)) for label in labels), default=0) + 1
    pilot = Participant.objects.create(study=study, label=f"Pilot {number}", pilot=True)
    if arm:
        Assignment.objects.create(participant=pilot, arm=arm)
    return pilot
