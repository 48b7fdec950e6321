"""Reads the rows of an export: ids counted from 1, pseudonyms, declared columns only."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

from django.db.models import ForeignKey, Model, QuerySet

from webapp.archive.models import Origin
from webapp.archive.rules import Column, Rule, Table
from webapp.archive.study_scope import ExperimentScope, Scope

CHUNK = 500
Row = dict[str, Any]


@dataclass
class Pseudonyms:
    """The pseudonyms of an export."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Old label -> new one; empty where labels stay."""
    staff: Mapping[str, str] = field(default_factory=dict)

    def replace_label(self, label: str) -> str:
        return self.labels.get(label, label)

    def replace_text(self, value: Any) -> Any:
        """The value with every pseudonym in its texts changed."""
        if isinstance(value, str):
            return self._pattern.sub(lambda found: self.labels[found[0]], value) if self.labels else value
        if isinstance(value, dict):
            return {key: self.replace_text(item) for key, item in value.items()}
        return [self.replace_text(item) for item in value] if isinstance(value, list) else value

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.labels, key=len, reverse=True)
        return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest_first)) + r")(?!\w)")


class RowReader:
    """Reads the tables of one study, or of experiments, in turn, each after those that it points to."""

    def __init__(self, tables: Mapping[str, Table], scope: Scope | ExperimentScope, names: Pseudonyms) -> None:
        self.tables, self.scope, self.names = tables, scope, names
        self._ids: dict[str, dict[int, int]] = {}
        origin = Origin.objects.filter(study=scope.study).first()
        self._changed: dict[str, dict[str, Row]] = origin.changed if origin else {}
        """Values that the import changed leave as they came."""

    def map_ids(self, model: str) -> dict[int, int]:
        """Primary key -> id in the export: its place in the order of the keys, from 1."""
        if model not in self._ids:
            keys = self.scope.filter_rows(self.tables[model]).order_by("pk").values_list("pk", flat=True)
            self._ids[model] = {pk: number for number, pk in enumerate(keys, 1)}
        return self._ids[model]

    def read_rows(self, model: str) -> Iterator[Row]:
        table = self.tables[model]
        cells = [
            (name, self._make_reader(table, name, column)) for name, column in table.columns.items() if column.exported
        ]
        numbers, changed = self.map_ids(model), self._changed.get(model, {})
        rows: QuerySet[Model] = self.scope.filter_rows(table).order_by("pk")
        for row in rows.iterator(CHUNK):
            number = numbers.get(row.pk)
            if number is not None:  # a newer row, where the database gives no snapshot
                yield {"id": number} | {name: cell(row) for name, cell in cells} | changed.get(str(row.pk), {})

    def _make_reader(self, table: Table, name: str, column: Column) -> Callable[[Model], Any]:
        at = table.field(name)
        attribute = at.attname
        match column.rule:
            case Rule.LINK:
                assert isinstance(at, ForeignKey)
                ids = self.map_ids(at.related_model._meta.label)
                return lambda row: ids.get(getattr(row, attribute))
            case Rule.ROWS:
                ids = self.map_ids(column.to)
                return lambda row: [ids.get(pk) for pk in getattr(row, attribute)]
            case Rule.INSIDE:
                ids = self.map_ids(column.to)
                return lambda row: make_plain(replace_ids(getattr(row, attribute), column.key, ids))
            case Rule.LABEL:
                return lambda row: self.names.replace_label(getattr(row, attribute))
            case Rule.TEXT:
                return lambda row: make_plain(self.names.replace_text(getattr(row, attribute)))
            case Rule.STAFF:
                return lambda row: self.names.staff.get(getattr(row, attribute), "")
            case _:
                return lambda row: make_plain(getattr(row, attribute))


def replace_ids(value: Row, key: str, ids: Mapping[int, int]) -> Row:
    """The value with new ids in the list under this key; None for rows that have none."""
    return value | {key: [ids.get(number) for number in value[key]]} if key in value else value


def make_plain(value: Any) -> Any:
    """The value as JSON has it: times in UTC, null for NaN and infinity."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): make_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(item) for item in value]
    return str(value)
