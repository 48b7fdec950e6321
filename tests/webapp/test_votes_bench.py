"""A/B votes on the bench and in the admin."""

import re

import pytest
from django.urls import reverse

from tests.webapp import bench_rows, poll_rows
from webapp.audit.models import Entry
from webapp.votes import lifecycle, poll_ballot
from webapp.votes.models import Poll

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_undo")]


@pytest.mark.slow
def test_results_are_sealed_until_it_is_closed(client):
    poll = poll_rows.poll(pairs=3, evaluators_wanted=2)
    address = poll.get_absolute_url()
    client.force_login(bench_rows.create_staff())
    for word in ("ICPL", "OpenLoop"):
        html = client.get(address).content.decode()
        assert "Results</h2>" not in html and "How many evaluators?" in html
        assert client.get(f"{address}votes.csv").status_code == 403
        assert client.get(f"{address}preferences.svg").status_code == 403
        person = poll_rows.evaluator(poll)
        while poll_ballot.find_current_showing(person):
            poll_rows.vote_for(person, word)
    html = client.get(address).content.decode()
    assert "Nobody has looked at them yet" in html and "Bayesian mean" not in html
    assert client.get(f"{address}votes.csv").status_code == 403
    poll.refresh_from_db()
    assert poll.unblinded_at is None
    html = client.post(reverse("votes:unblind", args=[poll.public_id]), follow=True).content.decode()
    assert "Results</h2>" in html and "Over all pairs" in html and poll.plan_hash in html
    poll.refresh_from_db()
    assert poll.unblinded_by == "ada" and poll.unblinded_at
    assert client.get(f"{address}arms.svg")["Content-Type"] == "image/svg+xml"
    assert len(client.get(f"{address}votes.csv").content.decode().splitlines()) == 7
    assert client.get(f"{address}nothing.svg").status_code == 404


@pytest.mark.slow
def test_opening_closing_and_inviting_by_the_page(client):
    poll = poll_rows.poll(opened=False)
    address = poll.get_absolute_url()
    client.force_login(bench_rows.create_staff())

    def post(name, **fields):
        return client.post(reverse(f"votes:{name}", args=[poll.public_id]), fields, follow=True).content.decode()

    assert "Added E01 to E03" in post("invite", count=3) and "between 1 and" in post("invite", count=0)
    assert "Fix the plan and open" in client.get(address).content.decode()
    assert "Open. The plan" in post("open") and "opened before" in post("open")
    assert "Tick the box" in post("close")
    html = post("close", sure="yes")
    assert "early, by ada" in html and "can be unblinded below" in html
    assert "Closed early: 0 of the planned 20" in post("unblind")
    assert "was not open" in post("close", sure="yes") and "nobody else can vote" in post("invite", count=1)
    assert poll.title in client.get(reverse("votes:index")).content.decode()


@pytest.mark.slow
def test_power_before_the_start(client):
    poll = poll_rows.poll(pairs=1, opened=False)
    client.force_login(bench_rows.create_staff())
    html = client.get(poll.get_absolute_url()).content.decode()
    row = re.search(r"20 \(planned\)</th>(.*?)</tr>", html)[1]
    assert re.findall(r"<td>([\d.]+)</td>", row)[4] == "0.80"  # 80% prefer it
    assert "evaluators" in client.get(f"{poll.get_absolute_url()}power.csv").content.decode()
    assert client.get(f"{poll.get_absolute_url()}power.svg").content.startswith(b"<svg")
    assert client.get(f"{poll.get_absolute_url()}power.png").status_code == 404


@pytest.mark.slow
def test_a_pairs_name_is_typed_until_the_vote_is_open(staff):
    first, second = poll_rows.winner("ICPL"), poll_rows.winner("OpenLoop")
    staff.post(reverse("votes:new"), poll_form(first, second, **{"pairs-0-name": "Gait"}))
    poll = Poll.objects.get()
    assert "1. Gait: ICPL against OpenLoop" in staff.get(poll.get_absolute_url()).content.decode()
    assert lifecycle.open_poll(poll) == []
    lifecycle.close_poll(poll)
    html = staff.post(reverse("votes:unblind", args=[poll.public_id]), follow=True).content.decode()
    assert '<th scope="row">Gait: ICPL against OpenLoop</th>' in html


def poll_form(first, second, **values):
    fields = {
        **{
            "title": "Walks",
            "contact": "ada@example.org",
            "question": "Which?",
            "instructions": "Look.",
            "evaluators_wanted": 20,
        },
        **{"alpha": "0.05", "correction": "holm", "consent_text": "Free.", "consent_version": "1"},
        **{"pairs-TOTAL_FORMS": 1, "pairs-INITIAL_FORMS": 0, "pairs-0-purpose": "asked", "repeats": 0},
        **{"pairs-0-first": first.pk, "pairs-0-second": second.pk, "pairs-0-first_arm": "", "pairs-0-second_arm": ""},
    }
    return {**fields, **values}


@pytest.mark.slow
def test_setting_up(staff):
    first, second = poll_rows.winner("ICPL"), poll_rows.winner("OpenLoop")
    add = reverse("votes:new")
    assert "sentinel_experiment ICPL 1 (ICPL, Ant, seed 987654321)" in staff.get(add).content.decode()
    html = staff.post(add, poll_form(first, second, alpha="3")).content.decode()
    assert "less than or equal to 0.2" in html and not Poll.objects.exists()
    response = staff.post(add, poll_form(first, second))
    poll = Poll.objects.get()
    assert response.url == poll.get_absolute_url()
    assert str(poll.pairs.get()) == "ICPL against OpenLoop"
    assert Entry.objects.get(action="added").target_label == "Walks"
    change = reverse("votes:setup", args=[poll.public_id])
    assert 'name="alpha"' in staff.get(change).content.decode()
    pair = {"pairs-INITIAL_FORMS": 1, "pairs-0-id": poll.pairs.get().pk, "pairs-0-DELETE": "on"}
    other = {"pairs-1-purpose": "asked", "pairs-1-first": second.pk, "pairs-1-second": first.pk, "pairs-1-name": "New"}
    staff.post(change, poll_form(first, second, **pair, **other, **{"pairs-TOTAL_FORMS": 2, "title": "Runs"}))
    poll.refresh_from_db()
    assert (poll.title, str(poll.pairs.get()), poll.pairs.get().first) == ("Runs", "New", second)
    assert lifecycle.open_poll(poll) == []
    html = staff.get(change).content.decode()
    assert 'name="alpha"' not in html and 'name="pairs-0-first"' not in html and 'name="contact"' in html
    staff.post(change, poll_form(second, first, alpha="0.2", contact="bob", question="Other?"))
    poll.refresh_from_db()
    assert (poll.alpha, poll.contact, poll.question) == (0.05, "bob", "Which?")
    assert poll.pairs.get().first == second
    assert staff.post(reverse("admin:votes_poll_delete", args=[poll.pk]), {"post": "yes"}).status_code == 403
    draft = poll_rows.poll(pairs=2, opened=False)
    poll_rows.evaluator(draft, consented=False)
    staff.post(reverse("admin:votes_poll_delete", args=[draft.pk]), {"post": "yes"})
    assert list(Poll.objects.all()) == [poll]
