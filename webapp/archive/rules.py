"""Declarations for export and import: one decision for every model and field, or a test fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.apps import apps
from django.db.models import Field, Model


class Rule(StrEnum):
    KEEP = "kept as it is"
    LABEL = "a person's pseudonym; a fresh one where the export asked for that"
    TEXT = "text in which pseudonyms may stand: changed with them"
    STAFF = "an experimenter's name, as staff-1, staff-2 and so on"
    LINK = "the id of a row in another table"
    ROWS = "a list of ids of rows in another table"
    INSIDE = "kept as it is, but for a list of ids of rows in another table"
    NAME = "a random name of our own; another one where an import finds it taken"
    FRESH = "never exported; an import draws another"
    NEVER = "never exported; empty after an import"


@dataclass(frozen=True)
class Column:
    """The decision about one field."""

    rule: Rule
    meaning: str = ""
    """For the data dictionary; where empty, the field's help text."""
    unit: str = ""
    to: str = ""
    """For ROWS and INSIDE: the model whose primary keys the list holds."""
    key: str = ""
    """For INSIDE: the key of the JSON object that holds the list."""
    arrives: Callable[[Any], Any] | None = None
    """Changes the value in an import, where the value as it is would start something."""

    @property
    def exported(self) -> bool:
        return self.rule not in (Rule.FRESH, Rule.NEVER)


def keep(meaning: str = "", unit: str = "", arrives: Callable[[Any], Any] | None = None) -> Column:
    return Column(Rule.KEEP, meaning, unit, arrives=arrives)


def keep_text(meaning: str = "") -> Column:
    return Column(Rule.TEXT, meaning)


def keep_moment(meaning: str, arrives: Callable[[Any], Any] | None = None) -> Column:
    return Column(Rule.KEEP, meaning, "UTC", arrives=arrives)


def keep_link(meaning: str = "") -> Column:
    return Column(Rule.LINK, meaning)


def keep_rows(to: str, meaning: str) -> Column:
    return Column(Rule.ROWS, meaning, to=to)


def keep_inner(to: str, key: str, meaning: str) -> Column:
    return Column(Rule.INSIDE, meaning, to=to, key=key)


def leave_out(why: str) -> Column:
    return Column(Rule.NEVER, why)


LABEL = Column(Rule.LABEL, "Pseudonym.")
STAFF = Column(Rule.STAFF, "Which experimenter.")
NAME = Column(Rule.NAME, "Random name of the row, also in addresses on the bench and in names of files.")
TOKEN = Column(Rule.FRESH, "An address that only one person may know.")


@dataclass(frozen=True)
class Table:
    """The decision about one model, and about each of its fields but the primary key."""

    model: str
    """"app.Model"."""
    file: str
    """The name of the table's files in the export, without ending."""
    about: str
    root: str
    """Where the rows are looked up from: study, experiment, poll, language model, prompt set or problem."""
    path: str
    """The Django lookup from a row to that root; empty where the row is the root."""
    columns: Mapping[str, Column]
    person: str = ""
    """The Django lookup from a row to the participant it belongs to; empty if it belongs to none."""
    inside: tuple[str, ...] = ()
    """Lookups to experiments that must be in the export too; rows that point elsewhere are left out."""
    shared: str = ""
    """The field with a unique name by which studies share rows: an import uses an equal row that exists here."""
    part_of: str = ""
    """The field that points to a shared row, whose parts exist here if it does."""

    @property
    def cls(self) -> type[Model]:
        return apps.get_model(self.model)

    def field(self, name: str) -> Field[Any, Any]:
        return self.cls._meta.get_field(name)  # type: ignore[return-value]


@dataclass(frozen=True)
class Omitted:
    """A model that no export holds, and why."""

    model: str
    why: str
    person: str = ""
    """See Table.person."""

    @property
    def cls(self) -> type[Model]:
        return apps.get_model(self.model)
