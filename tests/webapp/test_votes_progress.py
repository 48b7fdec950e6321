"""The page of an open vote: who evaluates stands first, and it follows by itself until the vote is closed."""

import pytest
from django.urls import reverse

from tests.webapp import poll_rows
from webapp.votes import lifecycle

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HTMX = {"HX-Request": "true"}


def test_links_come_first_while_people_evaluate_and_last_before_and_after(staff):
    poll = poll_rows.poll(opened=False)

    def find_order():
        page = staff.get(poll.get_absolute_url()).text
        return page.index('id="people-title"') < page.index('id="plan-title"')

    assert not find_order()
    assert lifecycle.open_poll(poll) == []
    assert find_order()
    lifecycle.close_poll(poll, "ada")
    assert not find_order()


def test_an_open_vote_follows_by_itself_and_reloads_when_it_is_closed(staff):
    poll = poll_rows.poll()
    assert 'id="vote-progress" hx-get' in staff.get(poll.get_absolute_url()).text
    part = staff.get(poll.get_absolute_url(), headers=HTMX)
    assert "0 of 20" in part.text and "<h1>" not in part.text and "HX-Refresh" not in part
    lifecycle.close_poll(poll, "ada")
    assert staff.get(poll.get_absolute_url(), headers=HTMX)["HX-Refresh"] == "true"
    assert 'id="vote-progress" hx-get' not in staff.get(poll.get_absolute_url()).text


def test_the_open_link_is_copied_by_one_click(staff):
    poll = poll_rows.poll(recruiting=True)
    page = staff.get(poll.get_absolute_url()).text
    address = reverse("join", args=[poll.recruitment_token])
    assert f'data-copy="http://testserver{address}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}' in page
