"""Prepared queries find what their querysets find, and make their SQL once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler

from tests.webapp import rows
from webapp.base.prepared import Prepared
from webapp.studies.models import Assignment, Participant

PARTICIPANT_BY_LABEL = Prepared(
    lambda study, label: Participant.objects.filter(study=study, label=label).select_related("study"), values=2
)
ARM_PLACES = Prepared(
    lambda participant: Assignment.objects.filter(participant=participant).values_list("arm", "position")
)


@pytest.fixture
def made(monkeypatch):
    """How often SQL was made."""
    counted = []
    make = SQLCompiler.as_sql
    monkeypatch.setattr(
        SQLCompiler, "as_sql", lambda self, *a, **k: counted.append(self.query.model) or make(self, *a, **k)
    )
    return counted


def test_each_call_finds_the_rows_of_its_own_values(db, made, django_assert_num_queries):
    study = rows.study()
    first, second = (rows.participant(study, label=label) for label in ("P01", "P02"))
    query = Prepared(PARTICIPANT_BY_LABEL._build, values=2)
    made.clear()
    with django_assert_num_queries(4):
        assert query.find(study.pk, "P01") == first
        found = query.find(study.pk, "P02")
        assert query.find(study.pk, "P03") is None and query.fetch(0, "P01") == []
    assert found == second and len(made) == 1
    with django_assert_num_queries(0):
        assert found.study == study and found.consented_at == second.consented_at and found.study.created_at
    Participant.objects.filter(pk=second.pk).update(language="de")
    assert query.find(study.pk, "P02").language == "de", "rows are read again"


def test_values_are_what_the_queryset_gives(db):
    person = rows.participant()
    place = person.assignments.get()
    assert ARM_PLACES.fetch(person.pk) == [(place.arm_id, 1)]


def test_no_value_may_be_missing(db):
    with pytest.raises(AssertionError, match="NULL"):
        PARTICIPANT_BY_LABEL.find(rows.study().pk, None)


@pytest.mark.django_db(transaction=True)
def test_threads_ask_on_their_own_connections():
    study = rows.study()
    people = [rows.participant(study, label=f"P{number}") for number in range(4)]

    def ask(person):
        try:
            return [PARTICIPANT_BY_LABEL.find(study.pk, person.label) for _ in range(20)]
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, people)) == [[person] * 20 for person in people]
