"""Plain text on consent pages, and whom a study names to write to."""

import pytest
from django.template import Context, Template

from tests.webapp import rows
from webapp.studies import opening

CONSENT = "Purpose. We look.\n\nYour data. We keep\r\nanswers <b>here</b>.\n\nYou may stop at any time."


def shown(text):
    return Template("{% load studio %}{{ text|paragraphs }}").render(Context({"text": text})).split("\n")


def test_words_that_head_a_paragraph_stand_out():
    assert shown(CONSENT) == [
        "<p><strong>Purpose.</strong> We look.</p>",
        "<p><strong>Your data.</strong> We keep<br>answers &lt;b&gt;here&lt;/b&gt;.</p>",
        "<p>You may stop at any time.</p>",
    ]


def test_a_text_without_such_words_is_left_alone():
    assert shown("It is short. You may stop.\n\nWe keep what you choose and when you chose it. That is all.") == [
        "<p>It is short. You may stop.</p>",
        "<p>We keep what you choose and when you chose it. That is all.</p>",
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("contact", "reached"),
    [("ada@example.org", True), ("+49 30 123456", True), ("https://lab.example/ada", True), ("who runs this", False)],
)
def test_a_real_study_names_an_address(contact, reached):
    said = "The contact has no address" in " ".join(opening.find_problems(rows.study(contact=contact)))
    assert said != reached
    assert opening.find_problems(rows.study(contact="who runs this site", demonstration=True)) == []


@pytest.mark.django_db
def test_the_line_below_every_page_is_a_sentence(client):
    made = rows.study(contact="the person who runs this site")
    page = client.get(rows.participant(made).get_absolute_url(), headers={"accept-language": "en"}).content.decode()
    assert "Questions? Write to the person who runs this site." in page
