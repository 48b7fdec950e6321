"""Telling a participant that a round is ready: by e-mail, with a real mail server; what is offered."""

from __future__ import annotations

import email as mime
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from tests.webapp.notice_rows import SECRETS, create_waiting_participant
from tests.webapp.servers import free_port
from webapp.experiments.models import Request
from webapp.notices import notifier, push
from webapp.notices.models import Address, Notice
from webapp.review.models import Vote
from webapp.review.screenings import find_screening
from webapp.studies import enrolment
from webapp.studies.models import Participant, Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> Participant:
    return create_waiting_participant()


@dataclass
class Mailbox:
    """What a mail server of our own was given; it refuses while `refusing`."""

    letters: list[mime.message.Message] = field(default_factory=list)
    refusing: bool = False

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 (aiosmtpd's name)
        if self.refusing:
            return "451 try again later, ada@example.org"
        self.letters.append(mime.message_from_bytes(envelope.content))
        return "250 taken"


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    box = Mailbox()
    server = Controller(box, hostname="127.0.0.1", port=free_port())
    server.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_READY = "127.0.0.1", server.port, True
    yield box
    server.stop()


def leave_address(person: Participant, email: str = "ada@example.org", zone: str = "Europe/Berlin") -> Any:
    return Client().post(reverse("leave_address", args=[person.token]), {"email": email, "timezone": zone})


def body(letter: mime.message.Message) -> str:
    return letter.get_payload(decode=True).decode()  # type: ignore[union-attr]


# --- by e-mail ---


def test_a_round_that_is_ready_is_told_of_once(person: Participant, mailbox: Mailbox) -> None:
    assert leave_address(person).status_code == 302
    notifier.tick()
    assert not mailbox.letters  # nothing waits yet
    rows.open_judgement(person)
    for _ in range(3):
        notifier.tick()
    assert len(mailbox.letters) == 1
    letter = mailbox.letters[0]
    assert letter["To"] == "ada@example.org" and letter["Subject"] == "Your next round is ready"
    assert person.get_absolute_url() in body(letter) and "(Europe/Berlin)" in body(letter)
    assert Notice.objects.get(kind="ready").sent_at


def test_the_message_tells_nothing_of_what_is_compared(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.open_judgement(person)
    notifier.tick()
    text = mailbox.letters[0].as_string() + body(mailbox.letters[0])
    assert [word for word in SECRETS if word in text] == []


@pytest.mark.slow
def test_each_round_has_its_own(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    first = rows.open_judgement(person)
    notifier.tick()
    Request.objects.filter(pk=first.pk).update(status=Request.Status.DONE)
    rows.create_round(person, 2)
    rows.open_judgement(person, 2)
    notifier.tick()
    ids = [letter["Message-ID"] for letter in mailbox.letters]
    assert len(set(ids)) == 2


def test_a_request_that_was_answered_before_the_address_was_left_is_not_told_of(
    person: Participant, mailbox: Mailbox
) -> None:
    old = rows.open_judgement(person)
    Request.objects.filter(pk=old.pk).update(status=Request.Status.DONE)
    rows.create_round(person, 2)
    new = rows.open_judgement(person, 2)
    leave_address(person)
    notifier.tick()
    assert set(Notice.objects.values_list("request", flat=True)) == {new.pk}
    assert len(mailbox.letters) == 1


def test_of_a_panel_who_has_not_chosen_is_told(person: Participant, mailbox: Mailbox) -> None:
    other = Participant.objects.create(study=person.study, label="P08", consented_at=timezone.now())
    place = person.assignments.get()
    other.assignments.create(arm=place.arm, experiment=place.experiment)
    for someone, email in ((person, "ada@example.org"), (other, "bob@example.org")):
        leave_address(someone, email)
    request = rows.open_judgement(person)
    notifier.plan_notices()
    screening = find_screening(request, person)
    Vote.objects.create(request=request, screening=screening, best_id=screening.order[0], worst_id=screening.order[1])
    notifier.tick()
    assert [letter["To"] for letter in mailbox.letters] == ["bob@example.org"]
    assert other.get_absolute_url() in body(mailbox.letters[0])
    assert person.get_absolute_url() not in body(mailbox.letters[0])


def test_a_notifier_that_died_is_made_up_for(person: Participant, mailbox: Mailbox, monkeypatch: Any) -> None:
    """It had taken the row, and nobody knows whether the message went out: sent again, as the same message."""
    leave_address(person)
    rows.open_judgement(person)

    class Killed(BaseException):
        pass

    def die(*arguments: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(notifier.email, "send", die)
        with pytest.raises(Killed):
            notifier.tick()
    notifier.tick()
    assert not mailbox.letters  # somebody may still be at it
    Notice.objects.filter(kind="ready").update(due_at=timezone.now())
    notifier.tick()
    notifier.tick()
    assert len(mailbox.letters) == 1
    assert Notice.objects.get(kind="ready").attempts == 2


def test_two_notifiers_send_one(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.open_judgement(person)
    notifier.plan_notices()
    pk = Notice.objects.get(kind="ready").pk
    notifier.send_notice(pk)
    notifier.send_notice(pk)
    notifier.plan_notices()
    assert len(mailbox.letters) == 1 and Notice.objects.filter(kind="ready").count() == 1


@pytest.mark.slow
def test_a_mail_server_that_refuses_is_asked_again_and_at_last_no_more(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.open_judgement(person)
    mailbox.refusing = True
    notifier.tick()
    row = Notice.objects.get(kind="ready")
    assert row.sent_at is None and row.due_at > timezone.now() and "SMTP" in row.error
    assert "ada@example.org" not in row.error
    for _ in range(10):
        Notice.objects.filter(kind="ready").update(due_at=timezone.now())
        notifier.tick()
    row = Notice.objects.get(kind="ready")
    assert row.dropped == "given up" and row.attempts == 1 + len(notifier.RETRY_DELAYS)
    mailbox.refusing = False
    notifier.tick()
    assert not mailbox.letters


def test_no_mail_server_at_all(person: Participant, mailbox: Mailbox, settings: Any) -> None:
    leave_address(person)
    rows.open_judgement(person)
    settings.EMAIL_PORT = free_port()
    notifier.tick()
    assert "Refused" in Notice.objects.get(kind="ready").error


def test_a_reminder_comes_later_and_only_to_who_has_not_chosen(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    request = rows.open_judgement(person)
    notifier.tick()
    reminder = Notice.objects.get(kind="reminder")
    assert timedelta(hours=23) < reminder.due_at - timezone.now() < timedelta(hours=38)
    Notice.objects.filter(kind="reminder").update(due_at=timezone.now())
    notifier.tick()
    assert [letter["Subject"] for letter in mailbox.letters][1:] == ["Your next round is still waiting"]
    Notice.objects.filter(kind="reminder").update(due_at=timezone.now(), sent_at=None)
    screening = find_screening(request, person)
    best, worst = screening.order[0], screening.order[1]
    Vote.objects.create(request=request, screening=screening, best_id=best, worst_id=worst)
    notifier.tick()
    assert Notice.objects.get(kind="reminder").dropped == "answered already"
    assert len(mailbox.letters) == 2


@pytest.mark.parametrize(
    ("moment", "zone", "expected"),
    [
        ("2026-03-02T12:00", "Europe/Berlin", "2026-03-02T12:00"),  # 13:00 there
        ("2026-03-02T23:00", "Europe/Berlin", "2026-03-03T08:00"),  # midnight there
        ("2026-03-02T19:30", "Europe/Berlin", "2026-03-03T08:00"),  # 20:30 there
        ("2026-03-02T03:00", "Europe/Berlin", "2026-03-02T08:00"),  # 4:00 there
        ("2026-03-28T22:00", "Europe/Berlin", "2026-03-29T07:00"),  # the clocks change that night
        ("2026-03-02T03:00", "Asia/Tokyo", "2026-03-02T03:00"),  # noon there
        ("2026-03-02T03:00", "no/where", "2026-03-02T09:00"),
    ],
)
def test_reminders_come_in_the_daytime(moment: str, zone: str, expected: str) -> None:
    given = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert notifier.move_to_daytime(given, zone) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def closed(days_ago: int) -> None:
    Study.objects.update(status=Study.Status.CLOSED, closed_at=timezone.now() - timedelta(days=days_ago))


def test_people_inside_a_study_that_closes_are_still_told(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    closed(days_ago=1)
    rows.open_judgement(person)
    notifier.tick()
    assert len(mailbox.letters) == 1


OVER = [
    ("left the study", lambda person: enrolment.withdraw(person)),
    ("no way to reach", lambda person: closed(days_ago=31)),
]


@pytest.mark.parametrize(("reason", "end"), OVER)
def test_people_who_are_out_are_not_told_and_are_forgotten(
    reason: str, end: Any, person: Participant, mailbox: Mailbox
) -> None:
    leave_address(person)
    rows.open_judgement(person)
    notifier.plan_notices()
    end(person)
    notifier.tick()
    assert not mailbox.letters and not Address.objects.exists()
    assert Notice.objects.get(kind="ready").dropped == reason


def test_people_who_have_finished_are_forgotten(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    Participant.objects.update(finished_at=timezone.now())
    notifier.tick()
    assert not Address.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM notices_address")
        assert cursor.fetchone() == (0,)


def test_a_break_is_waited_out(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    request = rows.open_judgement(person)
    notifier.plan_notices()
    request.experiment.paused = True
    request.experiment.save()
    notifier.tick()
    assert not mailbox.letters
    request.experiment.paused = False
    request.experiment.save()
    Notice.objects.filter(kind="ready").update(due_at=timezone.now())
    notifier.tick()
    assert len(mailbox.letters) == 1


def test_stopping_from_the_message(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.open_judgement(person)
    notifier.tick()
    letter = mailbox.letters[0]
    stop = letter["List-Unsubscribe"].strip("<>")
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click" and stop in body(letter)
    path = "/" + stop.split("/", 3)[3]
    assert "Stop the messages?" in Client().get(path).content.decode()
    assert Address.objects.exists()  # looking at it, as mail scanners do, stops nothing
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post(path, {"List-Unsubscribe": "One-Click"})
    assert "No more messages" in answer.content.decode() and not Address.objects.exists()
    assert "No more messages" in Client().get(path).content.decode()


def test_taking_it_back_on_the_page(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    page = Client().post(reverse("take_address_back", args=[person.token]), headers={"HX-Request": "true"})
    assert "Your address is deleted" in page.content.decode() and not Address.objects.exists()


@pytest.mark.parametrize("wrong", ["", "ada", "ada@example.org\nBcc: x@y.z", "a" * 250 + "@b.example"])
def test_what_is_no_address_is_refused(wrong: str, person: Participant, mailbox: Mailbox) -> None:
    leave_address(person, wrong)
    assert not Address.objects.exists()


def test_a_zone_that_is_none_is_utc(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person, zone="../../etc/passwd")
    person.refresh_from_db()
    assert person.timezone == "UTC"


# --- what is offered ---


def waiting_page(person: Participant) -> str:
    return Client().get(person.get_absolute_url()).content.decode()


@pytest.mark.slow
def test_the_page_offers_what_there_is(person: Participant, mailbox: Mailbox, settings: Any) -> None:
    rows.open_training(person)
    page = waiting_page(person)
    assert "Write to me" in page and "Tell me in this browser" in page and push.encode_public_key() in page
    closed(days_ago=31)
    page = waiting_page(person)
    assert "Write to me" not in page and "Tell me in this browser" not in page and "writes to nobody any more" in page
    closed(days_ago=29)
    settings.EMAIL_READY = False
    page = waiting_page(person)
    assert "Write to me" not in page and "E-mail is not set up on this site" in page
    assert leave_address(person).status_code == 302 and not Address.objects.exists()
    Study.objects.update(notify_email=False, notify_push=False)
    page = waiting_page(person)
    assert "E-mail" not in page and "Tell me in this browser" not in page
    assert "Tell me when it is ready" in page  # while it is open, the browser itself


def test_an_address_is_shown_in_part_alone(person: Participant, mailbox: Mailbox) -> None:
    rows.open_training(person)
    leave_address(person)
    page = waiting_page(person)
    assert "a…@example.org" in page and "ada@example.org" not in page.replace(person.study.contact, "")
