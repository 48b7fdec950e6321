"""What a participant's pages show of candidates, and in which words. Each medium has a file in
webapp/studio/presentations/ and a folder of partial templates, templates/studio/<its name>/.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from webapp.experiments.kind import Judgement
from webapp.experiments.progress import Progress
from webapp.problems.forms.form import TriedSource
from webapp.problems.lookup import TaskInfo
from webapp.problems.models import Attachment
from webapp.studio.words import Wait

Context = dict[str, Any]


class Lettered(Protocol):
    """A candidate's place on a page."""

    @property
    def letter(self) -> str: ...
    @property
    def status(self) -> str: ...


class Practised(Lettered, Protocol):
    """The same in the practice trial, by the name of its practice clip."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Presentation:
    lead: str
    """What people are asked to do."""
    tags_best: tuple[str, ...]
    tags_worst: tuple[str, ...]
    meanwhile: Callable[[Progress], str]
    """What goes on while somebody reads the first pages; empty where nothing does."""
    wait_of: Callable[[Progress, int], Wait]
    """(where the experiment is, K) -> what the waiting page says."""
    wait_for_the_end: Callable[[bool], Wait]
    """The same after the last round; whether people choose among the rounds' bests then."""
    ask_of: Callable[[Judgement, int, int], str]
    """(what is asked, how many are shown, how many of them can be judged) -> the question."""
    trial_of_two: str
    """The question of a trial about two, which must not tell that it is one."""
    beside: Callable[[TaskInfo, Callable[[Attachment], str]], Context]
    """What stands on every page of a task: (task, addresses of its files)."""
    candidates: Callable[[TaskInfo, Sequence[Lettered], Callable[[], Sequence[TriedSource]]], Context]
    """What a page to judge on shows beside its places: (task, places, candidates in their order)."""
    winner: Callable[[TaskInfo, TriedSource], Context]
    practice: Callable[[Sequence[Practised]], Context]
    """What the practice trial shows beside, or in place of, its clips."""
    practice_words: Callable[[str], str]
    """What one sees in the practice candidate of this name, after "It"."""
