"""The key table as a file: the recruitment id of each pseudonym."""

from __future__ import annotations

from webapp.base.csv_cells import format_table
from webapp.studies import prolific
from webapp.studies.models import Participant, Recruit, Study

HEADER = ("participant", "external_id", "parameters", "outcome", "created_at", "minutes")


def _round_minutes(person: Participant) -> float | None:
    minutes = prolific.measure_minutes(person)
    return None if minutes is None else round(minutes, 1)


def to_csv(study: Study) -> bytes:
    rows = Recruit.objects.filter(study=study).select_related("participant").order_by("pk")
    lines = [
        [
            *(row.participant.label, row.external_id, row.parameters, row.participant.outcome),
            *(row.created_at.isoformat(), _round_minutes(row.participant)),
        ]
        for row in rows
    ]
    return format_table([HEADER, *lines]).encode()
