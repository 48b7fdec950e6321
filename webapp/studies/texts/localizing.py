"""Rows with their texts in another language. They are for showing: nobody saves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

from django.db.models import Manager, Model

from webapp.studies.models import Arm, Question, Study
from webapp.studies.models.languages import StudyTranslation

STUDY_FIELDS = ("title", "consent_text", "contact", "instructions", "debriefing", "thanks_text")
QUESTION_FIELDS = ("text", "answers", "explanation")
Row = TypeVar("Row", bound=Model)


class Owner(Protocol):
    """A study or an A/B vote."""

    language: str
    translations: Any
    spoken: Mapping[str, str]


def read_translations(owner: Owner, language: str) -> dict[str, str]:
    """Source -> text in this language; empty for the owner's own language."""
    if language == owner.language:
        return {}
    rows: Manager[StudyTranslation] = owner.translations
    return dict(rows.filter(language=language).exclude(text="").values_list("source", "text"))


def localize_row(row: Model, fields: Iterable[str], words: Mapping[str, str]) -> None:
    for field in fields:
        source = getattr(row, field)
        setattr(row, field, words.get(normalize(source), source))


def normalize(source: str) -> str:
    """Browsers send lines with carriage returns; a text is the same without them."""
    return source.replace("\r\n", "\n").strip()


def localize_study(study: Study, language: str) -> None:
    """Put the study's texts in this language; where one is missing, it stays in the study's own."""
    words = read_translations(study, language)
    localize_row(study, STUDY_FIELDS, words)
    study.spoken = words


def find_language(owner: Owner, text: str, page: str) -> str:
    """The language of a text, or of one line of it, where it is not that of the page; else empty."""
    if not text or page == owner.language:
        return ""
    translated = any(text == words or text in map(str.strip, words.splitlines()) for words in owner.spoken.values())
    return "" if translated else owner.language


def list_questions(study: Study, arms: Iterable[Arm]) -> list[Question]:
    """The comprehension check of people in these arms, in the language of `localize_study`."""
    asked = ["", *{"pairs" if arm.asks_pairs else "rounds" for arm in arms}]
    return localize_rows(study, study.questions.filter(asked_of__in=asked), QUESTION_FIELDS)


def localize_rows(study: Study, rows: Iterable[Row], fields: Iterable[str]) -> list[Row]:
    """Rows of a study in the language of `localize_study`."""
    found = list(rows)
    for row in found:
        localize_row(row, fields, study.spoken)
    return found
