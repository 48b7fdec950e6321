"""Which ways to be told there are for a participant, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from webapp.notices.models import Address
from webapp.studies.models import Participant

KEPT_AFTER_CLOSING = timedelta(days=30)
"""Who has begun when a study closes goes on, and is told; after so long nobody is any more."""


@dataclass(frozen=True)
class Offer:
    email: bool
    push: bool
    address: Address | None
    """What this person has left."""
    over: bool
    """Nobody is told any more, whatever the study offered."""


def of(participant: Participant) -> Offer:
    study = participant.study
    address = Address.objects.filter(participant_id=participant.pk).first()
    over = study.closed_at is not None and study.closed_at < timezone.now() - KEPT_AFTER_CLOSING
    email = not over and study.notify_email and settings.EMAIL_READY
    return Offer(email=email, push=not over and study.notify_push, address=address, over=over)
