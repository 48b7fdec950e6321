"""Telling a participant that a round is ready: a real mail server, real encryption to a real endpoint."""

from __future__ import annotations

import email as mime
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import http_ece
import pytest
from aiosmtpd.controller import Controller
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from py_vapid import Vapid02

from tests.webapp import rows
from tests.webapp.servers import free_port
from webapp.experiments.models import Request
from webapp.notices import courier, push
from webapp.notices.models import Address, Notice, Subscription
from webapp.review.models import Vote
from webapp.review.screenings import screening_of
from webapp.studies import enrolment
from webapp.studies.models import Participant, Study

pytestmark = pytest.mark.django_db
SECRETS = ("icpl", "ICPL", "proxy", "Ant", "score", "round 1", "Round 1", "seed", rows.SOURCE, "P07")


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


@dataclass
class Browser:
    """A browser's half of a subscription: its keys, and what its push service was sent."""

    url: str
    answer: int = 201
    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    secret: bytes = b"0123456789abcdef"
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def subscription(self) -> dict[str, Any]:
        point = self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {"endpoint": self.url, "keys": {"p256dh": push.encode(point), "auth": push.encode(self.secret)}}

    def read(self, number: int) -> dict[str, str]:
        body = self.received[number][1]
        text = http_ece.decrypt(body, private_key=self.private, auth_secret=self.secret, version="aes128gcm")
        return dict(json.loads(text))


@pytest.fixture
def browser(settings: Any) -> Iterator[Browser]:
    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802 (http.server's name)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            own.received.append((dict(self.headers.items()), body))
            self.send_response(own.answer)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    origin = f"http://127.0.0.1:{server.server_port}"
    own = Browser(f"{origin}/wake/1")
    settings.PUSH_SERVICES = [origin]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield own
    server.shutdown()
    server.server_close()


@pytest.fixture
def person() -> Participant:
    """Somebody for whom a round is ready."""
    study = rows.study(notify_email=True, notify_push=True)
    someone = rows.participant(study)
    rows.round_of(someone)
    return someone


def leave_address(person: Participant, email: str = "ada@example.org", zone: str = "Europe/Berlin") -> Any:
    return Client().post(reverse("leave_address", args=[person.token]), {"email": email, "timezone": zone})


def subscribe(person: Participant, data: Any) -> Any:
    address = reverse("subscribe", args=[person.token])
    return Client().post(address, json.dumps(data), content_type="application/json")


def body(letter: mime.message.Message) -> str:
    return letter.get_payload(decode=True).decode()  # type: ignore[union-attr]


# --- by e-mail ---


def test_a_round_that_is_ready_is_told_of_once(person: Participant, mailbox: Mailbox) -> None:
    assert leave_address(person).status_code == 302
    courier.tick()
    assert not mailbox.letters  # nothing waits yet
    rows.judging(person)
    for _ in range(3):
        courier.tick()
    assert len(mailbox.letters) == 1
    letter = mailbox.letters[0]
    assert letter["To"] == "ada@example.org" and letter["Subject"] == "Your next round is ready"
    assert person.get_absolute_url() in body(letter) and "(Europe/Berlin)" in body(letter)
    assert Notice.objects.get(kind="ready").sent_at


def test_the_message_tells_nothing_of_what_is_compared(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.judging(person)
    courier.tick()
    text = mailbox.letters[0].as_string() + body(mailbox.letters[0])
    assert [word for word in SECRETS if word in text] == []


def test_each_round_has_its_own(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    first = rows.judging(person)
    courier.tick()
    Request.objects.filter(pk=first.pk).update(status=Request.Status.DONE)
    rows.round_of(person, 2)
    rows.judging(person, 2)
    courier.tick()
    ids = [letter["Message-ID"] for letter in mailbox.letters]
    assert len(set(ids)) == 2


def test_a_request_that_was_answered_before_the_address_was_left_is_not_told_of(
    person: Participant, mailbox: Mailbox
) -> None:
    old = rows.judging(person)
    Request.objects.filter(pk=old.pk).update(status=Request.Status.DONE)
    rows.round_of(person, 2)
    new = rows.judging(person, 2)
    leave_address(person)
    courier.tick()
    assert set(Notice.objects.values_list("request", flat=True)) == {new.pk}
    assert len(mailbox.letters) == 1


def test_of_a_panel_who_has_not_chosen_is_told(person: Participant, mailbox: Mailbox) -> None:
    other = Participant.objects.create(study=person.study, label="P08", consented_at=timezone.now())
    place = person.assignments.get()
    other.assignments.create(arm=place.arm, experiment=place.experiment)
    for someone, email in ((person, "ada@example.org"), (other, "bob@example.org")):
        leave_address(someone, email)
    request = rows.judging(person)
    courier.plan()
    screening = screening_of(request, person)
    Vote.objects.create(request=request, screening=screening, best_id=screening.order[0], worst_id=screening.order[1])
    courier.tick()
    assert [letter["To"] for letter in mailbox.letters] == ["bob@example.org"]
    assert other.get_absolute_url() in body(mailbox.letters[0])
    assert person.get_absolute_url() not in body(mailbox.letters[0])


def test_a_courier_that_died_is_made_up_for(person: Participant, mailbox: Mailbox, monkeypatch: Any) -> None:
    """It had taken the row, and nobody knows whether the message went out: sent again, as the same message."""
    leave_address(person)
    rows.judging(person)

    class Killed(BaseException):
        pass

    def die(*arguments: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(courier.email, "send", die)
        with pytest.raises(Killed):
            courier.tick()
    courier.tick()
    assert not mailbox.letters  # somebody may still be at it
    Notice.objects.filter(kind="ready").update(due_at=timezone.now())
    courier.tick()
    courier.tick()
    assert len(mailbox.letters) == 1
    assert Notice.objects.get(kind="ready").attempts == 2


def test_two_couriers_send_one(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.judging(person)
    courier.plan()
    pk = Notice.objects.get(kind="ready").pk
    courier.deliver(pk)
    courier.deliver(pk)
    courier.plan()
    assert len(mailbox.letters) == 1 and Notice.objects.filter(kind="ready").count() == 1


def test_a_mail_server_that_refuses_is_asked_again_and_at_last_no_more(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.judging(person)
    mailbox.refusing = True
    courier.tick()
    row = Notice.objects.get(kind="ready")
    assert row.sent_at is None and row.due_at > timezone.now() and "SMTP" in row.error
    assert "ada@example.org" not in row.error
    for _ in range(10):
        Notice.objects.filter(kind="ready").update(due_at=timezone.now())
        courier.tick()
    row = Notice.objects.get(kind="ready")
    assert row.dropped == "given up" and row.attempts == 1 + len(courier.PAUSES)
    mailbox.refusing = False
    courier.tick()
    assert not mailbox.letters


def test_no_mail_server_at_all(person: Participant, mailbox: Mailbox, settings: Any) -> None:
    leave_address(person)
    rows.judging(person)
    settings.EMAIL_PORT = free_port()
    courier.tick()
    assert "Refused" in Notice.objects.get(kind="ready").error


def test_a_reminder_comes_later_and_only_to_who_has_not_chosen(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    request = rows.judging(person)
    courier.tick()
    reminder = Notice.objects.get(kind="reminder")
    assert timedelta(hours=23) < reminder.due_at - timezone.now() < timedelta(hours=38)
    Notice.objects.filter(kind="reminder").update(due_at=timezone.now())
    courier.tick()
    assert [letter["Subject"] for letter in mailbox.letters][1:] == ["Your next round is still waiting"]
    Notice.objects.filter(kind="reminder").update(due_at=timezone.now(), sent_at=None)
    screening = screening_of(request, person)
    best, worst = screening.order[0], screening.order[1]
    Vote.objects.create(request=request, screening=screening, best_id=best, worst_id=worst)
    courier.tick()
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
    assert courier.daytime(given, zone) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


OVER = [
    ("left the study", lambda person: enrolment.withdraw(person)),
    ("study not open", lambda person: Study.objects.update(status=Study.Status.CLOSED)),
]


@pytest.mark.parametrize(("reason", "end"), OVER)
def test_who_is_out_is_not_told_and_forgotten(reason: str, end: Any, person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.judging(person)
    courier.plan()
    end(person)
    courier.tick()
    assert not mailbox.letters and not Address.objects.exists()
    assert Notice.objects.get(kind="ready").dropped == reason


def test_who_has_finished_is_forgotten(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    Participant.objects.update(finished_at=timezone.now())
    courier.tick()
    assert not Address.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM notices_address")
        assert cursor.fetchone() == (0,)


def test_a_break_is_waited_out(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    request = rows.judging(person)
    courier.plan()
    request.experiment.paused = True
    request.experiment.save()
    courier.tick()
    assert not mailbox.letters
    request.experiment.paused = False
    request.experiment.save()
    Notice.objects.filter(kind="ready").update(due_at=timezone.now())
    courier.tick()
    assert len(mailbox.letters) == 1


def test_stopping_from_the_message(person: Participant, mailbox: Mailbox) -> None:
    leave_address(person)
    rows.judging(person)
    courier.tick()
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


# --- by the browser ---


def test_a_browser_gets_an_encrypted_text_that_only_it_can_read(person: Participant, browser: Browser) -> None:
    assert subscribe(person, browser.subscription).status_code == 204
    rows.judging(person)
    for _ in range(2):
        courier.tick()
    assert len(browser.received) == 1
    headers, raw = browser.received[0]
    told = browser.read(0)
    assert told["title"] == "Your next round is ready" and told["url"] == person.get_absolute_url()
    assert [word for word in SECRETS if word in json.dumps(told)] == []
    assert person.token.encode() not in raw and headers["Content-Encoding"] == "aes128gcm"
    assert headers["TTL"] == "86400" and len(headers["Topic"]) == 32


def test_it_is_signed_with_the_key_that_the_page_names(person: Participant, browser: Browser) -> None:
    subscribe(person, browser.subscription)
    rows.judging(person)
    courier.tick()
    scheme, _, rest = browser.received[0][0]["Authorization"].partition(" ")
    parts = dict(part.split("=", 1) for part in rest.split(","))
    assert scheme == "vapid" and parts["k"].rstrip("=") == push.public_key()
    assert Vapid02.verify(browser.received[0][0]["Authorization"])
    claims = json.loads(push.decode(parts["t"].split(".")[1]))
    assert claims["aud"] == browser.url.removesuffix("/wake/1") and claims["sub"].startswith("mailto:")


def test_the_key_is_drawn_once_and_only_we_can_read_it(tmp_path: Any) -> None:
    path = tmp_path / "vapid.pem"
    first = push._key(path).private_pem()
    push._key.cache_clear()
    assert push._key(path).private_pem() == first
    assert path.stat().st_mode & 0o077 == 0
    assert [file.name for file in tmp_path.iterdir()] == ["vapid.pem"]


def test_a_subscription_that_the_browser_ended_is_forgotten(person: Participant, browser: Browser) -> None:
    subscribe(person, browser.subscription)
    rows.judging(person)
    browser.answer = 410
    courier.tick()
    assert not Subscription.objects.exists()
    assert Notice.objects.get(kind="ready").dropped == "no way to reach"


def test_a_push_service_that_is_busy_is_asked_again(person: Participant, browser: Browser) -> None:
    subscribe(person, browser.subscription)
    rows.judging(person)
    browser.answer = 503
    courier.tick()
    assert "answered 503" in Notice.objects.get(kind="ready").error
    browser.answer = 201
    Notice.objects.filter(kind="ready").update(due_at=timezone.now())
    courier.tick()
    assert Notice.objects.get(kind="ready").sent_at


def test_stopping_it_in_the_browser(person: Participant, browser: Browser) -> None:
    subscribe(person, browser.subscription)
    address = reverse("unsubscribe", args=[person.token])
    Client().post(address, json.dumps({"endpoint": browser.url}), content_type="application/json")
    assert not Subscription.objects.exists()


FORGED = [
    {"endpoint": "http://127.0.0.1:6379/x"},
    {"endpoint": "https://fcm.googleapis.com.evil.example/x"},
    {"endpoint": "https://user:pass@fcm.googleapis.com/x"},
    {"endpoint": "file:///etc/passwd"},
    {"endpoint": "https://[broken/x"},
    {"endpoint": 7},
    {"keys": {"p256dh": "AAAA", "auth": "AAAA"}},
    {"keys": {"p256dh": "=", "auth": "="}},
    {"keys": []},
]


@pytest.mark.parametrize("forged", FORGED)
def test_no_other_address_is_ever_asked(forged: dict[str, Any], person: Participant, browser: Browser) -> None:
    assert subscribe(person, {**browser.subscription, **forged}).status_code == 400
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"endpoint": null}', "\x00", "[" * 100000])
def test_nonsense_is_refused(text: str, person: Participant) -> None:
    answer = Client().post(reverse("subscribe", args=[person.token]), text, content_type="application/json")
    assert answer.status_code == 400


def test_known_services(settings: Any) -> None:
    for endpoint in ("https://fcm.googleapis.com/fcm/send/x", "https://wns2-db5p.notify.windows.com/w/?token=x"):
        assert push.known_service(endpoint)
    for endpoint in ("https://fcm.googleapis.com:8443/x", "http://fcm.googleapis.com/x", "https://notify.windows.com/"):
        assert not push.known_service(endpoint)


# --- what is offered ---


def waiting_page(person: Participant) -> str:
    return Client().get(person.get_absolute_url()).content.decode()


def test_the_page_offers_what_there_is(person: Participant, mailbox: Mailbox, settings: Any) -> None:
    rows.training(person)
    page = waiting_page(person)
    assert "Write to me" in page and "Tell me in this browser" in page and push.public_key() in page
    settings.EMAIL_READY = False
    page = waiting_page(person)
    assert "Write to me" not in page and "E-mail is not set up on this site" in page
    assert leave_address(person).status_code == 302 and not Address.objects.exists()
    Study.objects.update(notify_email=False, notify_push=False)
    page = waiting_page(person)
    assert "E-mail" not in page and "Tell me in this browser" not in page
    assert "Tell me when it is ready" in page  # while it is open, the browser itself


def test_an_address_is_shown_in_part_alone(person: Participant, mailbox: Mailbox) -> None:
    rows.training(person)
    leave_address(person)
    page = waiting_page(person)
    assert "a…@example.org" in page and "ada@example.org" not in page.replace(person.study.contact, "")


def test_the_service_worker_is_at_the_top_and_never_stale() -> None:
    answer = Client().get("/sw.js")
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Cache-Control"] == "no-cache" and b"showNotification" in answer.content
