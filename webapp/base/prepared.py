"""Queries whose SQL is made once: a page asks a dozen small ones, and Django would make it at every request."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import QuerySet, Value

Row = TypeVar("Row")


class _Slot:
    """Stands for a value that each call gives."""


class Prepared(Generic[Row]):
    """A query that is asked again and again with other values: a page asks a dozen of them.

    `build` makes the queryset; it gets an expression in place of each value, so it may only compare with them.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]], values: int = 1) -> None:
        self._build, self._slots = build, [_Slot() for _ in range(values)]
        self._made: tuple[QuerySet[Any, Row], Any, str, tuple[Any, ...]] | None = None

    def fetch(self, *values: object) -> list[Row]:
        """What the queryset would find for these values, which must be as the database stores them: ids, not rows."""
        assert None not in values, "a comparison with NULL finds nothing"
        queryset, compiler, sql, parameters = self._made = self._made or self._make()
        given = dict(zip(self._slots, values, strict=True))
        mine = copy.copy(compiler)
        mine.connection = connection  # that of this thread
        mine.as_sql = lambda *_, **__: (sql, tuple(given.get(one, one) for one in parameters))
        found = queryset.all()
        found.query.get_compiler = lambda *_, **__: mine  # type: ignore[method-assign]
        return list(found)

    def find(self, *values: object) -> Row | None:
        """The first of them."""
        return next(iter(self.fetch(*values)), None)

    def _make(self) -> tuple[QuerySet[Any, Row], Any, str, tuple[Any, ...]]:
        queryset = self._build(*(Value(slot) for slot in self._slots))
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return queryset, compiler, sql, tuple(parameters)
