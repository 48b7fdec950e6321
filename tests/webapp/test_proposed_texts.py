"""Prefine's own words for a study's texts, in each language of the study."""

import pytest
from django.db.models import CharField
from django.utils.translation import gettext, override, to_language

from tests.webapp import rows
from webapp.management import catalogs
from webapp.studies import proposals, starts
from webapp.studies.models import Question
from webapp.studies.questionnaires import ready_made
from webapp.studies.questionnaires.models import ITEM_FIELDS, Item
from webapp.studies.texts import proposed
from webapp.studies.texts.localizing import read_translations
from webapp.studies.texts.registry import list_texts
from webapp.studio.templatetags.studio import reason

LANGUAGES = [to_language(locale) for locale in catalogs.list_locales()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_proposed_text_is_translated_line_by_line_and_fits_its_field(language):
    words = [*proposals.list_words(), *ready_made.list_words()]
    with override(language):
        said = list(map(gettext, words))
        for one in ready_made.READY_MADE.values():
            for item in one.items:
                for name in set(ITEM_FIELDS) & set(item):
                    field = Item._meta.get_field(name)
                    if isinstance(field, CharField):
                        assert len(gettext(item[name])) <= field.max_length
        for row in (*proposals.ABOUT_FILMS, *proposals.ABOUT_ANSWERS):
            assert all(
                len(gettext(row[name])) <= Question._meta.get_field(name).max_length for name in ("text", "explanation")
            )
    for english, other in zip(words, said, strict=True):
        assert other != english and len(other.splitlines()) == len(english.splitlines())


@pytest.fixture
def study(db):
    study = starts.start_study("Ant", ["icpl"])
    change(study, contact="ada@example.org", other_languages=["de", "ja"])
    return study


def change(study, **values):
    before = proposed.note_texts(type(study).objects.get(pk=study.pk))
    for name, value in values.items():
        setattr(study, name, value)
    study.save()
    proposed.propose_texts(study, before)


def add(study, questionnaire):
    before = proposed.note_texts(study)
    proposals.propose_questions(study)
    ready_made.add_ready_made(study, questionnaire)
    proposed.propose_texts(study, before)


def test_texts_are_proposed_in_every_language_that_a_study_offers(study):
    study.other_languages = []
    study.save()
    add(study, "sus")
    change(study, other_languages=LANGUAGES)
    for language in LANGUAGES:
        words = read_translations(study, language)
        assert {text.source for text in list_texts(study)} - set(words) == {study.contact}
        assert "ada@example.org" in words[study.consent_text]


def test_a_translated_consent_follows_the_facts_and_leaves_none_behind(study):
    change(study, retention_days=90)
    assert "90 Tage" in read_translations(study, "de")[study.consent_text]
    assert study.translations.filter(language="de", text__contains="Zweck").count() == 1


def test_what_an_experimenter_wrote_or_emptied_stays(study):
    change(study, other_languages=["de", "ja", "fr"])
    study.translations.filter(language="fr").delete()
    change(study, instructions="Look at the legs.")
    assert read_translations(study, "fr") == {}
    change(study, consent_text="Our own words. " * 5)
    assert study.consent_text.strip() not in read_translations(study, "de")


def test_a_draft_in_another_language_is_told_in_it(study):
    add(study, "tlx")
    change(study, language="de", other_languages=["en"])
    assert study.title == "Robotern beim Lernen zusehen" and study.consent_text.startswith("Zweck.")
    assert study.questions.first().text == "Was tun Sie in jeder Runde?"
    assert study.questionnaires.get().items.first().low_label == "Sehr gering"
    assert read_translations(study, "en")[study.consent_text].startswith("Purpose.")


def test_reasons_of_a_study_are_shown_in_the_readers_language(db):
    study = rows.study(reasons_best="fast\nsteady")
    study.spoken = {"fast\nsteady": "schnell\nruhig"}
    assert reason(study, "steady") == "ruhig" and reason(study, "other") == "other"
