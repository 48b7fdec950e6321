"""What the product knows of a judge. Each has a file in webapp/experiments/judges/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from llm.method import Method, Option, Value
from llm.method import settings as checked
from llm.records import Judged, Pick

Options = Mapping[str, Any]


class Plan(Protocol):
    """What a judge is told of the settings that it is part of."""

    task: str
    k: int


def refuse_nothing(plan: Plan, metric: str | None, method: Method) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Judge:
    """Who answers Judge, Choose and Compare: `decide` at once, else a language model in a job, else people."""

    name: str
    """As rows keep it."""
    title: str
    """In forms and on the experiment's page."""
    label: str
    """In a narrow column."""
    next_step: str
    """What happens once candidates are tried, before an experiment is started."""
    asks_people: bool = False
    """People judge in the browser: the experiment waits for them, and their pages show early clips meanwhile."""
    decide: Callable[[Judged, Options, int, float | None], Pick | str] | None = None
    """(what is asked, options, seed, mean |RTS| so far with its sign) -> the result, at once."""
    uses_metric: bool = False
    """Goes by the hidden metric, so every candidate needs a score."""
    options: tuple[Option, ...] = ()
    count_frames: Callable[[Options], int] = lambda options: 0
    """Pictures of each clip that a vision model judges by."""
    find_refusals: Callable[[Plan, str | None, Method], Mapping[str, str]] = refuse_nothing
    """(plan, the task's metric, method) -> by field, why this judge cannot be had there."""

    @property
    def asks_model(self) -> bool:
        """A language model judges, in a job."""
        return not (self.asks_people or self.decide)

    def check_options(self, given: Options) -> dict[str, Value]:
        """The options that differ from their defaults, checked. Raises ValueError."""
        return checked(self.options, given, f"the judge {self.name!r}")
