"""Prefine's own words for the texts of a study or an A/B vote, in each of its languages."""

import re

import pytest
from django.db.models import CharField
from django.urls import reverse
from django.utils.translation import gettext, override, to_language

from tests.webapp import poll_rows, rows
from tests.webapp.forms import study_form
from webapp.management import catalogs
from webapp.problems import media
from webapp.studies import consent, duration, proposals, starts
from webapp.studies.models import Question
from webapp.studies.models.questionnaires import ITEM_FIELDS, Item
from webapp.studies.questionnaires import ready_made
from webapp.studies.texts import proposed
from webapp.studies.texts.localizing import list_questions, read_translations
from webapp.studies.texts.registry import list_texts
from webapp.studio.templatetags.studio import reason
from webapp.votes import proposals as vote_proposals

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
        for row in (*proposals.ABOUT_FILMS, *proposals.ABOUT_PAIRS, *proposals.ABOUT_ANSWERS):
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


def test_questions_ask_about_pairs_where_every_arm_does(study):
    study.arms.update(method="prefppo", k=1, n=1)
    proposals.propose_questions(study)
    asked = [(row.text, row.answers.splitlines()[0]) for row in study.questions.all()]
    assert asked[0] == (
        "What do you do in each set?",
        "Watch two videos at a time and say which one does it better",
    )
    assert not [text for text, _ in asked if "round" in text]


def test_where_arms_differ_people_are_asked_about_their_own(study):
    study.arms.create(name="B", task="Ant", method="prefppo", k=1, n=1, position=2)
    proposals.propose_questions(study)
    first, second = study.arms.all()
    asked = {arm: [row.text for row in list_questions(study, [arm])] for arm in (first, second)}
    closing = "May you close the page while the robots practise?"
    assert asked[first] == ["What do you do in each round?", "Which one is the best?", closing]
    assert asked[second] == ["What do you do in each set?", "Which one does it better?", closing]
    assert len(list_questions(study, [first, second])) == 5 == study.questions.count()
    assert duration.count_questions(study) == 3


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


def follows_facts(study):
    study.refresh_from_db()
    return study.consent_text == consent.write_consent(study)


@pytest.mark.slow
def test_the_consent_text_follows_the_minutes_that_questionnaires_take(study, admin_client):
    def post(name, *args, **fields):
        before = study.consent_text
        assert admin_client.post(reverse(f"bench:{name}", args=[study.pk, *args]), fields).status_code == 302
        assert follows_facts(study)
        return study.consent_text != before

    post("add_questionnaire")
    one = study.questionnaires.get()
    long_one = {
        "kind": "grid",
        "text": "How was it?",
        "statements": "\n".join(map(str, range(40))),
        "steps": 5,
        "low_label": "bad",
        "high_label": "good",
    }
    assert post("questionnaire_item", one.pk, 0, **long_one), "five minutes more"
    assert post("act_on_questionnaire", one.pk, "off") and post("act_on_questionnaire", one.pk, "on")
    item = one.items.get()
    assert post("act_on_item", one.pk, item.pk, "delete") and post("undo_questionnaire")
    german = read_translations(study, "de")[study.consent_text]
    assert german == consent.write_consents(study, ["de"])["de"]


@pytest.mark.slow
def test_the_consent_text_of_the_admins_form_follows_the_facts(admin_client):
    words = consent.write_consent(type(rows.study())())
    admin_client.post(reverse("admin:studies_study_add"), study_form({}, title="New", consent_text=words))
    study = type(rows.study()).objects.get(title="New")
    assert follows_facts(study) and study.consent_text != words
    form = study_form({}, study=study, title="New", consent_text=study.consent_text, retention_days=90)
    admin_client.post(reverse("admin:studies_study_change", args=[study.pk]), form)
    assert follows_facts(study) and "90 days" in study.consent_text


@pytest.fixture
def poll(db):
    return poll_rows.poll(0, opened=False, **vote_proposals.write_texts(media.films.MEDIUM))


def choose_languages(client, poll, *others, language="en"):
    address = reverse("votes:poll_languages", args=[poll.public_id])
    client.post(address, {"language": language, "other_languages": others})
    poll.refresh_from_db()


def test_a_votes_own_language_is_not_offered_once_more(poll, admin_client):
    def read_offered():
        page = admin_client.get(reverse("votes:poll_languages", args=[poll.public_id])).content.decode()
        choices = re.findall(r'<label for="id_other_languages_\d+"( hidden)?><input [^>]*value="([^"]+)"', page)
        return {value for hidden, value in choices if not hidden}

    assert read_offered() == {*LANGUAGES}
    choose_languages(admin_client, poll, language="de")
    assert read_offered() == {"en", *LANGUAGES} - {"de"}


@pytest.mark.parametrize("medium", [media.films.MEDIUM, media.answers.MEDIUM], ids=["videos", "answers"])
def test_the_texts_of_a_vote_are_proposed_in_its_languages(poll, medium, admin_client):
    for name, words in vote_proposals.write_texts(medium).items():
        setattr(poll, name, words)
    poll.save()
    choose_languages(admin_client, poll, *LANGUAGES)
    for language in LANGUAGES:
        words = read_translations(poll, language)
        assert words.keys() == {poll.consent_text, poll.instructions}
        assert all(words[source].count("\n\n") == source.count("\n\n") for source in words)
        with override(language):
            assert gettext("Leave the study") in words[poll.consent_text]
    page = admin_client.get(reverse("votes:poll_texts", args=[poll.public_id, "de"])).content.decode()
    assert "Prefine’s translation of 2 texts" in page


def test_a_votes_text_that_was_written_or_emptied_stays(poll, admin_client):
    choose_languages(admin_client, poll, "de", "fr")
    poll.translations.filter(language="de").delete()
    poll.translations.filter(language="fr").update(text="Le nôtre")
    choose_languages(admin_client, poll, "de", "fr", "ja")
    assert read_translations(poll, "de") == {} and set(read_translations(poll, "fr").values()) == {"Le nôtre"}
    assert read_translations(poll, "ja")[poll.consent_text].startswith("目的")


def test_a_vote_in_another_language_is_told_in_it_while_it_is_a_draft(poll, admin_client):
    choose_languages(admin_client, poll, "en", language="de")
    assert poll.consent_text.startswith("Zweck.") and poll.title == "Which robot walks better"
    assert read_translations(poll, "en")[poll.consent_text].startswith("Purpose.")
