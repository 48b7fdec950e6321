"""Participants' pages in their own language: whole catalogs, the choice of a language, experimenters' own texts."""

from __future__ import annotations

import gettext
import gzip
import re
from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import translation
from django.utils.translation import to_language

from tests.webapp import rows
from webapp.management import catalogs
from webapp.problems.forms import get_form
from webapp.problems.forms.form import TriedSource
from webapp.review import ballot
from webapp.review.screenings import find_screening
from webapp.studies import enrolment
from webapp.studies.models import Participant, Study
from webapp.studies.models.languages import StudyTranslation, hash_source
from webapp.studies.texts.localizing import find_language
from webapp.studio import practice_answers
from webapp.studio.page_language import find_words_address
from webapp.studio.presentations import make_lead

LOCALES = catalogs.list_locales()
GERMAN = {"headers": {"accept-language": "de-AT,en;q=0.5"}}


@pytest.mark.slow
@pytest.mark.parametrize("domain", catalogs.DOMAINS)
@pytest.mark.parametrize("locale", LOCALES)
def test_every_string_is_translated(locale, domain):
    template, catalog = catalogs.extract(domain), catalogs.read(locale, domain)
    wanted = {(message.context, message.id) for message in template if message.id}
    there = {(message.context, message.id) for message in catalog if message.id}
    assert wanted == there, "run ./prefine manage translate"
    faults = [
        (message.id, fault) for message in catalog if (fault := catalogs.find_fault(message, catalog.num_plurals))
    ]
    assert [row for row in faults if row[0]] == []


@pytest.mark.parametrize("domain", catalogs.DOMAINS)
@pytest.mark.parametrize("locale", LOCALES)
def test_the_compiled_catalog_is_the_written_one(locale, domain):
    with catalogs.find_file(locale, domain).with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for message in catalogs.read(locale, domain):
        if message.id and not message.pluralizable and not message.context:
            assert compiled.gettext(message.id) == message.string


@pytest.mark.parametrize("locale", LOCALES)
def test_the_practice_problem_has_the_same_numbers(locale):
    language = to_language(locale)
    with translation.override(language):
        problem = practice_answers.make_problem()
        texts = [problem.statement, *(sample.text for sample in practice_answers.SAMPLES.values())]
        finals = [get_form(problem).summarize(problem, TriedSource(text)) for text in texts[1:]]
    assert list(map(find_numbers, finals)) == [["32.40"], ["32.40"], ["32"], ["36.90"]]
    english = [practice_answers.STATEMENT, *(sample.text for sample in practice_answers.SAMPLES.values())]
    assert list(map(find_numbers, texts)) == list(map(find_numbers, english)) and problem.statement != english[0]


def find_numbers(text: str) -> list[str]:
    return sorted(re.findall(r"\d+(?:\.\d+)?", text.replace("{,}", ".")))


@pytest.fixture
def study(db):
    text = "You watch ants and say which one runs best. " * 2
    return rows.study(title="Ants that run", consent_text=text, other_languages=["de"])


def person_in(study, label="P01"):
    return Participant.objects.create(study=study, label=label)


def read(client, path, **more):
    response = client.get(path, **more)
    return response.content.decode()


def test_a_study_without_further_languages_is_in_its_own(study, client):
    study.other_languages = []
    study.save()
    page = read(client, person_in(study).get_absolute_url(), **GERMAN)
    assert '<html lang="en">' in page and "Agree and begin" in page and "Deutsch" not in page


def test_the_browser_chooses_among_the_languages_of_a_study(study, client):
    page = read(client, person_in(study).get_absolute_url(), **GERMAN)
    assert '<html lang="de">' in page and "Zustimmen und beginnen" in page
    assert "Agree and begin" in read(
        client, person_in(study, "P02").get_absolute_url(), headers={"accept-language": "fi"}
    )


@pytest.mark.parametrize("asked", ["zh-CN", "zh-Hans-CN", "zh"])
def test_a_chinese_browser_gets_simplified_chinese(study, client, asked):
    study.other_languages = ["de", "zh-hans"]
    study.save()
    address = person_in(study).get_absolute_url()
    page = read(client, address, headers={"accept-language": f"{asked},en;q=0.5"})
    assert '<html lang="zh-hans">' in page and "同意并开始" in page
    assert 'value="de" lang="de"' in page
    client.post(reverse("choose_language"), {"language": "zh-hans", "next": address})
    assert '<html lang="zh-hans">' in read(client, address, **GERMAN)


def test_a_text_names_its_language_where_the_page_has_another():
    study = Study(language="en")
    study.spoken = {"Yes\nNo": "Ja\r\nNein"}
    found = [find_language(study, text, "de") for text in ("Ja\r\nNein", "Nein", "Maybe", "")]
    assert found == ["", "", "en", ""] and find_language(study, "Maybe", "en") == ""


def test_a_person_chooses_a_language_and_keeps_it_on_another_device(study, client):
    person = person_in(study)
    assert enrolment.accept_consent(person) == ""
    address = person.get_absolute_url()
    answer = client.post(reverse("choose_language"), {"language": "de", "next": address})
    assert answer.status_code == 302 and answer["Location"] == address
    assert '<html lang="de">' in read(client, address)
    assert '<html lang="de">' in read(Client(), address, headers={"accept-language": "en"})


def test_the_choice_leads_to_no_other_site(client, db):
    answer = client.post(reverse("choose_language"), {"language": "de", "next": "https://elsewhere.example/"})
    assert answer["Location"] == reverse("home")


def test_scripts_read_the_time_to_undo_in_languages_with_a_comma(study, client):
    person = rows.participant(study)
    rows.create_round(person)
    request = rows.open_judgement(person)
    ballot.cast_vote(person, find_screening(request, person).token, ballot.Choice(best="A", worst="B"))
    with translation.override("de"):
        voting = {"undo": "t", "undo_seconds": 7.26, "evaluator": SimpleNamespace(token="t")}
        pages = [read(client, person.get_absolute_url(), **GERMAN), render_to_string("studio/votes/_undo.html", voting)]
    seconds = [re.search(r'data-seconds="([^"]*)"', page)[1] for page in pages]
    assert all(map(float, seconds)) and seconds[1] == "7.3"


@pytest.mark.slow
def test_staff_pages_are_in_english(admin_client, study):
    page = read(admin_client, reverse("bench:study", args=[study.pk]), **GERMAN)
    assert 'lang="en"' in page
    assert "Run the selected action" in read(admin_client, reverse("admin:studies_study_changelist"), **GERMAN)


def test_consent_is_to_the_text_in_the_language_that_was_read(study, client):
    german = "Sie sehen Ameisen und sagen, welche am besten läuft. Freiwillig und jederzeit ohne Gründe beendbar."
    source = study.consent_text.strip()
    StudyTranslation.objects.create(
        study=study, language="de", source=source, source_hash=hash_source(source), text=german
    )
    person = person_in(study)
    page = read(client, person.get_absolute_url(), **GERMAN)
    assert german in page
    seen = re.search(r'name="hash" value="(\w+)"', page)
    client.post(reverse("consent", args=[person.token]), {"hash": seen[1], "agree": "yes"}, **GERMAN)
    person.refresh_from_db()
    kept = study.consent_texts.get(hash=person.consent_hash)
    assert (person.consent_language, person.language, kept.language, kept.text) == ("de", "de", "de", german)


def test_a_text_without_translation_is_in_the_studys_own_language(study, client):
    person = person_in(study)
    source, text = "Ants that run", "Ameisen, die laufen"
    StudyTranslation.objects.create(
        study=study, language="de", source=source, source_hash=hash_source(source), text=text
    )
    page = read(client, person.get_absolute_url(), **GERMAN)
    assert '<div lang="en"><p>You watch ants' in page and "<h1>Ameisen, die laufen</h1>" in page
    seen = re.search(r'name="hash" value="(\w+)"', page)
    client.post(reverse("consent", args=[person.token]), {"hash": seen[1], "agree": "yes"}, **GERMAN)
    person.refresh_from_db()
    assert (person.consent_language, person.language) == ("en", "de")


@pytest.mark.slow
def test_experimenters_write_their_texts_in_other_languages(study, admin_client):
    page = reverse("bench:study_texts", args=[study.pk, "de"])
    key = hash_source(study.title)
    assert key in read(admin_client, page)
    admin_client.post(page, {key: "Ameisen, die laufen"})
    assert "1 of" in read(admin_client, reverse("bench:study_step", args=[study.pk, "texts"]))
    back = admin_client.post(page, {key: "Ameisen, die laufen", "then": "back"})
    assert back.url == reverse("bench:study_step", args=[study.pk, "texts"]) + "#languages"
    assert "Ameisen, die laufen" in read(Client(), person_in(study).get_absolute_url(), **GERMAN)
    study.title = "Ants that walk"
    study.save()
    assert "Ameisen, die laufen" not in read(admin_client, page)


@pytest.mark.parametrize(("language", "joined"), [("ja", "ます。全"), ("zh-hans", "。共"), ("de", ". ")])
def test_sentences_are_joined_as_the_language_does(study, language, joined):
    with translation.override(language):
        lead = make_lead(study.arms.all(), 1)
    assert joined in lead and "。 " not in lead and lead == lead.strip()


def test_the_words_of_the_scripts_are_served_for_good_and_compressed(client):
    answer = client.get(find_words_address("de"), HTTP_ACCEPT_ENCODING="gzip")
    assert "Abspielen" in gzip.decompress(answer.content).decode() and "immutable" in answer["Cache-Control"]
