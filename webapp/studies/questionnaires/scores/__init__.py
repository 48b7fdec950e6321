"""Scores that are computed from a questionnaire's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from webapp.studies.models.questionnaires import Item
from webapp.studies.questionnaires.scores import mean, sus, tlx


class Score(Protocol):
    """A file in this folder."""

    NAME: str
    COLUMN: str
    """Its column in questionnaires.csv and results.csv."""
    MEANING: str
    """Its name, a comma, and how it is computed."""

    def find_range(self, items: Sequence[Item], /) -> tuple[float, float]:
        """The smallest and the largest possible score."""

    def find_fault(self, items: Sequence[Item], /) -> str:
        """Why it cannot be computed from these items; empty if it can."""

    def compute(self, items: Sequence[Item], values: Mapping[int, Any], /) -> float | None: ...


SCORES: dict[str, Score] = {score.NAME: score for score in (sus, tlx, mean)}
