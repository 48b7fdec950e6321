"""Two who act in the same moment, where what one of them gave, or wants gone, is at stake. On PostgreSQL they really do
(test_production.py); SQLite lets one wait for the other.
"""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from tests.webapp import poll_rows, problem_rows, rows
from webapp.archive import erasure, retention
from webapp.experiments.models import Candidate, Experiment
from webapp.review import ballot
from webapp.review.models import Vote
from webapp.review.screenings import find_screening
from webapp.studies.models import Participant, Study
from webapp.votes import lifecycle, problem_pairs
from webapp.votes.models import Pair

pytestmark = pytest.mark.django_db(transaction=True)
REASON = "Sentinel words of one person"
SECONDS = 1.5
"""How long the one stops for the other, who may have to wait for it."""


@pytest.fixture(autouse=True)
def data(settings, tmp_path):
    settings.DATA_DIR = tmp_path


class Midway:
    """Stops a function after it has run, until somebody else is done or has to wait."""

    def __init__(self, monkeypatch, module, name):
        self.real, self.reached, self.over = getattr(module, name), threading.Event(), threading.Event()
        monkeypatch.setattr(module, name, self)

    def __call__(self, *given, **named):
        made = self.real(*given, **named)
        self.reached.set()
        self.over.wait(SECONDS)
        return made


def both(midway, first, second):
    """What the two return, the second having begun while the first was midway."""
    results = {}

    def run(name, action):
        try:
            results[name] = action()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in (("first", first), ("second", second))]
    threads[0].start()
    assert midway.reached.wait(30)
    threads[1].start()
    threads[1].join(SECONDS)
    midway.over.set()
    for thread in threads:
        thread.join()
    return results["first"], results["second"]


def chooses(person):
    """Somebody in front of a round, about to choose."""
    rows.create_round(person)
    token = find_screening(rows.open_judgement(person), person).token
    return lambda: ballot.cast_vote(person, token, ballot.Choice(best="A", worst="B", reason=REASON))


def over_since_today():
    """A closed study whose time ends today; the one inside has long given nothing."""
    person = rows.participant(rows.study(retention_days=10))
    cast = chooses(person)
    then = timezone.now() - timedelta(days=31)
    Study.objects.update(status="closed", closed_at=then)
    Participant.objects.update(instructed_at=then, consented_at=then)
    assert retention.list_overdue() == [person.study]
    return person, cast


@pytest.mark.slow
def test_an_erasure_while_a_vote_is_opened_leaves_no_word_in_its_copies(monkeypatch):
    person = rows.participant()
    assert chooses(person)().vote
    problem_rows.sum_problem()
    Experiment.objects.update(task="sum")
    quoting, other = Candidate.objects.order_by("pk")[:2]
    Candidate.objects.filter(pk=quoting.pk).update(source=f"As somebody said: {REASON}.")
    poll = poll_rows.poll_of_answers(quoting, other)
    midway = Midway(monkeypatch, problem_pairs, "copy_answers")
    found, gone = both(midway, lambda: lifecycle.open_poll(poll), lambda: erasure.erase(person))
    assert found == [] and gone.total
    assert Pair.objects.get().answers["first"]["source"] == "As somebody said: [deleted]."


@pytest.mark.slow
def test_a_choice_made_before_the_end_of_the_data_is_kept(monkeypatch):
    person, cast = over_since_today()
    midway = Midway(monkeypatch, ballot, "_save")
    said, gone = both(midway, cast, lambda: retention.expire(person.study))
    assert said.vote and Vote.objects.filter(reason=REASON).exists()
    assert gone.total == 0 and retention.find_due_day(Study.objects.get()) > timezone.localdate()


@pytest.mark.slow
def test_a_choice_that_comes_too_late_is_said_to_be(monkeypatch):
    person, cast = over_since_today()
    midway = Midway(monkeypatch, retention, "aggregate")
    gone, said = both(midway, lambda: retention.expire(person.study), cast)
    assert gone.total and not Vote.objects.exists()
    assert said.vote is None and "out of date" in said.message
