"""Questionnaires that are added by one click, in the study's language. Their texts are its own from then on.

The translations are Prefine's own: none of them was validated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext, override
from django.utils.translation import gettext_noop as _

from webapp.studies.models import Study
from webapp.studies.models.questionnaires import ITEM_FIELDS, QUESTIONNAIRE_FIELDS, Item, Questionnaire
from webapp.studies.questionnaires.editing import choose_variable, find_next_position, list_variables

Placement, Score = Questionnaire.Placement, Questionnaire.Score


@dataclass(frozen=True)
class ReadyMade:
    name: str
    title: str
    about: str
    """For experimenters: what it measures, and where it comes from."""
    questionnaire: dict[str, Any]
    items: Sequence[dict[str, Any]]
    """Fields of the items; `shown_when` is the variable of an earlier one."""


DEMOGRAPHICS = ReadyMade(
    name="demographics",
    title="About the person",
    about="Age, gender, and experience with robots and programming. Five short questions.",
    questionnaire={
        "title": _("About you"),
        "intro": _("These questions help us to describe who took part. Nobody can tell from them who you are."),
        "placement": Placement.BEFORE,
    },
    items=(
        {
            "variable": "age",
            "kind": "number",
            "text": _("How old are you?"),
            "lowest": 16,
            "highest": 120,
            "unit": _("years"),
        },
        {
            "variable": "gender",
            "kind": "single",
            "text": _("What is your gender?"),
            "options": _("Woman\nMan\nNon-binary\nI describe it myself\nI prefer not to say"),
        },
        {
            "variable": "gender_own",
            "kind": "short",
            "text": _("How do you describe it?"),
            "required": False,
            "shown_when": "gender",
            "shown_codes": [4],
        },
        {
            "variable": "robots",
            "kind": "scale",
            "text": _("How much experience do you have with robots?"),
            "steps": 7,
            "low_label": _("none"),
            "high_label": _("a great deal"),
        },
        {
            "variable": "programming",
            "kind": "scale",
            "text": _("How much experience do you have with programming?"),
            "steps": 7,
            "low_label": _("none"),
            "high_label": _("a great deal"),
        },
    ),
)
VERY_LOW, VERY_HIGH = _("Very low"), _("Very high")
TLX = ReadyMade(
    name="tlx",
    title="NASA-TLX: workload",
    about="Six scales of 21 steps, scored without weights from 0 to 100. Hart and Staveland (1988); without weights: "
    "Hart (2006).",
    questionnaire={
        "title": _("How was it for you?"),
        "intro": _("Please rate the rounds that you have just judged."),
        "placement": Placement.AFTER,
        "score": Score.TLX,
    },
    items=[
        {"variable": f"tlx_{name}", "kind": "scale", "text": text, "steps": 21, "low_label": low, "high_label": high}
        for name, text, low, high in (
            ("mental", _("Mental demand. How mentally demanding was the task?"), VERY_LOW, VERY_HIGH),
            ("physical", _("Physical demand. How physically demanding was the task?"), VERY_LOW, VERY_HIGH),
            ("temporal", _("Temporal demand. How hurried or rushed was the pace of the task?"), VERY_LOW, VERY_HIGH),
            (
                "performance",
                _("Performance. How successful were you in accomplishing what you were asked to do?"),
                _("Perfect"),
                _("Failure"),
            ),
            (
                "effort",
                _("Effort. How hard did you have to work to accomplish your level of performance?"),
                VERY_LOW,
                VERY_HIGH,
            ),
            (
                "frustration",
                _("Frustration. How insecure, discouraged, irritated, stressed and annoyed were you?"),
                VERY_LOW,
                VERY_HIGH,
            ),
        )
    ],
)
SUS = ReadyMade(
    name="sus",
    title="System Usability Scale",
    about="Ten statements in five steps, scored from 0 to 100. Brooke (1996), who allows its use with this reference.",
    questionnaire={
        "title": _("How usable was it?"),
        "intro": _("Please think of the pages on which you watched and chose, and say how far you agree."),
        "placement": Placement.AFTER,
        "score": Score.SUS,
    },
    items=(
        {
            "variable": "sus",
            "kind": "grid",
            "text": _("How far do you agree with these statements?"),
            "steps": 5,
            "low_label": _("Strongly disagree"),
            "high_label": _("Strongly agree"),
            "statements": _(
                "I think that I would like to use this system frequently.\n"
                "I found the system unnecessarily complex.\n"
                "I thought the system was easy to use.\n"
                "I think that I would need the support of a technical person to be able to use this system.\n"
                "I found the various functions in this system were well integrated.\n"
                "I thought there was too much inconsistency in this system.\n"
                "I would imagine that most people would learn to use this system very quickly.\n"
                "I found the system very cumbersome to use.\n"
                "I felt very confident using the system.\n"
                "I needed to learn a lot of things before I could get going with this system."
            ),
        },
    ),
)
READY_MADE: dict[str, ReadyMade] = {one.name: one for one in (DEMOGRAPHICS, TLX, SUS)}


@transaction.atomic
def add_ready_made(study: Study, name: str) -> Questionnaire:
    """Add one to the study. Variables get a number behind them where the study has them already."""
    chosen = READY_MADE[name]
    position = find_next_position(study.questionnaires.all())
    given = translate_fields(chosen.questionnaire, QUESTIONNAIRE_FIELDS, study.language)
    made = Questionnaire.objects.create(study=study, position=position, **given)
    taken = list_variables(study)
    items: dict[str, Item] = {}
    for place, fields in enumerate(chosen.items):
        given = translate_fields(fields, ITEM_FIELDS, study.language)
        wanted = given["variable"]
        given["variable"] = choose_variable(wanted, taken)
        given["shown_when"] = items.get(given.get("shown_when", ""))
        items[wanted] = Item.objects.create(questionnaire=made, position=place, **given)
        taken.add(given["variable"])
    return made


def translate_fields(fields: Mapping[str, Any], names: Sequence[str], language: str) -> dict[str, Any]:
    with override(language):
        return {name: gettext(value) if name in names and value else value for name, value in fields.items()}


def list_words() -> list[str]:
    """Every text of all ready-made questionnaires, in English."""
    found = []
    for one in READY_MADE.values():
        found += [one.questionnaire[name] for name in QUESTIONNAIRE_FIELDS if name in one.questionnaire]
        found += [item[name] for item in one.items for name in ITEM_FIELDS if name in item]
    return found
