"""Tags for the notices that the waiting page offers."""

from __future__ import annotations

from django import template

from webapp.notices import channels, push
from webapp.studies.models import Participant

register = template.Library()


@register.simple_tag
def find_channels(participant: Participant) -> channels.ChannelOffer:
    return channels.find_offer(participant)


@register.simple_tag
def push_key() -> str:
    return push.encode_public_key()
