"""Prefine's own words for a study's texts: proposed in each of its languages, until an experimenter changes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext, override

from webapp.studies import consent, proposals
from webapp.studies.models import Study
from webapp.studies.models.languages import StudyTranslation, hash_source
from webapp.studies.questionnaires import ready_made
from webapp.studies.starts import TITLE
from webapp.studies.texts.localizing import localize_row, normalize, read_translations
from webapp.studies.texts.registry import SOURCES, list_texts


@dataclass(frozen=True)
class Before:
    """A study's texts, and what Prefine proposed, before a change."""

    language: str
    consents: dict[str, str]
    """Language -> the consent text that the facts made."""
    offered: set[tuple[str, str]]
    """Each further language with each text."""


def note_texts(study: Study) -> Before:
    """Call it before a change, with the study as it is in the database; then `propose_texts`."""
    offered = _list_offered(study) if study.pk else set()
    return Before(study.language, consent.write_consents(study, study.offered_languages), offered)


def propose_texts(study: Study, before: Before) -> None:
    """Put Prefine's own words into the study's languages. What an experimenter wrote, or emptied, stays so."""
    if study.language != before.language and study.status == Study.Status.DRAFT:
        _tell_in(study, before.language)
    if consent.follow_facts(study, before.consents[before.language]):
        study.save(update_fields=["consent_text"])
        _drop_consents(study, before)
    consents = consent.write_consents(study, study.offered_languages)
    rows = []
    for language in study.offered_languages[1:]:
        words = map_words(study, study.language, language)
        words[consents[study.language]] = consents[language]
        there = read_translations(study, language)
        new = {source for code, source in _list_offered(study) - before.offered if code == language}
        rows += [
            _translate(study, language, source, words) for source in new if source in words and source not in there
        ]
    StudyTranslation.objects.bulk_create(rows, ignore_conflicts=True)


def map_words(study: Study, own: str, other: str) -> dict[str, str]:
    """Each text that Prefine proposes, but for consent: in one language -> in the other."""
    english = [TITLE, *proposals.list_words(), *ready_made.list_words()]
    with override(own):
        sources = list(map(gettext, english))
    with override(other):
        words = dict(zip(sources, map(gettext, english), strict=True))
    if number := re.fullmatch(rf"{re.escape(sources[0])}( \d+)", study.title):
        words[study.title] = words[sources[0]] + number[1]
    return words


def _list_offered(study: Study) -> set[tuple[str, str]]:
    return {(code, text.source) for text in list_texts(study) for code in study.offered_languages[1:]}


def _tell_in(study: Study, former: str) -> None:
    """The study's own language has changed: put Prefine's words into it."""
    words = map_words(study, former, study.language)
    for kind in SOURCES:
        for row in kind.find_rows(study):
            changed = [name for name in kind.fields if normalize(getattr(row, name)) in words]
            if changed:
                localize_row(row, changed, words)
                row.save(update_fields=changed)


def _drop_consents(study: Study, before: Before) -> None:
    """Delete what was proposed for the former facts in other languages."""
    key = hash_source(before.consents[before.language])
    study.translations.filter(source_hash=key, text__in=before.consents.values()).delete()


def _translate(study: Study, language: str, source: str, words: dict[str, str]) -> StudyTranslation:
    values = {"source": source, "source_hash": hash_source(source), "text": words[source]}
    return StudyTranslation(study=study, language=language, **values)
