"""Experiments whose pairs people answer, where a study counts what its people did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from tests.webapp import arms_study, rows
from tests.webapp.pair_answers import answer_all, send
from webapp.archive import retention
from webapp.archive.study_results import Result, read_results
from webapp.bench.studies import overview, results
from webapp.experiments.models import Candidate, Experiment, Iteration, PairSession
from webapp.notices import email, notifier, push
from webapp.notices.models import Address, Notice, Subscription
from webapp.review.models import PairScreening
from webapp.studies.models import Assignment, Outcome, Participant, Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PLAN = {"task": "Cartpole", "method": "prefppo", "k": 1, "n": 1}


def finish(person: Participant, score: float) -> None:
    """A winner with this final score."""
    assert person.experiment is not None
    made = Iteration.objects.create(experiment=person.experiment, number=1)
    Candidate.objects.create(iteration=made, index=1, source="", status="trained", rts=score, final_score=score)
    rows.finish_experiment(person)


def read_only_result(person: Participant) -> Result:
    finish(person, 200.0)
    (found,) = read_results(person.study)
    return found


class TestResults:
    def test_an_arm_whose_people_answer_pairs_is_compared_with_one_whose_people_choose(self) -> None:
        study = arms_study.create_study({"ICPL": (300.0, 310.0)})
        rows.arm(study, "PrefPPO", **{**PLAN, "task": "Ant"})
        study.arms.filter(name="ICPL").update(position=9)  # rows.participant takes the first
        for number, score in enumerate((200.0, 220.0)):
            person = rows.participant(study, label=f"PrefPPO{number}")
            rows.open_pairs(person, pairs=3)
            answer_all(person)
            finish(person, score)
        found = results.read_study_results(study).outcomes[0]
        assert found.means["PrefPPO"].mean == 210 and found.means["ICPL"].mean == 305
        assert [one.counts for one in found.comparisons] == [(2, 2)]

    def test_answers_that_stand_are_counted_and_skips_are_no_choice(self) -> None:
        person = rows.participant(rows.study(**PLAN))
        rows.open_pairs(person, pairs=4)
        told = send(person)
        first, second, third, fourth = (pair["token"] for pair in told["pairs"])
        send(person, (first, "skip"), (second, "equal"), (third, "left"), (fourth, "right"))
        send(person, (third, ""))
        PairScreening.objects.filter(token=fourth).update(released_at=timezone.now())
        found = read_only_result(person)
        assert (found.choices, found.drawn, found.seconds_choosing, found.left_out) == (2, 1, 2.5, "")
        PairScreening.objects.filter(token=second).update(answer="skip")
        (found,) = read_results(person.study)
        assert (found.choices, found.drawn, found.left_out) == (2, 2, "no choice")

    def test_the_wait_is_before_the_first_session_and_between_sessions(self) -> None:
        person = rows.participant(rows.study(**PLAN))
        start = timezone.now()
        Experiment.objects.filter(pk=person.experiment.pk).update(started_at=start)
        for number in (1, 2):
            session = rows.open_pairs(person, pairs=2, session=number)
            answer_all(person)
            opened = start + timedelta(seconds=1000 * number)
            answered = opened + timedelta(seconds=60)
            PairScreening.objects.filter(pair__session=session).update(answered_at=answered)
            PairSession.objects.filter(pk=session.pk).update(opened_at=opened, status=PairSession.Status.ANSWERED)
        assert read_only_result(person).seconds_waiting == 1000 + 940


def test_the_overview_shows_who_holds_up_a_training_and_how_much_they_answered() -> None:
    person = rows.participant(rows.study(**PLAN))
    session = rows.open_pairs(person, pairs=2)
    opened = timezone.now() - timedelta(hours=5)
    PairSession.objects.filter(pk=session.pk).update(opened_at=opened)
    first, second = (pair["token"] for pair in send(person)["pairs"])
    send(person, (first, "left"), (second, "skip"))
    send(person, (second, ""))
    found = overview.build_overview(person.study)
    (place,) = found.places
    assert (place.kind, place.words, place.since) == ("choosing", "to answer pairs, session 1", opened)
    assert place.votes == 1 and ("choosing", "to choose", 1) in found.counts


def test_the_studys_page_counts_answers_where_nobody_is_asked_for_a_choice(staff: Any) -> None:
    person = rows.participant(rows.study(**PLAN))
    rows.open_pairs(person, pairs=2)
    answer_all(person)
    page = staff.get(reverse("bench:study", args=[person.study.pk])).content.decode()
    assert "answers to pairs" in page and "0 equal, 0 skipped" in page
    assert "The first choice that somebody confirms" not in page and "could not judge" not in page


def test_the_retention_period_counts_from_the_last_answer_to_a_pair() -> None:
    person = rows.participant(rows.study(**PLAN, retention_days=100))
    rows.open_pairs(person, pairs=1)
    answer_all(person)
    then = timezone.now() - timedelta(days=30)
    PairScreening.objects.update(answered_at=then + timedelta(days=20))
    Participant.objects.update(instructed_at=then, outcome=Outcome.FINISHED)
    Study.objects.update(status=Study.Status.CLOSED, closed_at=then)
    study = Study.objects.get()
    assert retention.find_due_day(study) == timezone.localdate(then) + timedelta(days=120)
    assert retention.aggregate(study)["answers to pairs"] == 1, "what is kept of a study whose data is deleted"


def test_a_member_who_has_answered_every_pair_is_not_told_of_those_that_others_lack() -> None:
    first = rows.participant(rows.study(**PLAN, notify_email=True))
    first.study.arms.update(panel=2, overlap=2)
    now = timezone.now()
    second = Participant.objects.create(study=first.study, label="P08", consented_at=now, instructed_at=now)
    Assignment.objects.create(participant=second, arm=first.study.arms.get(), experiment=first.experiment)
    for person in (first, second):
        Address.objects.create(participant=person, email="ada@example.org")
    rows.open_pairs(first, pairs=2)
    notifier.plan_notices()
    answer_all(first)
    dropped = {notice.participant: notifier.find_drop_reason(notice) for notice in Notice.objects.all()}
    assert dropped == {first: "answered already", second: ""}
    Notice.objects.all().delete()
    notifier.plan_notices()
    assert {notice.participant for notice in Notice.objects.all()} == {second}


def test_a_message_says_since_when_its_session_waits() -> None:
    person = rows.participant(rows.study(**PLAN, notify_email=True))
    address = Address.objects.create(participant=person, email="ada@example.org")
    session = rows.open_pairs(person, pairs=1, session=2)
    opened = datetime(2026, 11, 20, 15, 42, tzinfo=UTC)
    PairSession.objects.filter(pk=session.pk).update(opened_at=opened)
    notifier.plan_notices()
    email.send(Notice.objects.get(kind=Notice.Kind.READY), address)
    assert "20 November, 15:42 (UTC)" in mail.outbox[0].body


def test_a_browser_shows_the_notice_of_a_session_beside_that_of_the_one_before(monkeypatch: Any) -> None:
    person = rows.participant(rows.study(**PLAN, notify_push=True))
    Subscription.objects.create(participant=person, endpoint="https://push.example.org/1")
    sent: list[str] = []
    monkeypatch.setattr(push, "send", lambda to, message, topic: sent.append(message["tag"]))
    for number in (1, 2):
        rows.open_pairs(person, pairs=1, session=number)
    notifier.plan_notices()
    for notice in Notice.objects.filter(kind=Notice.Kind.READY, channel=Notice.Channel.PUSH):
        notifier.send_notice(notice.pk)
    assert len(set(sent)) == len(sent) == 2, "with the same tag it would replace the other in silence"
