"""What the environment makes of the settings, in a process of its own."""

import os
import subprocess
import sys

import pytest

from tests.webapp.servers import ROOT
from webapp.supervisor import format_address


def settings_with(**environment):
    code = "from django.conf import settings as s; print(s.ALLOWED_HOSTS[-1], *s.CSRF_TRUSTED_ORIGINS)"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "webapp.settings", **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "url, host",
    [
        (format_address("192.0.2.7", 8080), "192.0.2.7"),
        (format_address("2001:db8::7", 8080), "[2001:db8::7]"),
        ("https://robots.example.org", "robots.example.org"),
    ],
)
def test_the_site_answers_under_its_own_address_and_takes_its_own_forms(url, host):
    assert settings_with(PREFINE_URL=url).stdout.split() == [host, url]


def test_a_key_that_a_full_disk_left_empty_is_drawn_again(tmp_path):
    (tmp_path / "secret_key").touch()
    assert settings_with(PREFINE_DATA=str(tmp_path)).returncode == 0
    assert (tmp_path / "secret_key").read_text()


def test_an_address_that_is_none_is_named():
    assert "PREFINE_URL must be http://" in settings_with(PREFINE_URL="robots.example.org").stderr
