"""Several statements on one scale: a Likert grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from webapp.base.text_lines import split_lines
from webapp.studies.models.questionnaires import Item, read_numbers
from webapp.studies.questionnaires.kind import (
    Column,
    Distribution,
    ItemKind,
    Posted,
    Unusable,
    describe_steps,
    number_lines,
    read_code,
)
from webapp.studies.questionnaires.kinds import scale

MOST_ROWS = 50


def find_faults(item: Item) -> Mapping[str, str]:
    rows = split_lines(item.statements)
    faults = dict(scale.find_faults(item))
    if not rows:
        faults["statements"] = "Give at least one row, one a line."
    elif len(rows) > MOST_ROWS:
        faults["statements"] = f"Give at most {MOST_ROWS} rows."
    wrong = sorted(read_numbers(item.reversed_rows) - set(range(1, len(rows) + 1)))
    if wrong:
        faults["reversed_rows"] = f"There is no row {wrong[0]}."
    return faults


def read(item: Item, name: str, posted: Posted) -> dict[str, int] | None:
    """Row number as text -> code. A grid is answered whole where it must be answered."""
    rows = number_lines(item.statements)
    given = {
        str(row): code
        for row, _ in rows
        if (code := read_code(posted.get(f"{name}-{row}", ""), range(1, item.steps + 1))) is not None
    }
    if given and len(given) < len(rows) and item.required:
        raise Unusable(gettext("Please answer every row."))
    return given or None


def list_columns(item: Item) -> list[Column]:
    question, turned = " ".join(item.text.split()), read_numbers(item.reversed_rows)
    return [
        Column(f"{item.variable}_{row}", f"{question} {words}", describe_steps(item), reversed=row in turned)
        for row, words in number_lines(item.statements)
    ]


def list_cells(item: Item, value: Any) -> list[Any]:
    return [(value or {}).get(str(row)) for row, _ in number_lines(item.statements)]


def list_points(item: Item, value: Any) -> list[int | None]:
    turned = read_numbers(item.reversed_rows)
    steps = enumerate(list_cells(item, value), 1)
    return [item.steps + 1 - step if step is not None and row in turned else step for row, step in steps]


def count(item: Item, values: Sequence[Any]) -> list[Distribution]:
    return [
        scale.count_steps(item, f"{item.variable}_{row}", words, [value.get(str(row)) for value in values])
        for row, words in number_lines(item.statements)
    ]


KIND = ItemKind(
    name="grid",
    title="Likert grid",
    settings=("statements", "reversed_rows", "steps", "low_label", "high_label"),
    find_faults=find_faults,
    read=read,
    list_columns=list_columns,
    list_cells=list_cells,
    count=count,
    list_points=list_points,
    estimate_seconds=lambda item: 5 + 6 * len(split_lines(item.statements)),
)
