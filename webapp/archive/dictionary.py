"""The data dictionary: every table and column of an export, from the declarations that decide what is exported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Field, ForeignKey

from webapp.archive.rules import Rule, Table
from webapp.archive.tables import TABLES

KIND_NAMES = {
    "CharField": "text",
    "TextField": "text",
    "BooleanField": "0 or 1; true or false in JSON",
    "FloatField": "number",
    "DateTimeField": "ISO 8601 time",
    "DateField": "ISO 8601 date",
    "JSONField": "JSON",
    "UUIDField": "UUID",
    "SlugField": "text",
    "URLField": "text",
}
WHOLE = "whole number"


@dataclass(frozen=True)
class Entry:
    file: str
    column: str
    kind: str
    unit: str
    meaning: str
    rule: str


def list_entries(tables: Iterable[Table]) -> Iterator[Entry]:
    for table in tables:
        yield Entry(table.file, "id", WHOLE, "", "Number of the row in this export; other tables point to it.", "")
        for name, column in table.columns.items():
            if column.exported:
                field = table.field(name)
                yield Entry(
                    table.file,
                    name,
                    _describe_kind(field),
                    column.unit,
                    describe_column(table, name),
                    column.rule.value,
                )


def describe_column(table: Table, name: str) -> str:
    """The meaning of a column: as declared, else the field's help text; for links also the table."""
    column, field = table.columns[name], table.field(name)
    text = column.meaning or str(field.help_text)
    if column.rule in (Rule.LINK, Rule.ROWS):
        to = column.to or field.related_model._meta.label  # type: ignore[union-attr]
        file = map_files().get(to, to)
        return f"{text} Row of {file}.".strip() if column.rule == Rule.LINK else f"{text} Rows of {file}."
    if column.rule == Rule.INSIDE:
        return f"{text} {column.key}: rows of {map_files()[column.to]}."
    choices = ", ".join(f"{value}" for value, _ in field.flatchoices) if 0 < len(list(field.flatchoices)) <= 8 else ""
    return f"{text} One of: {choices}." if choices and choices.partition(",")[0] not in text else text


def map_files() -> dict[str, str]:
    return {table.model: table.file for table in TABLES.values()}


def _describe_kind(field: Field[object, object]) -> str:
    if isinstance(field, ForeignKey):
        return WHOLE
    return KIND_NAMES.get(field.get_internal_type(), WHOLE)


def render_markdown(tables: Iterable[Table]) -> str:
    tables = list(tables)
    found = list(list_entries(tables))
    parts = ["# Data dictionary\n\nEvery table is there as CSV and as JSON (one row a line). Empty cells: no value.\n"]
    for table in tables:
        parts.append(f"\n## {table.file}\n\n{table.about}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n")
        own = (entry for entry in found if entry.file == table.file)
        parts += [f"| {e.column} | {e.kind} | {e.unit} | {e.meaning.replace('|', '/')} |\n" for e in own]
    return "".join(parts)


def list_withheld(tables: Iterable[Table]) -> list[tuple[str, str, str]]:
    """(table, field, why) of every column that no export holds."""
    return [
        (table.file, name, column.meaning or column.rule.value)
        for table in tables
        for name, column in table.columns.items()
        if not column.exported
    ]
