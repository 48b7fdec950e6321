"""Questionnaires that are added by one click. Their texts are a study's own from then on and can be changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from webapp.studies.models import Study
from webapp.studies.questionnaires.editing import choose_variable, find_next_position, list_variables
from webapp.studies.questionnaires.models import Item, Questionnaire

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
        "title": "About you",
        "intro": "These questions help us to describe who took part. Nobody can tell from them who you are.",
        "placement": Placement.BEFORE,
    },
    items=(
        {
            "variable": "age",
            "kind": "number",
            "text": "How old are you?",
            "lowest": 16,
            "highest": 120,
            "unit": "years",
        },
        {
            "variable": "gender",
            "kind": "single",
            "text": "What is your gender?",
            "options": "Woman\nMan\nNon-binary\nI describe it myself\nI prefer not to say",
        },
        {
            "variable": "gender_own",
            "kind": "short",
            "text": "How do you describe it?",
            "required": False,
            "shown_when": "gender",
            "shown_codes": [4],
        },
        {
            "variable": "robots",
            "kind": "scale",
            "text": "How much experience do you have with robots?",
            "steps": 7,
            "low_label": "none",
            "high_label": "a great deal",
        },
        {
            "variable": "programming",
            "kind": "scale",
            "text": "How much experience do you have with programming?",
            "steps": 7,
            "low_label": "none",
            "high_label": "a great deal",
        },
    ),
)
TLX = ReadyMade(
    name="tlx",
    title="NASA-TLX: workload",
    about="Six scales of 21 steps, scored without weights from 0 to 100. Hart and Staveland (1988); without weights: "
    "Hart (2006).",
    questionnaire={
        "title": "How was it for you?",
        "intro": "Please rate the rounds that you have just judged.",
        "placement": Placement.AFTER,
        "score": Score.TLX,
    },
    items=[
        {"variable": f"tlx_{name}", "kind": "scale", "text": text, "steps": 21, "low_label": low, "high_label": high}
        for name, text, low, high in (
            ("mental", "Mental demand. How mentally demanding was the task?", "Very low", "Very high"),
            ("physical", "Physical demand. How physically demanding was the task?", "Very low", "Very high"),
            ("temporal", "Temporal demand. How hurried or rushed was the pace of the task?", "Very low", "Very high"),
            (
                "performance",
                "Performance. How successful were you in accomplishing what you were asked to do?",
                "Perfect",
                "Failure",
            ),
            (
                "effort",
                "Effort. How hard did you have to work to accomplish your level of performance?",
                "Very low",
                "Very high",
            ),
            (
                "frustration",
                "Frustration. How insecure, discouraged, irritated, stressed and annoyed were you?",
                "Very low",
                "Very high",
            ),
        )
    ],
)
SUS = ReadyMade(
    name="sus",
    title="System Usability Scale",
    about="Ten statements in five steps, scored from 0 to 100. Brooke (1996), who allows its use with this reference.",
    questionnaire={
        "title": "How usable was it?",
        "intro": "Please think of the pages on which you watched and chose, and say how far you agree.",
        "placement": Placement.AFTER,
        "score": Score.SUS,
    },
    items=(
        {
            "variable": "sus",
            "kind": "grid",
            "text": "How far do you agree with these statements?",
            "steps": 5,
            "low_label": "Strongly disagree",
            "high_label": "Strongly agree",
            "statements": "\n".join(
                (
                    "I think that I would like to use this system frequently.",
                    "I found the system unnecessarily complex.",
                    "I thought the system was easy to use.",
                    "I think that I would need the support of a technical person to be able to use this system.",
                    "I found the various functions in this system were well integrated.",
                    "I thought there was too much inconsistency in this system.",
                    "I would imagine that most people would learn to use this system very quickly.",
                    "I found the system very cumbersome to use.",
                    "I felt very confident using the system.",
                    "I needed to learn a lot of things before I could get going with this system.",
                )
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
    made = Questionnaire.objects.create(study=study, position=position, **chosen.questionnaire)
    taken = list_variables(study)
    items: dict[str, Item] = {}
    for place, fields in enumerate(chosen.items):
        given = dict(fields)
        wanted = given["variable"]
        given["variable"] = choose_variable(wanted, taken)
        given["shown_when"] = items.get(given.get("shown_when", ""))
        items[wanted] = Item.objects.create(questionnaire=made, position=place, **given)
        taken.add(given["variable"])
    return made
