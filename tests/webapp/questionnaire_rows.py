"""Questionnaires for tests."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from webapp.studies.models import Answer, Item, Participant, Questionnaire, Response, Study
from webapp.studies.questionnaires.answering import hash_items, list_items


def questionnaire(study: Study, title: str = "About you", **values: Any) -> Questionnaire:
    return Questionnaire.objects.create(study=study, title=title, position=study.questionnaires.count(), **values)


def item(of: Questionnaire, variable: str, kind: str, **values: Any) -> Item:
    given = {"text": f"What about {variable}?", "position": of.items.count(), **values}
    return Item.objects.create(questionnaire=of, variable=variable, kind=kind, **given)


def every_kind(study: Study, **values: Any) -> Questionnaire:
    """One item of each kind; `job_text` is shown to those who chose "Other"."""
    made = questionnaire(study, **values)
    item(made, "welcome", "section", text="First something about yourself.")
    item(made, "age", "number", lowest=16, highest=99, unit="years")
    job = item(made, "job", "single", options="Student\nResearcher\nOther")
    item(made, "job_text", "short", shown_when=job, shown_codes=[3])
    item(made, "seen", "multiple", options="Films\nFactories\nAt home", required=False)
    item(made, "trust", "scale", steps=5, low_label="not at all", high_label="fully")
    item(made, "calm", "grid", statements="It was slow.\nIt was calm.", steps=5, low_label="no", high_label="yes")
    item(made, "remark", "long", required=False)
    return made


def scored(study: Study, **values: Any) -> Questionnaire:
    """A System Usability Scale."""
    made = questionnaire(study, "How usable, and why?", score="sus", **values)
    rows = "\n".join("abcdefghij")
    item(made, "sus", "grid", statements=rows, steps=5, low_label="no", high_label="yes")
    return made


def answer_scored(of: Questionnaire, person: Participant, positive: int, **values: Any) -> Response:
    """Odd rows get the step `positive`, even rows 3: the score is 12.5 times (positive - 1) + 25."""
    response = Response.objects.create(questionnaire=of, participant=person, sent_at=timezone.now(), **values)
    given = {str(row): positive if row % 2 else 3 for row in range(1, 11)}
    Answer.objects.create(response=response, item=of.items.get(), value=given)
    return response


def rated(study: Study, **values: Any) -> Questionnaire:
    """A grid of two rows, without a score."""
    made = questionnaire(study, "How was it?", **values)
    item(made, "felt", "grid", statements="It was slow.\nIt was calm.", steps=5, low_label="no", high_label="yes")
    return made


def answer_rating(of: Questionnaire, person: Participant, step: int, **values: Any) -> Response:
    """The first row gets this step, the second the one that mirrors it."""
    response = Response.objects.create(questionnaire=of, participant=person, sent_at=timezone.now(), **values)
    Answer.objects.create(response=response, item=of.items.get(), value={"1": step, "2": 6 - step})
    return response


def fields(person: Participant, of: Questionnaire, **answers: Any) -> dict[str, Any]:
    """The fields of the form as a browser sends it: `answers` by variable, rows of a grid as calm_1, own words as
    job_other.
    """
    items = list_items(of)
    posted: dict[str, Any] = {
        "response": of.responses.get(participant=person, sent_at=None).pk,
        "version": hash_items(of, items),
        "shown": [one.pk for one in items if one.shown_when_id is None],
    }
    for variable, value in answers.items():
        exact = next((one for one in items if one.variable == variable), None)
        stem, _, part = variable.rpartition("_")
        found = exact or next(one for one in items if one.variable == stem)
        posted[f"item-{found.pk}" if exact else f"item-{found.pk}-{part}"] = value
    return posted


COMPLETE: dict[str, Any] = {"age": "31", "job": 1, "trust": 4, "calm_1": 2, "calm_2": 5}
