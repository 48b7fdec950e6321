"""The channels by which a participant can get notices, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from webapp.notices.models import Address
from webapp.studies.models import Participant

KEPT_AFTER_CLOSING = timedelta(days=30)
"""How long participants who go on after a study has closed still get notices."""


@dataclass(frozen=True)
class ChannelOffer:
    email: bool
    push: bool
    address: Address | None
    """The person's e-mail address, if they left one."""
    over: bool
    """Whether notices have ended because the study closed long ago."""


def find_offer(participant: Participant) -> ChannelOffer:
    study = participant.study
    address = Address.objects.filter(participant_id=participant.pk).first()
    over = study.closed_at is not None and study.closed_at < timezone.now() - KEPT_AFTER_CLOSING
    email = not over and study.notify_email and settings.EMAIL_READY
    return ChannelOffer(email=email, push=not over and study.notify_push, address=address, over=over)
