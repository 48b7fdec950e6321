"""The interface of a kind of item. Each kind is a file in webapp/studies/questionnaires/kinds/."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from webapp.base.text_lines import split_lines
from webapp.studies.models.questionnaires import Item

Posted = QueryDict
"""The fields of a form that was sent."""


class Unusable(ValueError):
    """An answer that cannot be stored; its text tells the participant why."""


@dataclass(frozen=True)
class Column:
    """A column of questionnaires.csv."""

    name: str
    question: str
    codes: str = ""
    """What the numbers mean, for example "1 = Yes; 2 = No"; empty where the cell is what was typed."""
    reversed: bool = False
    """Whether the score turns the number round."""


@dataclass(frozen=True)
class Distribution:
    """How often each answer was given to one question."""

    name: str
    title: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    scale: str = ""
    """What the ends of a scale mean; empty if the labels are words."""


@dataclass(frozen=True)
class ItemKind:
    name: str
    title: str
    """For experimenters."""
    read: Callable[[Item, str, Posted], Any]
    """(item, name of its form field, form) -> the value to store; None if there is no answer. Raises Unusable."""
    list_columns: Callable[[Item], list[Column]]
    settings: tuple[str, ...] = ()
    """The fields of an item that this kind uses, beside its text, hint and whether it must be answered."""
    find_faults: Callable[[Item], Mapping[str, str]] = lambda item: {}
    """Field -> why the item cannot be asked like this, for experimenters."""
    list_cells: Callable[[Item, Any], list[Any]] = lambda item, value: [value]
    """(item, stored value or None) -> the cells of its columns."""
    count: Callable[[Item, Sequence[Any]], list[Distribution]] = lambda item, values: []
    """(item, stored values) -> what the study's page draws; empty for texts."""
    list_codes: Callable[[Item], list[tuple[int, str]]] = lambda item: []
    """The answers that another item can depend on, with their words."""
    has_code: Callable[[Any, Sequence[int]], bool] = lambda value, codes: False
    """Whether the stored value is, or holds, one of these codes."""
    list_texts: Callable[[Item, Sequence[Any]], list[str]] = lambda item, values: []
    """What people typed, from the stored values."""
    find_open_code: Callable[[Item], int | None] = lambda item: None
    """The code of the option that people complete in their own words; None if there is none."""
    list_points: Callable[[Item, Any], list[int | None]] = lambda item, value: []
    """(item, stored value or None) -> the step of each of its scales, turned round where the item says so."""
    estimate_seconds: Callable[[Item], float] = lambda item: 8.0
    asks: bool = True
    """Whether it has an answer."""


def number_lines(text: str) -> list[tuple[int, str]]:
    """The lines with their codes: 1 for the first."""
    return list(enumerate(split_lines(text), 1))


def describe_codes(codes: Sequence[tuple[int, str]]) -> str:
    return "; ".join(f"{code} = {words}" for code, words in codes)


def list_steps(item: Item) -> list[tuple[int, str]]:
    """The codes of a scale with the words at its ends."""
    ends = {1: item.low_label, item.steps: item.high_label}
    return [(code, ends.get(code, "")) for code in range(1, item.steps + 1)]


def describe_steps(item: Item) -> str:
    named = [(code, words) for code, words in list_steps(item) if words]
    return describe_codes(named) or f"1 to {item.steps}"


def count_codes(codes: Sequence[int], values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(sum(value == code for value in values) for code in codes)


def read_code(given: str | None, codes: Sequence[int]) -> int | None:
    """The code that was chosen; None for no answer or one that is not offered."""
    return (
        int(given)
        if given and given.isascii() and given.isdecimal() and len(given) <= 3 and int(given) in codes
        else None
    )
