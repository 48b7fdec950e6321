"""Sessions and passwords of staff, what browsers keep of their pages, and a database that is locked."""

import os
import subprocess
import sys
import time

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from tests.webapp.servers import ROOT
from tests.webapp.test_roles import account, signed_in
from webapp.accounts import sessions
from webapp.studio import views

pytestmark = pytest.mark.django_db


def age(client, seconds):
    session = client.session
    session[sessions.SEEN] = int(time.time()) - seconds
    session.save()


def test_an_idle_session_ends_and_looking_for_news_is_no_use(settings):
    settings.IDLE_HOURS = 2
    client = signed_in(account())
    assert client.get(reverse("bench:index")).status_code == 200
    assert client.session[sessions.SEEN]
    age(client, 3600)
    before = client.session[sessions.SEEN]
    client.get(reverse("bench:index"), headers={"HX-Request": "true"})
    assert client.session[sessions.SEEN] == before
    key = client.session.session_key
    assert sessions.is_staff(key)
    age(client, 3 * 3600)
    assert not sessions.is_staff(key)
    answer = client.get(reverse("bench:index"))
    assert answer.status_code == 302 and answer.headers["Location"].startswith(reverse("admin:login"))


@pytest.mark.slow
def test_a_person_sees_and_ends_other_sessions():
    user, other = account(), account("zoe")
    here, there, of_another = signed_in(user), signed_in(user), signed_in(other)
    for client in (here, there, of_another):
        client.get(reverse("bench:index"))
    page = here.get(reverse("account:account")).content.decode()
    assert page.count("Another browser") == 1 and page.count("This browser") == 1
    assert there.session.session_key not in page
    (name,) = [one.name for one in sessions.list_sessions(user, here.session.session_key) if not one.current]
    of_another.post(reverse("account:end_session", args=[name]))
    assert there.get(reverse("bench:index")).status_code == 200
    here.post(reverse("account:end_session", args=[name]))
    assert there.get(reverse("bench:index")).status_code == 302
    assert here.get(reverse("bench:index")).status_code == 200


@pytest.mark.parametrize("place", ["bench:index", "admin:index", "admin:login", "account:account"])
def test_staffs_pages_stay_in_no_cache(place):
    answer = signed_in(account()).get(reverse(place))
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("password", ["evelyn1234", "prefine2026", "Evelyn-prefine-1", "lovelace!!22"])
def test_passwords_near_the_name_are_refused(password):
    user = User(username="evelyn", email="e.lovelace@lab.example")
    with pytest.raises(ValidationError):
        validate_password(password, user)


def test_a_long_password_may_hold_a_name():
    validate_password("evelyn walks seven robots", User(username="evelyn"))


def test_a_locked_database_gives_a_page_that_tries_again(monkeypatch):
    """After 20 s of a locked SQLite a participant read an error."""

    def fail(request):
        raise OperationalError("database is locked")

    monkeypatch.setattr(views, "render", lambda *_, **__: fail(None))
    answer = Client(raise_request_exception=False).get(reverse("home"))
    assert answer.status_code == 503 and answer.headers["Refresh"] == "10" == answer.headers["Retry-After"]
    assert "Nothing that was saved is lost" in answer.content.decode()


@pytest.mark.slow
@pytest.mark.parametrize(("address", "seconds"), [("https://p.example", 31_536_000), ("http://p.example", 0)])
def test_browsers_stay_with_https(address, seconds):
    environment = os.environ | {"PREFINE_URL": address, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    code = "from django.conf import settings as s; print(s.SECURE_HSTS_SECONDS)"
    assert int(subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=environment)) == seconds
