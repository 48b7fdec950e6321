"""The page of a questionnaire: items in the person's own order, with what was typed and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse

from webapp.review.rounds import find_last_judged
from webapp.studies.models import Participant
from webapp.studies.models.questionnaires import ITEM_FIELDS, QUESTIONNAIRE_FIELDS, Item, Questionnaire, Response
from webapp.studies.questionnaires import answering, moments, own_words
from webapp.studies.questionnaires.answering import Reading
from webapp.studies.questionnaires.kind import list_steps
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.texts.localizing import localize_rows

LONG_SCALE = 11
"""Steps from which on a scale is one line of small marks."""


@dataclass(frozen=True)
class Choice:
    """A button of an item."""

    field: str
    code: int
    words: str
    chosen: bool
    text_field: str = ""
    """The field for the person's own words; empty if the option has none."""
    text: str = ""


@dataclass(frozen=True)
class ShownItem:
    """An item as one person sees it."""

    item: Item
    name: str
    """The name of its form field."""
    choices: Sequence[Choice]
    """Its options, or the steps of its scale."""
    rows: Sequence[tuple[str, str, Sequence[Choice], bool]]
    """(field, words, steps, whether it gets the focus) of a grid's rows."""
    value: str
    """What was typed."""
    error: str
    visible: bool
    when: str
    """The field on whose answer it depends, if that is on the same page."""
    codes: str
    focus: bool
    """Whether the first of its fields gets the focus."""

    @property
    def template(self) -> str:
        return f"studio/questions/{self.item.kind}.html"

    @property
    def asks(self) -> bool:
        return KINDS[self.item.kind].asks

    @property
    def needs_words(self) -> bool:
        """Whether the option with a field for text was chosen and the field is empty."""
        return any(choice.chosen and choice.text_field and not choice.text.strip() for choice in self.choices)

    @property
    def is_long_scale(self) -> bool:
        return self.item.steps >= LONG_SCALE

    @property
    def described_by(self) -> str:
        parts = [f"{self.name}-hint" if self.item.hint else "", f"{self.name}-error" if self.error else ""]
        return " ".join(filter(None, parts))


def find_response(participant: Participant) -> Response | None:
    """The questionnaire that the person must answer now; its row is made when its page is shown first."""
    moment = moments.find_due(participant, find_last_judged)
    return moments.open_response(participant, moment) if moment else None


def make_page_context(
    participant: Participant,
    response: Response,
    posted: Any = None,
    reading: Reading | None = None,
    items: Sequence[Item] | None = None,
) -> dict[str, Any]:
    """The context of the page; after an incomplete form with its answers, and messages at the items. `items`: those
    to show in place of the saved ones, for the preview.
    """
    questionnaire = response.questionnaire
    rows = answering.list_items(questionnaire) if items is None else items
    version = answering.hash_items(questionnaire, rows)
    localize_rows(participant.study, [questionnaire], QUESTIONNAIRE_FIELDS)
    localize_rows(participant.study, rows, ITEM_FIELDS)
    return {
        "action": reverse("questionnaire", args=[participant.token]),
        "response": response.pk or 0,
        "questionnaire": questionnaire,
        "version": version,
        "items": make_items(participant, questionnaire, rows, posted, reading),
        "missing": len(reading.errors) if reading else 0,
        "more": bool(reading and reading.unseen and not reading.errors),
    }


def make_items(
    participant: Participant,
    questionnaire: Questionnaire,
    items: Sequence[Item],
    posted: Any = None,
    reading: Reading | None = None,
) -> list[ShownItem]:
    errors: Mapping[int, str] = reading.errors if reading else {}
    own = {item.pk for item in items}
    earlier = answering.find_earlier_values(participant, items)
    values = dict(earlier)
    if posted is not None:
        values |= {item.pk: _read_leniently(item, posted) for item in items}
    shown = answering.find_shown(items, values)
    if participant.pk is None:  # the preview does not know the answers to earlier questionnaires
        shown |= {item.pk for item in items if item.shown_when_id and item.shown_when_id not in own}
    ordered = answering.order_items(participant, questionnaire, items)
    needing = [item.pk for item in ordered if item.pk in errors or (reading and item.pk in reading.unseen)]
    return [
        _make_item(participant, item, posted, errors.get(item.pk, ""), item.pk in shown, own, needing[:1] == [item.pk])
        for item in ordered
    ]


def _make_item(
    participant: Participant, item: Item, posted: Any, error: str, visible: bool, own: set[int], focus: bool
) -> ShownItem:
    name = answering.name_field(item)
    codes = KINDS[item.kind].list_codes(item)
    steps = list_steps(item)
    rows = [
        (f"{name}-{row}", words, _make_choices(f"{name}-{row}", steps, posted))
        for row, words in answering.order_rows(participant, item)
    ]
    open_row = next((field for field, _, choices in rows if not any(choice.chosen for choice in choices)), "")
    return ShownItem(
        item=item,
        name=name,
        choices=_make_choices(name, codes, posted, KINDS[item.kind].find_open_code(item)),
        rows=[(field, words, choices, focus and field == open_row) for field, words, choices in rows],
        value=posted.get(name, "") if posted is not None else "",
        error=error,
        visible=visible,
        when=f"item-{item.shown_when_id}" if item.shown_when_id in own else "",
        codes=" ".join(map(str, item.shown_codes)),
        focus=focus,
    )


def _make_choices(
    field: str, codes: Sequence[tuple[int, str]], posted: Any, open_code: int | None = None
) -> list[Choice]:
    given = posted.getlist(field) if posted is not None else []
    choices = [Choice(field, code, words, str(code) in given) for code, words in codes]
    if open_code is None:
        return choices
    name = own_words.name_field(field)
    text = posted.get(name, "") if posted is not None else ""
    return [replace(one, text_field=name, text=text) if one.code == open_code else one for one in choices]


def _read_leniently(item: Item, posted: Any) -> Any:
    """The value that a form gives; None where it cannot be stored."""
    try:
        return KINDS[item.kind].read(item, answering.name_field(item), posted)
    except ValueError:
        return None
