"""What the tail asks of the database, however many pages are open."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webapp import rows
from webapp.experiments import events
from webapp.live import tail
from webapp.studies.models import Assignment, Participant

pytestmark = pytest.mark.django_db


def test_news_of_many_experiments_are_two_queries_and_name_everybody_concerned(django_assert_num_queries: Any) -> None:
    study = rows.study(panel=2)
    people = [rows.participant(study, label=f"P{number}") for number in range(8)]
    other = Participant.objects.create(study=study, label="of the first one's panel")
    Assignment.objects.create(participant=other, arm=study.arms.get(), experiment=people[0].experiment)
    window = tail.Window(tail.find_newest_id())
    for person in people[:5]:
        assert person.experiment is not None
        events.emit(person.experiment, "judge", "Round 1: pick best and worst", public=True)
    assert people[6].experiment is not None
    events.emit(people[6].experiment, "picked", "best 1-3")
    with django_assert_num_queries(2):
        fresh, told = tail.collect_news(window)
    assert len(fresh) == 6
    assert sorted(told) == sorted(person.pk for person in [*people[:5], other])
    with django_assert_num_queries(1):
        assert tail.collect_news(window) == ([], [])
