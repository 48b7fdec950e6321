"""Write rows in the transaction of the recorded action, and chain them after its commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import models, transaction

from webapp.audit.models import Entry, Head
from webapp.base.http import strip_nul

Plain = str | int | bool | None | list[Any] | dict[str, Any]


def append_entry(actor: str, action: str, target: models.Model | None, detail: dict[str, Any]) -> Entry:
    """Write a row without the chain's lock, because the caller may hold other locks."""
    entry = Entry.objects.create(
        actor=_shorten(actor, 150),
        action=_shorten(action, 80),
        target_type=target._meta.label_lower if target is not None else "",
        target_id=str(target.pk) if target is not None else "",
        target_label=_shorten(str(target), 200) if target is not None else "",
        detail=_to_plain(detail),
    )
    transaction.on_commit(seal_entries, robust=True)  # if this fails, the row is chained with the next one
    return entry


def _shorten(text: str, longest: int) -> str:
    return strip_nul(text)[:longest]


def _to_plain(value: Any) -> Plain:
    """The value as JSON types that every database returns unchanged, because the row is hashed."""
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, dict):
        return {_shorten(str(key), 80): _to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_plain(item) for item in value]
    return _shorten(str(value), 500)


def seal_entries() -> int:
    """Chain all rows that are not chained yet, also those of processes that died. Returns their number."""
    if not Entry.objects.filter(number=None).exists():
        return 0
    with transaction.atomic():
        head, _ = Head.objects.select_for_update().get_or_create(pk=1)
        waiting = list(Entry.objects.filter(number=None).order_by("pk"))
        for entry in waiting:
            _seal_entry(entry, head)
        head.save()
    return len(waiting)


def _seal_entry(entry: Entry, head: Head) -> None:
    number, previous = head.number + 1, head.hash
    head.number, head.hash = number, entry.digest(number, previous)
    rows: models.QuerySet[Entry] = models.QuerySet(Entry)  # a plain QuerySet: the model's own refuses updates
    rows.filter(pk=entry.pk, number=None).update(number=number, previous=previous, hash=head.hash)


def find_breaks() -> Iterator[str]:
    """Sentences about each break of the chain; none if it holds."""
    number, previous = 0, ""
    for entry in Entry.objects.exclude(number=None).order_by("number").iterator(1000):
        number += 1
        if entry.number != number:
            yield f"Row {number} is missing; the next one is {entry.number}."
            number = entry.number or number
        elif entry.previous != previous:
            yield f"Row {number} does not follow the row before it: that one was changed or replaced."
        if entry.hash != entry.digest(number, entry.previous):
            yield f"Row {number} ({entry.created_at:%Y-%m-%d %H:%M} UTC, {entry}) was changed after it was written."
        previous = entry.hash
    head = Head.objects.filter(pk=1).first() or Head()
    if (head.number, head.hash) != (number, previous):
        yield f"The chain should end with row {head.number}, and ends with row {number}."
