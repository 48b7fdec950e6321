from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

pytestmark = pytest.mark.django_db


def create() -> str:
    out = StringIO()
    call_command("create_administrator", stdout=out)
    return out.getvalue()


def test_the_password_is_drawn_and_shown_once() -> None:
    shown = create().partition("password: ")[2].split()[0]
    assert get_user_model().objects.get(username="admin").check_password(shown)
    assert create() == ""


def test_a_password_that_is_given_is_never_shown(settings: Any) -> None:
    settings.ADMIN_PASSWORD = "of the secret's file"
    assert settings.ADMIN_PASSWORD not in create()
    assert get_user_model().objects.get(username="admin").check_password(settings.ADMIN_PASSWORD)
    settings.ADMIN_PASSWORD = "another one later"
    assert create() == ""
    assert get_user_model().objects.get(username="admin").check_password("of the secret's file")
