"""A process whose clock is an hour wrong does what every other one does: what processes compare, the database's clock
says, and how long something takes, a clock that nobody sets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp import models as otp_totp

from tests.webapp import fake_workers, notice_rows, poll_rows, questionnaire_rows, rows
from webapp.accounts import twofactor
from webapp.accounts.models import AuthenticatorApp
from webapp.archive import work
from webapp.archive.models import Export
from webapp.base.database import read_now
from webapp.endpoints.models import Endpoint
from webapp.endpoints.shared_gate import EndpointGate
from webapp.experiments import jobs, leases, loop, progress, workers
from webapp.experiments.models import Job, Request
from webapp.notices import notifier
from webapp.notices.models import Address, Notice
from webapp.review import ballot
from webapp.review.models import Vote
from webapp.review.screenings import find_screening
from webapp.studies import opening
from webapp.studies.models import Study
from webapp.studies.models.questionnaires import Response
from webapp.studies.questionnaires import answering
from webapp.votes import lifecycle, poll_ballot
from webapp.votes.models import Evaluator
from webapp.votes.models import Vote as PairVote

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)
SetClock = Callable[[timedelta], None]


@pytest.fixture(params=[HOUR, -HOUR], ids=["fast", "slow"])
def wrong(request: pytest.FixtureRequest) -> timedelta:
    return request.param


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Set this process's clock wrong; the database's stays right."""
    really = timezone.now

    def set_wrong(error: timedelta) -> None:
        def now() -> datetime:
            return really() + error

        monkeypatch.setattr(timezone, "now", now)
        shifted = SimpleNamespace(time=lambda: time.time() + error.total_seconds())
        monkeypatch.setattr(otp_totp, "time", shifted)

    return set_wrong


@pytest.fixture
def job() -> Job:
    """A job that is queued."""
    row = fake_workers.create_experiment()
    loop.start(row)
    return fake_workers.find_job(row, "advance")


def cast() -> Vote:
    person = rows.participant()
    rows.create_round(person)
    rows.open_judgement(person)
    screening = find_screening(Request.objects.get(kind="Judge"), person)
    vote = ballot.cast_vote(person, screening.token, ballot.Choice("A", "B")).vote
    assert vote is not None
    return vote


def test_a_wrong_reaper_takes_no_lease(job, set_clock, wrong):
    assert leases.claim(job.pk)
    set_clock(wrong)
    assert leases.requeue_abandoned() == 0
    fake_workers.fall_silent(Job)
    assert leases.requeue_abandoned() == 1


def test_a_database_clock_that_is_set_strikes_nobody(job, wrong):
    """The heartbeat is an hour old, or an hour from now, until the worker renews it."""
    lease = leases.claim(job.pk)
    assert lease and leases.requeue_abandoned() == 0
    Job.objects.update(heartbeat=Now() - wrong)
    assert leases.requeue_abandoned() == 0
    lease.renew()
    assert leases.requeue_abandoned() == 0
    Job.objects.update(heartbeat=Now() - wrong)
    fake_workers.fall_silent(Job)
    assert leases.requeue_abandoned() == 1


def test_messages_are_sent_again(job, set_clock, wrong):
    export = Export.objects.create(by="ada", rung_at=Now() - timedelta(minutes=10))
    Job.objects.update(rung_at=Now() - timedelta(minutes=10))
    set_clock(wrong)
    assert jobs.ring_again() == 1 and jobs.ring_again() == 0
    before = Export.objects.get().rung_at
    work.requeue_abandoned()
    after = Export.objects.get().rung_at
    work.requeue_abandoned()
    assert before < after == Export.objects.get(pk=export.pk).rung_at
    Job.objects.update(rung_at=Now() + HOUR)
    Export.objects.update(rung_at=Now() + HOUR)
    assert jobs.ring_again() == 1
    work.requeue_abandoned()
    assert Export.objects.get().rung_at - after < HOUR / 2


def test_a_choice_can_be_taken_back_for_its_time_and_then_counts(set_clock, wrong, settings):
    settings.UNDO_SECONDS = 60
    set_clock(wrong)
    vote = cast()
    assert 50 < ballot.compute_undo_seconds(vote) <= 60
    set_clock(timedelta(0))
    assert 50 < ballot.compute_undo_seconds(Vote.objects.get()) <= 60
    ballot.lock_due_votes()
    assert Vote.objects.get().locked_at is None
    settings.UNDO_SECONDS = 0
    ballot.lock_due_votes()
    assert Vote.objects.get().locked_at


def test_a_wrong_reaper_locks_no_choice_early(set_clock, wrong, settings):
    settings.UNDO_SECONDS = 60
    cast()
    set_clock(wrong)
    ballot.lock_due_votes()
    assert Vote.objects.get().locked_at is None
    Vote.objects.update(created_at=Now() + HOUR)  # the database's clock was set back
    ballot.lock_due_votes()
    assert Vote.objects.get().locked_at


def test_how_long_a_choice_took_is_measured_with_one_clock(set_clock, wrong):
    set_clock(wrong)
    vote = cast()
    assert 0 <= (vote.created_at - vote.screening.opened_at).total_seconds() < 600


def test_an_answer_in_a_vote_can_be_taken_back_for_its_time(set_clock, wrong, settings):
    settings.UNDO_SECONDS = 60
    poll = poll_rows.poll(evaluators_wanted=1)
    person = poll_rows.evaluator(poll)
    set_clock(wrong)
    poll_rows.vote_for(person, "ICPL")
    set_clock(timedelta(0))
    assert 50 < poll_ballot.compute_undo_seconds(PairVote.objects.get()) <= 60
    assert lifecycle.close_full_polls() == 0
    set_clock(wrong)
    assert 50 < poll_ballot.compute_undo_seconds(PairVote.objects.get()) <= 60
    assert lifecycle.close_full_polls() == 0
    Evaluator.objects.update(finished_at=Now() + HOUR)
    assert lifecycle.close_full_polls() == 1


def test_all_workers_keep_to_an_endpoints_limits(set_clock, wrong):
    """One whose clock is fast would not wait when the endpoint wants rest, and take others' calls for lost."""
    gate = EndpointGate("http://models.example/v1", 2, 300)
    ticket = gate.enter(10)
    Endpoint.objects.update(requests_per_minute=1)
    set_clock(wrong)
    assert gate.enter(10) is None
    gate.leave(ticket, 10)
    Endpoint.objects.update(requests_per_minute=None)
    gate.rest(60)
    set_clock(timedelta(0))
    assert gate.enter(10) is None
    Endpoint.objects.update(closed_until=Now())
    assert gate.enter(10) is not None


def test_a_wrong_clock_hides_no_worker(set_clock, wrong):
    worker = workers.register("gpu-1", "train", "cpu")
    set_clock(wrong)
    assert workers.is_alive(worker)
    with pytest.raises(workers.NameTaken):
        workers.register("gpu-1", "train", "cpu")
    workers.register("gpu-2", "train", "cpu")
    set_clock(timedelta(0))
    assert all(map(workers.is_alive, type(worker).objects.all()))


def test_the_time_left_is_equal_on_every_page(set_clock, wrong):
    row = fake_workers.start_experiment(n=1)
    fake_workers.do_work(row, until="Train")
    lease = leases.claim(fake_workers.find_job(row, "train").pk)
    assert lease
    Job.objects.filter(pk=lease.job.pk).update(estimates=[[0, 600, 0]])
    set_clock(wrong)
    now = progress.read_progress(row)
    assert now.seconds_left == pytest.approx(600, abs=100) and not now.late


def test_a_study_opens_and_closes_at_its_time(set_clock, wrong):
    study, half = rows.study(), timedelta(minutes=30)
    Study.objects.update(status=Study.Status.OPEN, opens_at=read_now() + half, closes_at=None)
    set_clock(wrong)
    study.refresh_from_db()
    assert opening.find_closed_reason(study) == "early"
    study.opens_at, study.closes_at = read_now() - half, read_now() + half
    assert opening.find_closed_reason(study) not in ("early", "late")


def test_a_code_is_taken_and_a_wrong_one_locks_nobody_out(set_clock, wrong):
    user = User.objects.create_user("eve")
    app = AuthenticatorApp.objects.create(user=user, confirmed=True, name="app")
    totp = TOTP(app.bin_key)
    totp.time = time.time()
    code = f"{totp.token():06d}"
    mistyped = f"{(int(code) + 1) % 10**6:06d}"
    set_clock(wrong)
    assert twofactor.verify_code(user, mistyped) is None
    assert twofactor.verify_code(user, code) is None, "soon after a wrong one"
    app.refresh_from_db()
    assert abs(read_now() - app.throttling_failure_timestamp) < timedelta(minutes=10) and app.t0 == 0
    AuthenticatorApp.objects.update(throttling_failure_timestamp=read_now() - timedelta(minutes=10))
    assert twofactor.verify_code(user, code)
    set_clock(timedelta(0))
    assert twofactor.verify_code(user, code) is None, "it was used"


def test_a_notice_is_sent_once_and_at_once(set_clock, wrong, monkeypatch, settings):
    settings.EMAIL_READY = True
    person = notice_rows.create_waiting_participant()
    Address.objects.create(participant=person, email="ada@example.org")
    rows.open_judgement(person)
    set_clock(wrong)
    notifier.plan_notices()
    set_clock(timedelta(0))
    sent: list[int] = []

    def send(notice: Notice, address: Address) -> None:
        """While it is being sent, another notifier looks."""
        sent.append(notice.pk)
        if len(sent) == 1:
            set_clock(timedelta(0))
            notifier.tick()

    monkeypatch.setattr(notifier.email, "send", send)
    set_clock(min(wrong, timedelta(0)))
    notifier.tick()
    assert len(sent) == 1
    assert Notice.objects.get(kind=Notice.Kind.READY).sent_at


def test_how_long_questions_took_is_measured_with_one_clock(set_clock, wrong):
    person = rows.participant()
    asked = questionnaire_rows.rated(person.study)
    set_clock(wrong)
    response = Response.objects.create(questionnaire=asked, participant=person)
    set_clock(timedelta(0))
    assert answering.send(response, {}, answering.hash_items(asked, answering.list_items(asked)))
    seconds = Response.objects.get().seconds
    assert seconds is not None and 0 <= seconds < 600
