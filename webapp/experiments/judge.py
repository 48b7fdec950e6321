"""The interface of a judge. Each judge is a file in webapp/experiments/judges/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from llm.method import Method, Option, Value
from llm.method import check_options as check_settings
from llm.records import Judged, Pick

Options = Mapping[str, Any]


class Plan(Protocol):
    """The settings that a judge may refuse."""

    k: int

    @property
    def task_title(self) -> str: ...


def refuse_nothing(plan: Plan, metric: str | None, method: Method) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Judge:
    """Who answers Judge, Choose and Compare: `decide` at once, else a language model in a job, else people."""

    name: str
    """The value in the rows."""
    title: str
    """The name in forms and on the experiment's page."""
    label: str
    """The name in a narrow column."""
    next_step: str
    """Says before the start what happens after candidates are tried."""
    asks_people: bool = False
    """People judge in the browser: the experiment waits for them, and their pages show early clips meanwhile."""
    decide: Callable[[Judged, Options, int, float | None], Pick | str] | None = None
    """(judgement, options, seed, mean |RTS| so far with its sign) -> the result."""
    uses_metric: bool = False
    """It judges by the hidden metric, so every candidate needs a score."""
    options: tuple[Option, ...] = ()
    count_frames: Callable[[Options], int] = lambda options: 0
    """Number of pictures of each clip that a vision model gets."""
    find_refusals: Callable[[Plan, str | None, Method], Mapping[str, str]] = refuse_nothing
    """(plan, the task's metric, method) -> errors by field, if this judge cannot be used there."""

    @property
    def asks_model(self) -> bool:
        """Whether a language model judges, in a job."""
        return not (self.asks_people or self.decide)

    def check_options(self, options: Options) -> dict[str, Value]:
        """The options that differ from their defaults, checked. Raises ValueError."""
        return check_settings(self.options, options, f"the judge “{self.label}”")
