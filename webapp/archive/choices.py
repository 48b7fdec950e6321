"""choices.csv of an export: every candidate that a participant saw in a confirmed choice, one per row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Prefetch, QuerySet

from webapp.archive.row_reader import Pseudonyms, make_plain
from webapp.archive.study_scope import Scope
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import Candidate
from webapp.review.models import Vote
from webapp.review.quality import find_vote_flags
from webapp.review.screenings import LETTERS
from webapp.studies.models import Assignment

FILE = "choices"
COLUMNS = {
    "participant": ("text", "", "Pseudonym of the participant."),
    "pilot": ("0 or 1", "", "1 if the participant only tried the study out; left out of the export by default."),
    "arm": ("text", "", "Name of the arm that the participant judged."),
    "method": ("text", "", "Method that wrote the candidates."),
    "experiment": ("whole number", "", "Row of experiments."),
    "round": ("whole number", "", "Round that was judged; empty for the choice of the winner."),
    "position": ("text", "", "Letter of the candidate on the page; A stood first."),
    "candidate": ("text", "", "Round and number of the candidate."),
    "choice": ("text", "", "best, worst, or empty if the candidate was neither."),
    "score": ("number", "metric of the task", "Score of the final policy or answer by the hidden metric."),
    "best_score": ("number", "metric of the task", "Highest mean of an interval of the training (RTS)."),
    "seconds_watched": ("number", "s", "How long its film ran on the page before the choice."),
    "seconds_to_choice": ("number", "s", "From opening the page to the confirmed choice, by the server's clock."),
    "drawn": ("0 or 1", "", "1 if the participant could not judge; best and worst were then drawn at random."),
    "flags": ("text", "", "What makes the choice doubtful, separated by semicolons; empty if nothing does."),
}
"""Column -> (type, unit, meaning)."""


def list_rows(scope: Scope, names: Pseudonyms) -> Iterator[list[Any]]:
    """The rows, by participant, experiment, step and position. Choices that were taken back are left out."""
    numbers = {pk: number for number, pk in enumerate(scope.experiments, 1)}
    for vote in _find_votes(scope).iterator(500):
        screening, experiment = vote.screening, vote.request.experiment
        places = [place for place in screening.participant.assignments.all() if place.experiment_id == experiment.pk]
        judgement = KINDS[vote.request.kind].judgement
        about = [
            names.replace_label(screening.participant.label),
            screening.participant.pilot,
            places[0].arm.name if places else "",
            experiment.method,
            numbers[experiment.pk],
            None if judgement and judgement.is_final else vote.request.payload["iteration"],
        ]
        flags = "; ".join(find_vote_flags(vote))
        shown = Candidate.objects.select_related("iteration").in_bulk(screening.order)
        for letter, pk in zip(LETTERS, screening.order, strict=False):
            if candidate := shown.get(pk):
                watched = vote.client.get("clips", {}).get(letter, {}).get("watched_ms")
                yield [
                    *about,
                    letter,
                    candidate.key,
                    "best" if pk == vote.best_id else "worst" if pk == vote.worst_id else "",
                    make_plain(candidate.final_score),
                    make_plain(candidate.rts),
                    None if watched is None else watched / 1000,
                    round((vote.created_at - screening.opened_at).total_seconds(), 3),
                    vote.cannot_tell,
                    flags,
                ]


def _find_votes(scope: Scope) -> QuerySet[Vote]:
    standing = Vote.objects.filter(screening__participant__in=scope.participants, undone_at=None)
    arms = Prefetch("screening__participant__assignments", Assignment.objects.select_related("arm"))
    return (
        standing.select_related("request__experiment", "screening__participant")
        .prefetch_related(arms)
        .order_by("screening__participant", "request__experiment", "request__step", "request__slot")
    )
