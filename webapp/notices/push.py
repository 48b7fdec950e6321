"""Web push: a short text, encrypted for one browser (RFC 8291) and signed with this installation's key (RFC 8292)."""

from __future__ import annotations

import base64
import json
import os
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import http_ece
import httpx2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from py_vapid import Vapid02

from webapp.notices.models import Subscription

SECONDS_TO_LIVE = 24 * 3600
"""How long a push service keeps a notice for a browser that is away."""
TIMEOUT = 10.0
ENDED_STATUSES = (404, 410)


class PushFailed(Exception):
    """The push service did not accept the notice; the text says why."""


class SubscriptionEnded(Exception):
    """The browser has ended this subscription."""


def load_key() -> Vapid02:
    """The installation's key: PREFINE_VAPID_KEY, or one created at the first use and kept in the data folder."""
    if settings.VAPID_KEY:
        return _read_key(settings.VAPID_KEY)
    return _load_key(settings.DATA_DIR / "vapid.pem")


@cache
def _read_key(text: str) -> Vapid02:
    return Vapid02.from_raw(text.strip().rstrip("=").translate(str.maketrans("+/", "-_")).encode())


@cache
def _load_key(path: Path) -> Vapid02:
    if not path.exists():
        created = Vapid02()
        created.generate_keys()
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_bytes(created.private_pem())
        try:
            os.link(fresh, path)  # the first process wins: browsers subscribe to one key
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return Vapid02.from_pem(path.read_bytes())


def encode_public_key() -> str:
    """What a browser needs to subscribe: `applicationServerKey`."""
    return encode(load_key().public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Raises ValueError if the text is not base64."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def is_acceptable(endpoint: str, p256dh: str, auth: str) -> bool:
    """Whether this is a valid subscription of a known push service: the server sends requests to no other address."""
    try:
        point, secret = decode(p256dh), decode(auth)
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        return False
    return len(secret) == 16 and len(point) == 65 and len(endpoint) <= 1000 and is_known_service(endpoint)


def is_known_service(endpoint: str) -> bool:
    """Whether the address is at one of PREFINE_PUSH_SERVICES: https://host, or https://*.host for its subdomains."""
    try:
        address = urlsplit(endpoint)
        origin = (address.scheme, address.port)
    except ValueError:
        return False
    if address.username or address.password or not address.hostname:
        return False
    return any(_matches_service(origin, address.hostname, urlsplit(service)) for service in settings.PUSH_SERVICES)


def _matches_service(origin: tuple[str, int | None], host: str, service: Any) -> bool:
    if origin != (service.scheme, service.port):
        return False
    name = service.hostname
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


def send(subscription: Subscription, message: dict[str, str], topic: str) -> None:
    """Raises SubscriptionEnded or PushFailed. A browser that was away gets only the last notice of a topic."""
    place = urlsplit(subscription.endpoint)
    claims = {"aud": f"{place.scheme}://{place.netloc}", "sub": f"mailto:{settings.CONTACT_EMAIL}"}
    headers = {
        **load_key().sign(claims),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(SECONDS_TO_LIVE),
        "Topic": topic,
        "Urgency": "normal",
    }
    try:
        answer = httpx2.post(
            subscription.endpoint, content=encrypt(subscription, json.dumps(message)), headers=headers, timeout=TIMEOUT
        )
    except httpx2.HTTPError as error:
        raise PushFailed(f"{place.hostname}: {type(error).__name__}") from error
    if answer.status_code in ENDED_STATUSES:
        raise SubscriptionEnded
    if answer.status_code not in (200, 201, 202, 204):
        raise PushFailed(f"{place.hostname} answered {answer.status_code}")


def encrypt(subscription: Subscription, text: str) -> bytes:
    """Encrypt for this browser, so that the push service cannot read the text."""
    body = http_ece.encrypt(
        text.encode(),
        private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=decode(subscription.p256dh),
        auth_secret=decode(subscription.auth),
        version="aes128gcm",
    )
    return bytes(body)
