"""Setting up questionnaires: move, duplicate, delete, and what is wrong with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from django.db import transaction
from django.db.models import Max, QuerySet

from webapp.studies.models import Study
from webapp.studies.models.questionnaires import Item, Questionnaire
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.questionnaires.moments import place_questionnaire
from webapp.studies.questionnaires.scores import SCORES

ANSWERED = (
    "Somebody has answered this questionnaire, so that its questions are fixed. Duplicate it, change the copy, and "
    "stop showing this one."
)
Row = TypeVar("Row", Item, Questionnaire)
LONGEST = Item._meta.get_field("variable").max_length or 40


class Fixed(ValueError):
    """A change that is refused; its text says why."""


def lock(questionnaire: Questionnaire) -> Questionnaire:
    """The row, locked until the transaction ends, for a change of its questions. Raises Fixed if somebody has answered
    it. Answers of pilots are deleted, because they answered other questions.
    """
    row = Questionnaire.objects.select_for_update(no_key=True).get(pk=questionnaire.pk)
    if row.answered:
        raise Fixed(ANSWERED)
    row.responses.all().delete()
    return row


def list_earlier_items(item: Item) -> list[Item]:
    """The items that this one can depend on: with codes, and asked before it."""
    questionnaire = item.questionnaire
    found = Item.objects.filter(questionnaire__study=questionnaire.study_id).exclude(pk=item.pk)
    own_place = (
        *place_questionnaire(questionnaire),
        len(questionnaire.items.all()) if item.pk is None else item.position,
    )
    rows = found.select_related("questionnaire")
    able = [row for row in rows if KINDS[row.kind].list_codes(row)]
    before = [row for row in able if (*place_questionnaire(row.questionnaire), row.position) < own_place]
    return sorted(before, key=lambda row: (*place_questionnaire(row.questionnaire), row.position))


def find_faults(questionnaire: Questionnaire) -> Iterator[str]:
    """What must be mended before people are asked, for experimenters."""
    items = list(questionnaire.items.all())
    if questionnaire.active and not items:
        yield "It has no questions yet."
    if questionnaire.arms and not questionnaire.study.arms.filter(pk__in=questionnaire.arms).exists():
        yield "It is limited to arms that do not exist any more."
    if questionnaire.score in SCORES and (fault := SCORES[questionnaire.score].find_fault(items)):
        yield fault
    for item in items:
        for words in KINDS[item.kind].find_faults(item).values():
            yield f"“{item.variable}”: {words}"
        if item.shown_when and item.shown_when not in list_earlier_items(item):
            yield f"“{item.variable}” depends on “{item.shown_when.variable}”, which is asked later: it is never shown."


def find_study_faults(study: Study) -> list[str]:
    """The same for all questionnaires of a study that are shown, and columns of the export with the same name."""
    shown = study.questionnaires.filter(active=True)
    faults = [f"Questionnaire “{one}”: {words}" for one in shown for words in find_faults(one)]
    return faults + [
        f"Two questions would have the column “{name}” in the export." for name in find_equal_columns(study)
    ]


def find_equal_columns(study: Study) -> list[str]:
    """Names that two questions give to their columns: job_other is that of job's own words, too."""
    items = Item.objects.filter(questionnaire__study=study)
    names = Counter(column.name for item in items for column in KINDS[item.kind].list_columns(item))
    return [name for name, count in names.items() if count > 1]


def list_variables(study: Study) -> set[str]:
    return set(Item.objects.filter(questionnaire__study=study).values_list("variable", flat=True))


def choose_variable(wanted: str, taken: set[str]) -> str:
    """The name, with a number behind it if another item of the study has it."""
    stem = wanted[: LONGEST - 4]
    number = 2
    name = wanted
    while name in taken:
        name, number = f"{stem}_{number}", number + 1
    return name


def suggest_variable(text: str, taken: set[str]) -> str:
    """A name from the first words of the question."""
    words = re.findall(r"[A-Za-z0-9]+", text.lower())[:3]
    name = "_".join(words)[: LONGEST - 4]
    return choose_variable(name if name[:1].isalpha() else f"q_{name}".rstrip("_"), taken)


def find_next_position(rows: QuerySet[Item] | QuerySet[Questionnaire]) -> int:
    last = rows.aggregate(last=Max("position"))["last"]
    return 0 if last is None else last + 1


def move(row: Row, siblings: Sequence[Row], step: int) -> None:
    """Change places with the neighbour above (-1) or below (1)."""
    rows = list(siblings)
    at = next(place for place, other in enumerate(rows) if other.pk == row.pk)
    to = min(max(at + step, 0), len(rows) - 1)
    rows.insert(to, rows.pop(at))
    for place, other in enumerate(rows):
        if other.position != place:
            other.position = place
            other.save(update_fields=["position"])


@transaction.atomic
def duplicate_item(item: Item) -> Item:
    """A copy right below the item."""
    questionnaire = lock(item.questionnaire)
    copy = _copy_item(item, questionnaire, list_variables(questionnaire.study))
    siblings = [row for row in questionnaire.items.all() if row.pk != copy.pk]
    siblings.insert(next(place for place, row in enumerate(siblings) if row.pk == item.pk) + 1, copy)
    for place, row in enumerate(siblings):
        Item.objects.filter(pk=row.pk).update(position=place)
    return copy


@transaction.atomic
def duplicate(questionnaire: Questionnaire) -> Questionnaire:
    """A copy in the same study, which nobody is asked before it is switched on."""
    copy = copy_questionnaire(questionnaire, questionnaire.study, {}, list_variables(questionnaire.study))
    copy.title = f"Copy of {questionnaire.title}"[: Questionnaire._meta.get_field("title").max_length or 120]
    copy.active, copy.position = False, find_next_position(questionnaire.study.questionnaires.exclude(pk=copy.pk))
    copy.save()
    return copy


def copy_questionnaires(study: Study, copy: Study, arms: Mapping[int, int]) -> None:
    """Copy all questionnaires of a study into its copy. `arms`: primary keys there -> here."""
    new_items: dict[int, Item] = {}
    for questionnaire in study.questionnaires.all():
        copy_questionnaire(questionnaire, copy, new_items, set(), arms)
    for item in new_items.values():  # an item may depend on one of a questionnaire that is copied later
        if item.shown_when_id in new_items:
            item.shown_when = new_items[item.shown_when_id]
            item.save(update_fields=["shown_when"])


def copy_questionnaire(
    questionnaire: Questionnaire,
    study: Study,
    new_items: dict[int, Item],
    taken: set[str],
    arms: Mapping[int, int] | None = None,
) -> Questionnaire:
    """Copy it with its items into the study. Adds to `new_items`: primary key of an item -> its copy."""
    copy = Questionnaire.objects.get(pk=questionnaire.pk)
    copy.pk, copy._state.adding, copy.study = None, True, study
    if arms is not None:
        copy.arms = [arms[pk] for pk in questionnaire.arms if pk in arms]
    copy.save()
    own = {item.pk: _copy_item(item, copy, taken) for item in questionnaire.items.all()}
    for item in own.values():
        if item.shown_when_id in own:
            item.shown_when = own[item.shown_when_id]
            item.save(update_fields=["shown_when"])
    new_items |= own
    return copy


def _copy_item(item: Item, questionnaire: Questionnaire, taken: set[str]) -> Item:
    copy = Item.objects.get(pk=item.pk)
    copy.pk, copy._state.adding, copy.questionnaire = None, True, questionnaire
    copy.variable = choose_variable(item.variable, taken)
    copy.save()
    taken.add(copy.variable)
    return copy
