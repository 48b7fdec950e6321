"""pairs.csv of an export: every answer that a participant gave about a pair of segments, gold pairs too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Prefetch

from webapp.archive.row_reader import Pseudonyms, make_plain
from webapp.archive.study_scope import Scope
from webapp.review.models import PairScreening
from webapp.review.quality import is_gold_right
from webapp.studies.models import Assignment

FILE = "pairs"
COLUMNS = {
    "participant": ("text", "", "Pseudonym of the participant."),
    "pilot": ("0 or 1", "", "1 if the participant only tried the study out; left out of the export by default."),
    "arm": ("text", "", "Name of the arm."),
    "method": ("text", "", "Method by which the policy learned."),
    "experiment": ("whole number", "", "Row of experiments."),
    "session": ("whole number", "", "Session of the training."),
    "pair": ("whole number", "", "Place of the pair in its session, from 1; empty: a gold pair."),
    "answer": ("text", "", "first or second is better, equal, or skip; the first of a gold pair is the better one."),
    "side": ("text", "", "What was pressed: A (left), B (right), equal or skip."),
    "counted": ("0 or 1", "", "0 if others had answered the pair meanwhile, and for gold pairs."),
    "learned": ("text", "", "What the policy learned, from all answers to the pair; empty before, and for gold pairs."),
    "gold": ("text", "", "right or wrong; empty if it was no gold pair, or skipped."),
    "seconds": ("number", "s", "From when the pair was on the screen until the answer, by the browser."),
    "changes": ("whole number", "", "How often an answer to it was taken back."),
}  # fmt: skip
"""Column -> (type, unit, meaning)."""


def list_rows(scope: Scope, names: Pseudonyms) -> Iterator[list[Any]]:
    """The rows, by participant and in the order of the answers. Answers that were taken back are left out."""
    numbers = {pk: number for number, pk in enumerate(scope.experiments, 1)}
    rows = PairScreening.objects.filter(participant__in=scope.participants).exclude(answer="")
    arms = Prefetch("participant__assignments", Assignment.objects.select_related("arm"))
    found = rows.select_related(
        "participant", "pair__session__request__experiment", "mixed_into__request__experiment"
    ).prefetch_related(arms)
    for row in found.order_by("participant", "answered_at", "pk").iterator(500):
        session = row.pair.session if row.pair else row.mixed_into
        assert session is not None
        experiment = session.request.experiment
        places = [place for place in row.participant.assignments.all() if place.experiment_id == experiment.pk]
        right = is_gold_right(row)
        yield [
            names.replace_label(row.participant.label),
            row.participant.pilot,
            places[0].arm.name if places else "",
            experiment.method,
            numbers.get(experiment.pk),
            session.number,
            row.pair.number + 1 if row.pair else None,
            row.answer,
            row.pressed,
            row.pair is not None and row.released_at is None,
            row.pair.answer if row.pair else "",
            "" if right is None else "right" if right else "wrong",
            make_plain(row.seconds),
            row.changes,
        ]
