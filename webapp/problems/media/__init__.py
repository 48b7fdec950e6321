"""How people get to know candidates: by watching or by reading."""

from __future__ import annotations

from simulation import catalog
from webapp.problems.media import answers, films
from webapp.problems.medium import Medium

MEDIA: dict[str, Medium] = {medium.name: medium for medium in (films.MEDIUM, answers.MEDIUM)}


def get_medium(task: str) -> Medium:
    """How people get to know candidates of this task: robots' names are in the catalogue, all others are problems'."""
    return films.MEDIUM if task in catalog.tasks() else answers.MEDIUM
