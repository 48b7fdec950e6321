"""The second factor of staff: codes of an authenticator app (TOTP), and recovery codes."""

from __future__ import annotations

from base64 import b32encode
from datetime import timedelta
from enum import Enum
from typing import Any
from urllib.parse import quote

import django_otp
import qrcode
import qrcode.image.svg
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

from webapp.accounts.models import AuthenticatorApp
from webapp.accounts.recovery_codes import hash_code
from webapp.base.database import read_now

RECOVERY_CODES = 10


class MissingFactor(Enum):
    """What a session still lacks."""

    NOTHING = ""
    CODE = "code"
    SETUP = "setup"


def find_app(user: User, confirmed: bool = True) -> AuthenticatorApp | None:
    found: AuthenticatorApp | None = AuthenticatorApp.objects.filter(user=user, confirmed=confirmed).first()
    return found


def find_missing(user: User, session: Any) -> MissingFactor:
    """Which factor this person's session still lacks."""
    if find_app(user) is None:
        return MissingFactor.SETUP if settings.REQUIRE_2FA else MissingFactor.NOTHING
    known = session.get(django_otp.DEVICE_ID_SESSION_KEY)
    device = Device.from_persistent_id(known) if known else None
    good = device is not None and device.user_id == user.pk and device.confirmed
    return MissingFactor.NOTHING if good else MissingFactor.CODE


def begin_setup(user: User) -> AuthenticatorApp:
    """The unconfirmed app. It is saved, so that a reload shows the same QR code."""
    begun = find_app(user, confirmed=False)
    if begun and begun.readable:
        return begun
    AuthenticatorApp.objects.filter(user=user, confirmed=False).delete()
    begun = AuthenticatorApp(user=user, confirmed=False, name="authenticator app")
    begun.save()
    return begun


def format_key(device: AuthenticatorApp) -> str:
    """The key in groups of four letters, to type instead of scanning the QR code."""
    text = b32encode(device.bin_key).decode()
    return " ".join(text[i : i + 4] for i in range(0, len(text), 4))


def draw_qr_code(device: AuthenticatorApp) -> str:
    """The QR code as a data URL of an SVG."""
    drawn = qrcode.make(device.config_url, image_factory=qrcode.image.svg.SvgPathFillImage, border=3)
    return "data:image/svg+xml," + quote(drawn.to_string(encoding="unicode"))


@transaction.atomic
def confirm_setup(user: User, code: str) -> list[str] | None:
    """Turn the new app on if the code is right. Returns the recovery codes, which are shown only now, or None."""
    device = AuthenticatorApp.objects.select_for_update().filter(user=user, confirmed=False).first()
    if device is None or not _verify_by_database(device, clean_code(code)):
        return None
    AuthenticatorApp.objects.filter(user=user, confirmed=True).delete()
    device.confirmed = True
    device.save()
    return renew_recovery_codes(user)


@transaction.atomic
def renew_recovery_codes(user: User) -> list[str]:
    """Replace the recovery codes by new ones. Only their hashes are kept."""
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="recovery codes")
    codes = [StaticToken.random_token() for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create([StaticToken(device=device, token=hash_code(code)) for code in codes])
    return codes


def count_recovery_codes(user: User) -> int:
    return int(StaticToken.objects.filter(device__user=user).count())


@transaction.atomic
def verify_code(user: User, code: str) -> Device | None:
    """The device whose code this is, or None. A code works once; wrong codes delay the next try."""
    code = clean_code(code)
    kind, code = (AuthenticatorApp, code) if len(code) == 6 else (StaticDevice, hash_code(code))
    device = kind.objects.select_for_update().filter(user=user, confirmed=True).first()
    return device if device and _verify_by_database(device, code) else None


def _verify_by_database(device: Any, code: str) -> bool:
    """Whether the code is right now, by the database's clock. The device counts by this process's, which may be wrong:
    its moments are moved meanwhile.
    """
    wrong = timezone.now() - read_now()
    _move_moments(device, wrong)
    right = bool(device.verify_token(code))
    _move_moments(device, -wrong)
    device.save()
    return right


def _move_moments(device: Any, by: timedelta) -> None:
    if device.throttling_failure_timestamp:
        device.throttling_failure_timestamp += by
    if isinstance(device, AuthenticatorApp):
        device.t0 += round(by.total_seconds())


def clean_code(code: str) -> str:
    return code.replace(" ", "").replace("-", "").lower()


@transaction.atomic
def remove_second_factor(user: User) -> bool:
    """Remove the second factor. Returns whether there was one."""
    had = find_app(user) is not None
    AuthenticatorApp.objects.filter(user=user).delete()
    StaticDevice.objects.filter(user=user).delete()
    return had
