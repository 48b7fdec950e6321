"""The declarations of all models, in the order in which an import can write them."""

from __future__ import annotations

from webapp.archive import audit_rows
from webapp.archive.rules import Omitted, Table
from webapp.archive.tables import experiments, problems, questionnaires, review, studies, votes

_MODELS, _PROMPTS, _EXPERIMENTS, *_REST = experiments.TABLES
_ALL = (
    *(_MODELS, _PROMPTS, *problems.TABLES, *studies.TABLES, *questionnaires.TABLES),
    *(_EXPERIMENTS, *studies.PLACES, *_REST),
    *(*questionnaires.ANSWERS, *problems.NOTICES, *review.TABLES, *votes.TABLES),
)
TABLES: dict[str, Table] = {table.model: table for table in (*_ALL, audit_rows.TABLE)}
OMITTED: dict[str, Omitted] = {
    omitted.model: omitted
    for omitted in (
        *studies.OMITTED,
        *experiments.OMITTED,
        *review.OMITTED,
        *votes.OMITTED,
        *problems.OMITTED,
        Omitted("accounts.AuthenticatorApp", "A second factor of staff."),
        Omitted("audit.Head", "The end of the whole log's chain."),
        Omitted("comparisons.Comparison", "Of no study, and of no people: `./prefine compare` reports it."),
        Omitted("endpoints.Endpoint", "Where this installation asks, and how often."),
        Omitted("endpoints.Call", "What is being asked right now."),
        Omitted("archive.Export", "Work of this installation."),
        Omitted("archive.Import", "Work of this installation."),
        Omitted("archive.Origin", "Created by the import itself."),
        Omitted("archive.Imported", "Created by the import itself."),
        Omitted("archive.Erasure", "Numbers of people whose data is gone; in docs/data.md."),
        Omitted("archive.Redaction", "Words on their way out of files of this installation."),
    )
}
