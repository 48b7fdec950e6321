"""Telling a participant by the browser that a round is ready: real encryption to a real endpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import http_ece
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from py_vapid import Vapid02

from tests.webapp import rows
from tests.webapp.notice_rows import SECRETS, create_waiting_participant
from webapp.notices import notifier, push
from webapp.notices.models import Notice, Subscription
from webapp.studies.models import Participant

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> Participant:
    return create_waiting_participant()


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


def subscribe(person: Participant, data: Any) -> Any:
    address = reverse("subscribe", args=[person.token])
    return Client().post(address, json.dumps(data), content_type="application/json")


@pytest.mark.slow
def test_a_browser_gets_an_encrypted_text_that_only_it_can_read(person: Participant, browser: Browser) -> None:
    assert subscribe(person, browser.subscription).status_code == 204
    rows.open_judgement(person)
    for _ in range(2):
        notifier.tick()
    assert len(browser.received) == 1
    headers, raw = browser.received[0]
    told = browser.read(0)
    assert told["title"] == "Your next round is ready" and told["url"] == person.get_absolute_url()
    assert [word for word in SECRETS if word in json.dumps(told)] == []
    assert person.token.encode() not in raw and headers["Content-Encoding"] == "aes128gcm"
    assert headers["TTL"] == "86400" and len(headers["Topic"]) == 32


@pytest.mark.slow
def test_it_is_signed_with_the_key_that_the_page_names(person: Participant, browser: Browser) -> None:
    subscribe(person, browser.subscription)
    rows.open_judgement(person)
    notifier.tick()
    scheme, _, rest = browser.received[0][0]["Authorization"].partition(" ")
    parts = dict(part.split("=", 1) for part in rest.split(","))
    assert scheme == "vapid" and parts["k"].rstrip("=") == push.encode_public_key()
    assert Vapid02.verify(browser.received[0][0]["Authorization"])
    claims = json.loads(push.decode(parts["t"].split(".")[1]))
    assert claims["aud"] == browser.url.removesuffix("/wake/1") and claims["sub"].startswith("mailto:")


def test_the_key_is_drawn_once_and_only_we_can_read_it(tmp_path: Any) -> None:
    path = tmp_path / "vapid.pem"
    first = push._load_key(path).private_pem()
    push._load_key.cache_clear()
    assert push._load_key(path).private_pem() == first
    assert path.stat().st_mode & 0o077 == 0
    assert [file.name for file in tmp_path.iterdir()] == ["vapid.pem"]


@pytest.mark.parametrize(
    "key", ["AtouXXk8GlyWp3o78cwXWPey-WnO3ouVol-B-nKTw94", "AtouXXk8GlyWp3o78cwXWPey+WnO3ouVol+B+nKTw94="]
)
def test_the_key_of_the_environment_is_the_same_for_every_process(settings: Any, key: str) -> None:
    settings.VAPID_KEY = key
    secret = push.load_key().private_key.private_numbers().private_value
    assert secret.to_bytes(32, "big") == push.decode("AtouXXk8GlyWp3o78cwXWPey-WnO3ouVol-B-nKTw94")


@pytest.mark.slow
def test_a_subscription_that_the_browser_ended_is_forgotten(person: Participant, browser: Browser) -> None:
    subscribe(person, browser.subscription)
    rows.open_judgement(person)
    browser.answer = 410
    notifier.tick()
    assert not Subscription.objects.exists()
    assert Notice.objects.get(kind="ready").dropped == "no way to reach"


@pytest.mark.slow
def test_a_push_service_that_is_busy_is_asked_again(person: Participant, browser: Browser) -> None:
    subscribe(person, browser.subscription)
    rows.open_judgement(person)
    browser.answer = 503
    notifier.tick()
    assert "answered 503" in Notice.objects.get(kind="ready").error
    browser.answer = 201
    Notice.objects.filter(kind="ready").update(due_at=timezone.now())
    notifier.tick()
    assert Notice.objects.get(kind="ready").sent_at


@pytest.mark.slow
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


@pytest.mark.slow
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
        assert push.is_known_service(endpoint)
    for endpoint in ("https://fcm.googleapis.com:8443/x", "http://fcm.googleapis.com/x", "https://notify.windows.com/"):
        assert not push.is_known_service(endpoint)


def test_the_service_worker_is_at_the_top_and_never_stale() -> None:
    answer = Client().get("/sw.js")
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Cache-Control"] == "no-cache" and b"showNotification" in answer.content
