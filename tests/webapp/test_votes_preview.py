"""The preview of an A/B vote: what an evaluator sees, for staff alone, and nothing is stored."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp import poll_rows
from tests.webapp.poll_rows import page
from webapp.votes import lifecycle
from webapp.votes.models import Evaluator, Showing, Vote

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_staff_see_every_page_and_nothing_is_stored(staff):
    poll = poll_rows.poll(pairs=2, opened=False, question="")
    first = reverse("vote_preview_first", args=[poll.public_id])
    assert first in staff.get(poll.get_absolute_url()).content.decode()
    assert "What evaluators see: Pair 1" in staff.get(first, follow=True).content.decode()
    for opened in (False, True):
        for name, words in (("consent", "Agree and begin"), ("pair-2", "Pair 2 of 2"), ("thanks", "Thank you")):
            response = staff.get(reverse("vote_preview_page", args=[poll.public_id, name]))
            assert words in response.content.decode() and "form-action 'none'" in response["Content-Security-Policy"]
        html = staff.get(reverse("vote_preview_page", args=[poll.public_id, "pair-1"])).content.decode()
        assert "Which robot runs forward faster?" in html and "nothing is saved" in html
        assert 'href="/v/' not in html, "a link that leads to no page"
        sources = re.findall(r'(?:src|poster)="(/bench/votes/[^"]+)"', html)
        assert len(sources) == 4 and all(staff.get(address).status_code == 200 for address in sources), opened
        assert staff.get(reverse("vote_preview_page", args=[poll.public_id, "pair-3"])).status_code == 404
        if not opened:
            assert lifecycle.open_poll(poll) == []
    assert not Evaluator.objects.exists() and not Showing.objects.exists() and not Vote.objects.exists()


def test_a_pair_looks_as_it_does_to_an_evaluator(staff):
    poll = poll_rows.poll()
    shown = staff.get(reverse("vote_preview_page", args=[poll.public_id, "pair-1"])).content.decode()
    real = page(Client(), poll_rows.evaluator(poll))

    def read(html):
        form = html[html.index('<form id="ballot"') : html.index("</main>")]
        return re.sub(r"(src|poster|action|value)=\"[^\"]*\"", "", form)

    assert read(shown) == read(real)
