"""A participant who wants notices, and words that no notice may contain."""

from __future__ import annotations

from tests.webapp import rows
from webapp.studies.models import Participant

SECRETS = ("icpl", "ICPL", "proxy", "Ant", "score", "round 1", "Round 1", "seed", rows.SOURCE, "P07")


def create_waiting_participant() -> Participant:
    """A participant for whom a round is ready."""
    someone = rows.participant(rows.study(notify_email=True, notify_push=True))
    rows.create_round(someone)
    return someone
