"""Wrong passwords and codes, and the address that they come from."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, RequestFactory

from tests.webapp.test_roles import PASSWORD, account, sign_in, with_app
from webapp.accounts.addresses import read_client_address
from webapp.bench.account import lockout

pytestmark = pytest.mark.django_db


@pytest.fixture
def low_limits(settings: Any) -> None:
    settings.AXES_FAILURE_LIMIT = 3


def test_an_account_is_closed_for_a_while(low_limits: None) -> None:
    account()
    for number in range(2):
        assert sign_in(Client(REMOTE_ADDR=f"10.0.0.{number}"), password="wrong").status_code == 200
    assert sign_in(Client(REMOTE_ADDR="10.0.0.9"), password="wrong").status_code == 429
    answer = sign_in(Client(REMOTE_ADDR="10.0.0.10"))
    assert answer.status_code == 429 and "about 10 more minutes" in answer.content.decode()
    account("ann")
    assert sign_in(Client(REMOTE_ADDR="10.0.0.10"), name="ann").status_code == 302


def test_an_address_is_closed_for_a_while(low_limits: None) -> None:
    account()
    for number in range(3):
        sign_in(Client(REMOTE_ADDR="10.0.0.1"), password="wrong", name=f"nobody{number}")
    assert sign_in(Client(REMOTE_ADDR="10.0.0.1")).status_code == 429
    assert sign_in(Client(REMOTE_ADDR="10.0.0.2")).status_code == 302


def test_it_opens_again_and_addresses_are_forgotten(low_limits: None, settings: Any) -> None:
    from axes.models import AccessAttempt

    account()
    for _ in range(3):
        sign_in(Client(REMOTE_ADDR="10.0.0.1"), password="wrong")
    assert sign_in(Client(REMOTE_ADDR="10.0.0.1")).status_code == 429
    AccessAttempt.objects.update(attempt_time="2020-01-01T00:00:00Z")
    assert sign_in(Client(REMOTE_ADDR="10.0.0.1")).status_code == 302
    sign_in(Client(REMOTE_ADDR="10.0.0.2"), password="wrong")
    assert set(AccessAttempt.objects.values_list("ip_address", flat=True)) == {"10.0.0.2"}


def test_wrong_codes_close_the_account_too(low_limits: None) -> None:
    with_app(account())
    for _ in range(3):
        answer = sign_in(Client(), "000000")
    assert answer.status_code == 429


def test_no_password_or_code_is_kept(low_limits: None) -> None:
    from axes.models import AccessAttempt

    with_app(account())
    sign_in(Client(), "271828")
    kept = str(AccessAttempt.objects.values())
    assert PASSWORD not in kept and "271828" not in kept


def test_the_message_without_anything_counted() -> None:
    request = RequestFactory().get("/")
    assert lockout.respond_locked_out(request).status_code == 429


# --- where a request comes from ---


@pytest.mark.parametrize(
    ("proxies", "header", "expected"),
    [
        (0, "6.6.6.6", "10.0.0.1"),  # nobody said that there is a proxy: anybody can write this header
        (1, "6.6.6.6", "6.6.6.6"),
        (1, "1.2.3.4, 6.6.6.6", "6.6.6.6"),  # what the client wrote itself stands further left
        (2, "1.2.3.4, 6.6.6.6, 10.0.0.7", "6.6.6.6"),
        (2, "6.6.6.6", "10.0.0.1"),  # it did not come through all of them
        (1, "rubbish", "0.0.0.0"),
        (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        (1, "::ffff:6.6.6.6", "6.6.6.6"),
    ],
)
def test_the_address_behind_proxies(proxies: int, header: str, expected: str, settings: Any) -> None:
    settings.PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=header)
    assert read_client_address(request) == expected
