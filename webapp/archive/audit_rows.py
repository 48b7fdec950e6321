"""The rows of the audit log that are about a study, for its export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.db.models import Q, QuerySet

from webapp.archive.models import Origin
from webapp.archive.row_reader import Pseudonyms, Row, make_plain
from webapp.archive.rules import STAFF, Column, Table, keep, keep_moment, keep_text, leave_out
from webapp.archive.study_scope import Scope
from webapp.audit.models import Entry
from webapp.experiments.models import Experiment
from webapp.studies.models import Participant
from webapp.votes.models import Poll

PEOPLE = ("participant", "evaluator", "system", "visitor", "unknown account")
TABLE = Table(
    "audit.Entry",
    "audit",
    "What experimenters did to this study, its experiments and its votes. Exports and downloads are left out.",
    root="audit",
    path="",
    columns={
        "actor": Column(STAFF.rule, "Which experimenter; or participant, evaluator or system."),
        "action": keep("What was done."),
        "target_type": keep("To what kind of row."),
        "target_id": leave_out("A key of this database."),
        "target_label": keep_text("To which, in words."),
        "detail": keep_text("Details, by name."),
        "created_at": keep_moment("When it was done."),
        "number": keep("Place in the chain of that installation's log; gaps are rows of other studies."),
        "previous": leave_out("Chains the whole log, not this part of it."),
        "hash": leave_out("Chains the whole log, not this part of it."),
    },
)


def filter_entries(scope: Scope) -> QuerySet[Entry]:
    keys: dict[str, list[Any]] = {
        "studies.study": [scope.study.pk],
        "studies.participant": scope.participants,
        "experiments.experiment": scope.own,
        "votes.poll": scope.polls,
    }
    found = Q()
    for kind, pks in keys.items():
        found |= Q(target_type=kind, target_id__in=[str(pk) for pk in pks])
    return Entry.objects.filter(found).exclude(action__regex="^(exported|downloaded|imported)").order_by("pk")


def read_rows(scope: Scope, names: Pseudonyms) -> Iterator[Row]:
    """First the rows that came with an import of the study, then this installation's own."""
    number = 0
    origin = Origin.objects.filter(study=scope.study).first()
    columns = [name for name, column in TABLE.columns.items() if column.exported]
    for row in origin.audit if origin else []:  # PostgreSQL changes the order of a JSON object's keys
        number += 1
        yield {"id": number} | {name: names.replace_text(row[name]) for name in columns}
    erased = Participant.objects.filter(study=scope.study, deleted_at__isnull=False)
    erased_labels = {str(pk): label for pk, label in erased.values_list("pk", "label")}
    for entry in filter_entries(scope).iterator(500):
        number += 1
        person = erased_labels.get(entry.target_id) if entry.target_type == "studies.participant" else None
        yield {
            "id": number,
            "actor": entry.actor if entry.actor in PEOPLE else names.staff.get(entry.actor, ""),
            "action": entry.action,
            "target_type": entry.target_type,
            "target_label": names.replace_text(person or entry.target_label),
            "detail": names.replace_text(entry.detail),
            "created_at": make_plain(entry.created_at),
            "number": entry.number,
        }


def list_actors(scope: Scope) -> set[str]:
    """Names of the experimenters in the export."""
    found = {name for name in filter_entries(scope).values_list("actor", flat=True) if name not in PEOPLE}
    found |= {name for poll in Poll.objects.filter(pk__in=scope.polls) for name in (poll.closed_by, poll.unblinded_by)}
    found |= set(Experiment.objects.filter(pk__in=scope.experiments).values_list("owner", flat=True))
    origin = Origin.objects.filter(study=scope.study).first()
    found |= {row["actor"] for row in (origin.audit if origin else []) if row["actor"] not in PEOPLE}
    return found - {""}


def assign_staff_names(names: set[str]) -> dict[str, str]:
    """staff-1, staff-2 ... in the order of the names; names of this form stay as they are."""
    used = {name for name in names if re.fullmatch(r"staff-\d+", name)}
    fresh = (f"staff-{number}" for number in range(1, len(names) + len(used) + 1) if f"staff-{number}" not in used)
    return {name: name if name in used else next(fresh) for name in sorted(names)}
