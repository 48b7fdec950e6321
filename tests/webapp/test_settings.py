"""What the environment makes of the settings, in a process of its own."""

import os
import re
import subprocess
import sys

import pytest

from tests.webapp.servers import ROOT
from webapp.supervisor import format_address

HOSTS = "from django.conf import settings as s; print(s.ALLOWED_HOSTS[-1], *s.CSRF_TRUSTED_ORIGINS)"


def settings_with(code=HOSTS, **environment):
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


@pytest.mark.slow
def test_prompts_of_ones_own_that_do_not_fit_stop_the_start(tmp_path):
    (tmp_path / "reason.txt").write_text("The judge says nothing.")
    start = "import runpy, sys; sys.argv = ['manage.py', 'check']; runpy.run_path('manage.py', run_name='__main__')"
    said = settings_with(start, PREFINE_PROMPTS=str(tmp_path)).stderr
    assert said.startswith("settings: ") and "reason.txt lacks $reason" in said and "Traceback" not in said
    (tmp_path / "reason.txt").write_text("The judge says: $reason")
    assert settings_with(PREFINE_PROMPTS=str(tmp_path)).returncode == 0


@pytest.mark.slow
def test_a_secret_may_stand_in_a_file(tmp_path):
    """Docker's secrets are files; what stands in the environment can be read with `docker inspect`."""
    (tmp_path / "secret").write_text("of the file\n")
    code = "from django.conf import settings as s; print(s.SECRET_KEY)"
    files = {"PREFINE_SECRET_KEY": "of the environment", "PREFINE_SECRET_KEY_FILE": str(tmp_path / "secret")}
    assert settings_with(code, **files).stdout == "of the file\n"
    (tmp_path / "secret").unlink()
    assert "No such file" in settings_with(code, **files).stderr


def list_variables() -> set[str]:
    """Every variable that the product reads."""
    packages = ("webapp", "trainer", "simulation", "llm", "programs")
    sources = [ROOT / "prefine", *(path for name in packages for path in ROOT.glob(f"{name}/**/*.py"))]
    return {name for path in sources for name in re.findall(r"PREFINE_[A-Z0-9_]*[A-Z0-9]\b", path.read_text())}


def test_every_variable_is_documented_and_every_documented_one_is_read():
    rows = re.findall(r"^\| (`PREFINE_.*?) \|", (ROOT / "docs/settings.md").read_text(), re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(list_variables())
