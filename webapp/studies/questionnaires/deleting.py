"""Deleting a questionnaire or an item so that it can be brought back: the caller keeps its rows as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from django.core import serializers
from django.db import transaction

from webapp.studies.models import Study
from webapp.studies.models.questionnaires import Item, Questionnaire
from webapp.studies.questionnaires.editing import choose_variable, list_variables, lock


@transaction.atomic
def delete_questionnaire(row: Questionnaire) -> str:
    """Delete it with its items. Returns what `restore` needs. Raises Fixed, RestrictedError."""
    found = lock(row)
    text: str = serializers.serialize("json", [found, *found.items.all()])
    found.delete()
    return text


@transaction.atomic
def delete_item(item: Item) -> str:
    """Delete one item. Returns what `restore` needs. Raises Fixed, RestrictedError."""
    lock(item.questionnaire)
    text: str = serializers.serialize("json", [item])
    item.delete()
    return text


@transaction.atomic
def restore(study: Study, text: str) -> str:
    """Bring back what was deleted, as it was. Returns its name; empty if its questionnaire is gone or fixed meanwhile.

    Answers of pilots do not come back. An item that depended on one that is gone is always shown.
    """
    rows = [one.object for one in serializers.deserialize("json", text)]
    taken = list_variables(study)
    for row in rows:
        if isinstance(row, Item):
            row.variable = choose_variable(row.variable, taken)
            _keep_condition(row, rows)
    first = rows[0]
    if isinstance(first, Item):
        home = Questionnaire.objects.filter(pk=first.questionnaire_id, study=study).first()
        if home is None:
            return ""
        lock(home)
    for row in rows:
        row.save(force_insert=True)
    return str(first)


def _keep_condition(item: Item, rows: Sequence[object]) -> None:
    known = {row.pk for row in rows if isinstance(row, Item)}
    source = item.shown_when_id
    if source and source not in known and not Item.objects.filter(pk=source).exists():
        item.shown_when_id, item.shown_codes = None, []
