"""What differs between candidates that people watch and candidates that people read. Each has a file in
webapp/problems/media/; what a written answer and a program differ in is in webapp/problems/forms/.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Medium:
    """How people get to know a candidate, and the words that go with it."""

    name: str
    """Of the folder of its templates in studio/, and of what scripts do with a page."""
    one: str
    """One candidate, as participants know it."""
    filmed: bool
    """Candidates are rewards: policies train under them by a preset, leave traces, and are filmed."""
    candidates: str
    """What is written, as the experimenter knows it."""
    under_way: str
    """What happens to all of a round (how many stands in front)."""
    trying: str
    """What happens to one of them."""
    tried: str
    """The same once it is over."""
    unscored: str
    """What a task lacks that has no score."""
    explained: str = ""
    """What a report of a comparison says of scores beside what holds for all."""
    caveat: str = ""
    """What a report of a comparison ends with."""
    accuracy: bool = False
    """A score of 1 is right: arms are also compared by how many were right over all such tasks."""
