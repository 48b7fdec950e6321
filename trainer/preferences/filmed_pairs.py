"""The pairs of a simulated teacher that are filmed, for staff to see what it was asked and what it said."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from trainer.preferences.algorithms import Preferences
from trainer.preferences.exchange import Queries
from trainer.preferences.queries import Query
from trainer.preferences.segments import Segments

MOST_PAIRS = 3
"""Of a session."""
MOST_IN_ALL = 30
"""Of a training, where it has no more sessions; else one of each."""


def choose_filmed(
    query: Query, segments: Segments, answers: Sequence[str], wanted: Preferences
) -> tuple[Queries, Segments] | None:
    """The first pairs of a session with their answers and segments; None where no poses are kept, and in sessions
    beyond the planned ones, which ask for what was skipped.
    """
    count = max(1, min(MOST_PAIRS, MOST_IN_ALL // wanted.sessions))
    if not segments.poses.shape[-1] or query.session > wanted.sessions:
        return None
    used, places = torch.unique(query.pairs[:count], return_inverse=True)
    pairs = tuple((first, second) for first, second in places.view(-1, 2).tolist())
    kept = segments.choose(used.to(segments.valid.device))
    return Queries(query.session, len(used), pairs, "", tuple(answers[:count])), kept
