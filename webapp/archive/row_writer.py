"""Writes the rows of an import: checked against their fields, with keys of this database."""

from __future__ import annotations

import math
import re
import uuid
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Field, ForeignKey, Model

from webapp.archive import json_shapes
from webapp.archive.row_reader import make_plain, replace_ids
from webapp.archive.rules import Column, Rule, Table
from webapp.archive.unpack import NEWER, Refused
from webapp.experiments import prompt_sets
from webapp.experiments.models import PromptSet, Request
from webapp.problems import lookup

BATCH = 200
UUID_LENGTH = 36
STORED = re.compile(r"problems/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\.[a-z0-9]{1,7}")
"""The name of a file in its row."""
PROMPT = re.compile(r"[a-z0-9_]+")
"""The name of a prompt, in this version or another."""
Row = Mapping[str, Any]


class IncomingRow(NamedTuple):
    number: int
    """The id in the package."""
    row: Model
    links: dict[str, Any]
    """Field -> (model, id or ids in the package) of rows that are not written yet."""
    changed: dict[str, Any]
    """Field -> its value in the package, where the import changed it."""


class RowWriter:
    """Writes the tables of one package in turn; a link to a row that comes later is set at the end."""

    def __init__(self, tables: Mapping[str, Table], leave_out: Collection[str] = ()) -> None:
        self.tables = tables
        self.leave_out = leave_out
        """Models whose rows are checked and not written; links to them are empty."""
        self.left_out = Counter[str]()
        """Model -> how many rows were left out."""
        self.keys: dict[str, dict[int, int]] = {name: {} for name in tables}
        """Model -> id in the package -> primary key here."""
        self._waiting_links: list[tuple[str, int, str, int]] = []
        """Model, primary key, field, id of the row that it points to."""
        self._waiting_lists: list[tuple[str, int, str, list[int | None], str]] = []
        self.names: dict[uuid.UUID, uuid.UUID] = {}
        """Random name in the package -> random name here."""
        self.text_names: dict[str, str] = {}
        self.found: set[tuple[str, int]] = set()
        """(model, primary key) of shared rows that existed here before."""
        self.changed: dict[str, dict[str, dict[str, Any]]] = {}
        """See Origin.changed."""

    def write(self, model: str, rows: Any) -> None:
        table, batch, place = self.tables[model], list[IncomingRow](), f"tables/{self.tables[model].file}.json"
        keys = self.keys[model]
        for expected, row in enumerate(rows, 1):
            if row.get("id") != expected:
                raise Refused(f"{place}: row {expected} says that it is row {str(row.get('id'))[:20]}.")
            incoming = self._build_row(table, row, expected, f"{place}, row {expected}")
            if model in self.leave_out:
                self.left_out[model] += 1
            elif not self._find_shared(table, incoming, f"{place}, row {expected}"):
                batch.append(incoming)
            if len(batch) == BATCH:
                self._save(table, batch, keys)
                batch = []
        self._save(table, batch, keys)

    def _find_shared(self, table: Table, incoming: IncomingRow, where: str) -> bool:
        """Whether the row is shared between studies and exists here, or is part of such a row."""
        if table.part_of:
            parent = table.field(table.part_of)
            assert isinstance(parent, ForeignKey)
            exists = (parent.related_model._meta.label, getattr(incoming.row, parent.attname)) in self.found
            if exists:
                self._find_part(table, incoming)
            return exists
        if not table.shared:
            return False
        name = getattr(incoming.row, table.shared)
        here = table.cls._default_manager.filter(**{table.shared: name}).first()
        if here is None:
            return False
        for column in set(table.columns) - {"created_at"}:
            if getattr(here, column) != getattr(incoming.row, column):
                raise Refused(f"{where}: {name!r} is here already, with another {column}. Rename one of them.")
        self.keys[table.model][incoming.number] = here.pk
        self.found.add((table.model, here.pk))
        return True

    def _find_part(self, table: Table, incoming: IncomingRow) -> None:
        """Find the equal part of the row that exists here. Names of files are left out: they always differ."""
        names = [name for name in table.columns if not isinstance(table.field(name), models.FileField)]
        values = {name: getattr(incoming.row, table.field(name).attname) for name in names}
        keys = self.keys[table.model]
        here = table.cls._default_manager.filter(**values).exclude(pk__in=keys.values()).order_by("pk").first()
        if here is not None:
            keys[incoming.number] = here.pk

    def _save(self, table: Table, batch: list[IncomingRow], keys: dict[int, int]) -> None:
        if not batch:
            return
        objects = [incoming.row for incoming in batch]
        stamped = [field for field in table.cls._meta.concrete_fields if getattr(field, "auto_now_add", False)]
        stamped += [field for field in table.cls._meta.concrete_fields if getattr(field, "auto_now", False)]
        times = [[getattr(made, field.attname) for field in stamped] for made in objects]
        table.cls._default_manager.bulk_create(objects)
        for incoming, values in zip(batch, times, strict=True):
            keys[incoming.number] = incoming.row.pk
            for field, value in zip(stamped, values, strict=True):
                setattr(incoming.row, field.attname, value)
        if stamped:  # Django has set the time of the import
            table.cls._default_manager.bulk_update(objects, [field.name for field in stamped])
        self._note_links(table, batch)

    def _build_row(self, table: Table, row: Row, number: int, where: str) -> IncomingRow:
        incoming = IncomingRow(number, table.cls(), {}, {})
        exported = {name for name, column in table.columns.items() if column.exported}
        unknown = ", ".join(sorted(str(name)[:40] for name in set(row) - exported - {"id"})[:3])
        if unknown:
            raise Refused(f"{where}: has columns that this Prefine does not know ({unknown}). {NEWER}")
        for name in exported:
            field, place = table.field(name), f"{where}, {name}"
            value = row[name] if name in row else find_default(field, place)
            self._set_field(table, incoming, field, table.columns[name], value, place)
        made = incoming.row
        if isinstance(made, Request) and not json_shapes.is_readable_request(made.kind, made.payload, made.result):
            raise Refused(f"{where}: no request, or no answer, of the kind {made.kind}.")
        if isinstance(made, PromptSet) and not all(PROMPT.fullmatch(text) for text in made.texts):
            raise Refused(f"{where}: holds a text whose name no prompt has.")
        return incoming

    def _set_field(
        self, table: Table, incoming: IncomingRow, field: Field[Any, Any], column: Column, value: Any, where: str
    ) -> None:
        row = incoming.row
        match column.rule:
            case Rule.LINK:
                setattr(row, field.attname, self._resolve_link(field, value, where, incoming.links))
            case Rule.ROWS:
                incoming.links[field.name] = (column.to, _check_numbers(value, where))
                setattr(row, field.attname, [])
            case Rule.INSIDE:
                given = check_value(field, value, where)
                _check_numbers(given.get(column.key, []) if isinstance(given, dict) else None, where)
                setattr(row, field.attname, replace_ids(given, column.key, self.keys[column.to]))
            case Rule.NAME:
                setattr(row, field.attname, self._choose_name(field, value, where))
            case _:
                given = check_value(field, value, where)
                new = column.arrives(given) if column.arrives else self._follow_names(given)
                new = new if field.name == table.shared else self._choose_free_name(field, new)
                setattr(row, field.attname, new)
                if column.arrives and new != given:
                    incoming.changed[field.name] = value

    def _resolve_link(self, field: Field[Any, Any], value: Any, where: str, links: dict[str, Any]) -> int | None:
        assert isinstance(field, ForeignKey)
        to = field.related_model._meta.label
        if value is None and field.null:
            return None
        if type(value) is not int:
            raise Refused(f"{where}: points nowhere.")
        if to in self.leave_out and field.null:
            return None
        here = self.keys.get(to, {}).get(value)
        if here is None and field.null:
            links[field.name] = (to, value)
        elif here is None:
            raise Refused(f"{where}: points to row {value}, which is not there.")
        return here

    def _choose_name(self, field: Field[Any, Any], value: Any, where: str) -> uuid.UUID:
        """The name from the package where it is free here, else a new one."""
        try:
            name = uuid.UUID(value)
        except (ValueError, AttributeError, TypeError) as error:
            raise Refused(f"{where}: no random name.") from error
        if name in self.names:
            raise Refused(f"{where}: the name is there twice.")
        taken = field.model._default_manager.filter(**{field.name: name}).exists()
        self.names[name] = uuid.uuid4() if taken else name
        self.text_names[str(name)] = str(self.names[name])
        return self.names[name]

    def _choose_free_name(self, field: Field[Any, Any], value: Any) -> Any:
        """The value; with a suffix where the field is unique and the value is taken here."""
        if not field.unique:
            return value
        name, number = value, 1
        while _is_taken(field, name):
            number += 1
            ending = " (imported)" if number == 2 else f" (imported {number - 1})"
            name = f"{value[: (field.max_length or 100) - len(ending)]}{ending}"
        return name

    def _follow_names(self, value: Any) -> Any:
        """Replace random names inside the value, as in what a vote compared, by the names that their rows have here."""
        if isinstance(value, dict):
            return {key: self._follow_names(item) for key, item in value.items()}
        if isinstance(value, str) and len(value) == UUID_LENGTH:
            known = self.text_names.get(value)
            return known if known else value
        return value

    def _note_links(self, table: Table, batch: list[IncomingRow]) -> None:
        for incoming in batch:
            key = incoming.row.pk
            if incoming.changed:
                self.changed.setdefault(table.model, {})[str(key)] = incoming.changed
            for name, (to, value) in incoming.links.items():
                if isinstance(value, list):
                    self._waiting_lists.append((table.model, key, name, value, to))
                else:
                    self._waiting_links.append((table.model, key, name, value))

    def finish(self) -> None:
        """Set the links to rows that were written later."""
        changes: dict[tuple[str, str], list[Model]] = {}
        for model, pk, name, number in self._waiting_links:
            field = self.tables[model].field(name)
            to = field.related_model._meta.label  # type: ignore[union-attr]
            here = self.keys[to].get(number)
            if here is None:
                raise Refused(f"{self.tables[model].file}.{name}: points to row {number}, which is not there.")
            changes.setdefault((model, name), []).append(self._build_change(model, pk, field.attname, here))
        for model, pk, name, numbers, to in self._waiting_lists:
            here_all = [self.keys[to].get(number) if number is not None else None for number in numbers]
            changes.setdefault((model, name), []).append(self._build_change(model, pk, name, here_all))
        for (model, name), objects in changes.items():
            self.tables[model].cls._default_manager.bulk_update(objects, [name], batch_size=BATCH)

    def _build_change(self, model: str, pk: int, attribute: str, value: Any) -> Model:
        row = self.tables[model].cls(pk=pk)
        setattr(row, attribute, value)
        return row


def _is_taken(field: Field[Any, Any], value: Any) -> bool:
    """Whether a row here has the value, or is a set of prompts that a variant could mean by it."""
    if field.model is PromptSet:
        return bool(prompt_sets.find_alike(value))
    return field.model._default_manager.filter(**{field.name: value}).exists()


def find_default(field: Field[Any, Any], where: str) -> Any:
    """The value of a column that the export does not have because it is newer: the field's default."""
    if field.has_default():
        return make_plain(field.get_default())
    if field.null:
        return None
    if field.blank and field.empty_strings_allowed:
        return ""
    raise Refused(f"{where}: is missing.")


def check_value(field: Field[Any, Any], value: Any, where: str) -> Any:
    """The value as this field takes it. Raises Refused for a value that the field does not take."""
    _check_text(value, where)
    if value is None:
        if not field.null:
            raise Refused(f"{where}: must not be empty.")
        return None
    if isinstance(field, models.JSONField):
        shape = json_shapes.SHAPES.get(f"{field.model._meta.label}.{field.name}")
        if shape is not None and not json_shapes.fits(value, shape):
            raise Refused(f"{where}: is not built as such a column is.")
        return value
    if isinstance(field, models.FileField) and not (isinstance(value, str) and STORED.fullmatch(value)):
        raise Refused(f"{where}: no name of a file.")
    expected = _KINDS.get(field.get_internal_type(), (str,))
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        raise Refused(f"{where}: {type(value).__name__} is not what belongs here.")
    try:
        value = _parse_moment(str(value), where) if isinstance(field, models.DateTimeField) else field.to_python(value)
        if value not in field.empty_values:
            field.run_validators(value)
        choices = dict(field.flatchoices)
        if field.name == "task":
            choices |= lookup.list_choices()  # robots are in the list, problems in the database
    except ValidationError as error:
        raise Refused(f"{where}: {' '.join(error.messages)}") from error
    if choices and value not in choices and value not in field.empty_values:
        raise Refused(f"{where}: {str(value)[:60]!r} is unknown to this Prefine. Use the same version.")
    return value


def _check_numbers(value: Any, where: str) -> list[int | None]:
    if not isinstance(value, list) or not all(item is None or type(item) is int for item in value):
        raise Refused(f"{where}: not a list of rows.")
    return value


_KINDS: dict[str, tuple[type, ...]] = {
    "BooleanField": (bool,),
    "FloatField": (float, int),
    **dict.fromkeys(("IntegerField", "SmallIntegerField", "BigIntegerField"), (int,)),
    **dict.fromkeys(("PositiveIntegerField", "PositiveSmallIntegerField", "PositiveBigIntegerField"), (int,)),
}


def _parse_moment(value: str, where: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise Refused(f"{where}: no time.") from error
    if moment.tzinfo is None:
        raise Refused(f"{where}: a time without its zone.")
    return moment


def _check_text(value: Any, where: str) -> None:
    """Refuse NUL, which PostgreSQL does not take, unpaired surrogates, NaN and infinity."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str) and ("\0" in item or not _is_encodable(item)):
            raise Refused(f"{where}: holds characters that no text has.")
        if isinstance(item, float) and not math.isfinite(item):
            raise Refused(f"{where}: holds NaN or an infinite number.")
        if isinstance(item, dict):
            stack += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            stack += item


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
