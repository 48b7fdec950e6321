"""Which ways to be told there are for a participant."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from webapp.notices.models import Address
from webapp.studies.models import Participant


@dataclass(frozen=True)
class Offer:
    email: bool
    push: bool
    address: Address | None
    """What this person has left."""


def of(participant: Participant) -> Offer:
    study = participant.study
    address = Address.objects.filter(participant_id=participant.pk).first()
    return Offer(email=study.notify_email and settings.EMAIL_READY, push=study.notify_push, address=address)
