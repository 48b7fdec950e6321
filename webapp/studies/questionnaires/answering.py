"""One person's page of a questionnaire: which items, in which order, and what was answered."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext

from webapp.studies.models import Participant
from webapp.studies.models.questionnaires import Answer, Item, Questionnaire, Response
from webapp.studies.questionnaires.kind import Posted, Unusable, number_lines
from webapp.studies.questionnaires.kinds import KINDS

SHOWN = "shown"
"""The form field that names the items that were visible."""


@dataclass
class Reading:
    """What a form says."""

    values: dict[int, Any] = field(default_factory=dict)
    """Item (primary key) -> the value to store."""
    errors: dict[int, str] = field(default_factory=dict)
    unseen: set[int] = field(default_factory=set)
    """Items that the answers make visible and that the person has not seen yet."""

    @property
    def complete(self) -> bool:
        return not self.errors and not self.unseen


def name_field(item: Item) -> str:
    return f"item-{item.pk}"


def list_items(questionnaire: Questionnaire) -> list[Item]:
    return list(questionnaire.items.all())


def hash_items(questionnaire: Questionnaire, items: Sequence[Item]) -> str:
    """A hash of everything that the page shows."""
    fields = [one.attname for one in Item._meta.concrete_fields if one.name != "questionnaire"]
    content = [[getattr(item, name) for name in fields] for item in items]
    text = json.dumps([questionnaire.title, questionnaire.intro, questionnaire.shuffle, content])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def order_items(participant: Participant, questionnaire: Questionnaire, items: Sequence[Item]) -> list[Item]:
    """The items in this person's order, drawn from the study's seed and the label. Texts without answer stay in
    place, and an item that depends on another follows it.
    """
    if not questionnaire.shuffle:
        return list(items)
    ordered: list[Item] = []
    part: list[Item] = []
    generator = _make_generator(participant, f"items {questionnaire.pk}")
    for item in items:
        if KINDS[item.kind].asks:
            part.append(item)
        else:
            ordered += [*_shuffle_part(part, generator), item]
            part = []
    return [*ordered, *_shuffle_part(part, generator)]


def _shuffle_part(part: list[Item], generator: random.Random) -> list[Item]:
    keys = {item.pk for item in part}
    heads = [item for item in part if item.shown_when_id not in keys]
    generator.shuffle(heads)
    ordered: list[Item] = []

    def add(item: Item) -> None:
        ordered.append(item)
        for other in part:
            if other.shown_when_id == item.pk and other not in ordered:
                add(other)

    for head in heads:
        add(head)
    return [*ordered, *(item for item in part if item not in ordered)]  # items that depend on each other in a circle


def order_rows(participant: Participant, item: Item) -> list[tuple[int, str]]:
    """(number, words) of a grid's rows in this person's order."""
    rows = number_lines(item.statements)
    if item.questionnaire.shuffle:
        _make_generator(participant, f"rows {item.variable}").shuffle(rows)
    return rows


def _make_generator(participant: Participant, what: str) -> random.Random:
    return random.Random(f"{participant.study.seed} {what} {participant.label}")


def find_earlier_values(participant: Participant, items: Sequence[Item]) -> dict[int, Any]:
    """Item -> the person's last answer, for items of other questionnaires that these items depend on."""
    own = {item.pk for item in items}
    sources = {item.shown_when_id for item in items if item.shown_when_id} - own
    if not sources or participant.pk is None:
        return {}
    answers = Answer.objects.filter(item__in=sources, response__participant=participant).order_by("created_at", "pk")
    return dict(answers.values_list("item", "value"))


def find_shown(items: Sequence[Item], values: Mapping[int, Any]) -> set[int]:
    """The items (primary keys) that these values, and those of earlier questionnaires, make visible."""
    by_key = {item.pk: item for item in items}
    shown: dict[int, bool] = {}

    def is_shown(item: Item) -> bool:
        if item.pk not in shown:
            shown[item.pk] = False  # an item that depends on itself in a circle is never shown
            shown[item.pk] = item.shown_when_id is None or _holds(item)
        return shown[item.pk]

    def _holds(item: Item) -> bool:
        source = by_key.get(item.shown_when_id or 0) or item.shown_when
        value = values.get(item.shown_when_id or 0)
        visible = is_shown(source) if source and source.pk in by_key else True
        return bool(source and visible and value is not None and KINDS[source.kind].has_code(value, item.shown_codes))

    return {item.pk for item in items if is_shown(item)}


def read_form(items: Sequence[Item], posted: Posted, earlier: Mapping[int, Any]) -> Reading:
    """What the form says, with a message for each item that is missing or cannot be stored."""
    values, errors, reading = dict(earlier), {}, Reading()
    for item in items:
        try:
            values[item.pk] = KINDS[item.kind].read(item, name_field(item), posted)
        except Unusable as error:
            values[item.pk], errors[item.pk] = None, str(error)
    seen = set(posted.getlist(SHOWN))
    shown = find_shown(items, values)
    for item in items:
        if item.pk not in shown or not KINDS[item.kind].asks:
            continue
        if values[item.pk] is not None:
            reading.values[item.pk] = values[item.pk]
        elif item.pk in errors:
            reading.errors[item.pk] = errors[item.pk]
        elif item.required:
            reading.errors[item.pk] = gettext("Please answer this question.")
        elif str(item.pk) not in seen:
            reading.unseen.add(item.pk)
    return reading


@transaction.atomic
def send(response: Response, values: Mapping[int, Any], version: str) -> bool:
    """Store the answers, once. False if they were sent before, or if the questions were changed meanwhile."""
    questionnaire = Questionnaire.objects.select_for_update(no_key=True).get(pk=response.questionnaire_id)
    items = list_items(questionnaire)
    if hash_items(questionnaire, items) != version:
        return False
    order = [item.variable for item in order_items(response.participant, questionnaire, items)]
    waiting = Response.objects.filter(pk=response.pk, sent_at=None, participant__withdrawn_at=None)
    if not waiting.update(sent_at=Now(), order=order):
        return False
    Answer.objects.bulk_create(Answer(response=response, item_id=pk, value=value) for pk, value in values.items())
    return True
