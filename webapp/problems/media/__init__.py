"""Media: people watch candidates or read them."""

from __future__ import annotations

from simulation import catalog
from webapp.problems.media import answers, films
from webapp.problems.medium import Medium


def get_medium(task: str) -> Medium:
    """The medium of a task; a name that is not in the catalogue is a problem's."""
    return films.MEDIUM if task in catalog.list_tasks() else answers.MEDIUM
