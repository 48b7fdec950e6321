"""The decisions about all our models, in the order in which an import can write them."""

from __future__ import annotations

from webapp.archive import audit_rows
from webapp.archive.rules import Left, Table
from webapp.archive.tables import answers, loops, people, polls, problems

_MODELS, _EXPERIMENTS, *_REST = loops.TABLES
_ALL = (
    *(_MODELS, *problems.TABLES, *people.TABLES, _EXPERIMENTS, *people.PLACES, *_REST),
    *(*problems.NOTICES, *answers.TABLES, *polls.TABLES),
)
TABLES: dict[str, Table] = {table.model: table for table in (*_ALL, audit_rows.TABLE)}
LEFT: dict[str, Left] = {
    left.model: left
    for left in (
        *people.LEFT,
        *loops.LEFT,
        *answers.LEFT,
        *polls.LEFT,
        *problems.LEFT,
        Left("audit.Head", "The end of the whole log's chain."),
        Left("comparisons.Comparison", "Of no study, and of no people: `./prefine compare` reports it."),
        Left("endpoints.Endpoint", "Where this installation asks, and how often."),
        Left("endpoints.Call", "What is being asked right now."),
        Left("archive.Export", "Work of this installation."),
        Left("archive.Import", "Work of this installation."),
        Left("archive.Origin", "Said by the import itself."),
        Left("archive.Imported", "Said by the import itself."),
        Left("archive.Erasure", "Numbers of people whose data is gone; in docs/data.md."),
        Left("archive.Redaction", "Words on their way out of files of this installation."),
    )
}
