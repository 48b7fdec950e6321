"""How a participant's pages show candidates. Each medium has a file in webapp/studio/presentations/ and a folder of
partial templates, templates/studio/<its name>/.
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


class LetteredPlace(Protocol):
    """A candidate's place on a page."""

    @property
    def letter(self) -> str: ...
    @property
    def status(self) -> str: ...


class PracticePlace(LetteredPlace, Protocol):
    """A candidate's place in the practice trial; `name` is that of its practice clip."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Presentation:
    lead: str
    """What people are asked to do, to be translated where it is shown."""
    tags_best: tuple[str, ...]
    tags_worst: tuple[str, ...]
    describe_progress: Callable[[Progress, int], str]
    """What the robots do while somebody reads the first pages; empty if they do nothing."""
    describe_wait: Callable[[Progress, int], Wait]
    """(progress of the experiment, K) -> what the waiting page says."""
    describe_last_wait: Callable[[bool], Wait]
    """(whether people then choose among the rounds' winners) -> what the waiting page says after the last round."""
    make_question: Callable[[Judgement, int, int], str]
    """(judgement, number of candidates shown, number that can be judged) -> the question."""
    trial_question: str
    """The question of a trial about two candidates, to be translated; it must not reveal that it is a trial."""
    make_task_context: Callable[[TaskInfo, Callable[[Attachment], str]], Context]
    """(task, addresses of its files) -> the context of every page of the task."""
    make_candidates_context: Callable[[TaskInfo, Sequence[LetteredPlace], Callable[[], Sequence[TriedSource]]], Context]
    """(task, places, candidates in their order) -> what a page to judge on adds to its places."""
    make_winner_context: Callable[[TaskInfo, TriedSource], Context]
    make_practice_context: Callable[[Sequence[PracticePlace]], Context]
    """What the practice trial shows besides its clips or in their place."""
    describe_practice: Callable[[str], str]
    """What the practice candidate with this name does, as a sentence."""
