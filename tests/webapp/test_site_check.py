"""The doctor on the page of the workers."""

import subprocess

import pytest
from django.urls import reverse

from tests.webapp.test_roles import account, signed_in
from webapp.accounts import roles
from webapp.bench.experiments import site_check
from webapp.bench.experiments.site_check import Finding

ADDRESS = "/bench/workers/site-check/"


@pytest.mark.slow
def test_the_doctor_says_each_finding_as_json(tmp_path, monkeypatch):
    """A real run, without a database: what it depends on is away, and it says so once each, without the password."""
    monkeypatch.setenv("PREFINE_DATA", str(tmp_path))
    monkeypatch.setenv("PREFINE_DATABASE_URL", "postgres://nobody:SECRET@127.0.0.1:9/none")
    findings = site_check.run_doctor()
    found = {one.about: one for one in findings}
    database = found["database"]
    assert database.state == "fail" and database.advice and "OperationalError" in database.text
    away = [one.about for one in findings if one.text == "not looked at, because the database is away"]
    assert away == ["migrations", "clock", "workers"] and "SECRET" not in str(findings)
    assert found["ffmpeg"].state == "ok" and found["disk"].look in site_check.LOOKS.values()


@pytest.mark.django_db
def test_what_fails_comes_first(staff, monkeypatch):
    found = [Finding("disk", "ok", "1 GB is free", ""), Finding("clock", "fail", "<9 s away>", "keep it in time")]
    monkeypatch.setattr(site_check, "run_doctor", lambda: found)
    page = staff.post(ADDRESS).text
    assert page.index("&lt;9 s away&gt;") < page.index("1 GB is free") and "keep it in time" in page


@pytest.mark.django_db
def test_a_doctor_that_does_not_end_is_told(staff, monkeypatch):
    def hang():
        raise subprocess.TimeoutExpired("doctor", site_check.SECONDS)

    monkeypatch.setattr(site_check, "run_doctor", hang)
    assert "broke off: TimeoutExpired" in staff.post(ADDRESS).text


@pytest.mark.django_db
def test_only_administrators_look(monkeypatch):
    monkeypatch.setattr(site_check, "run_doctor", list)
    experimenter = signed_in(account(role=roles.Role.EXPERIMENTER))
    assert experimenter.post(ADDRESS).status_code == 403
    assert "Look now" not in experimenter.get(reverse("bench:workers")).text
    assert "Look now" in signed_in(account("root", roles.Role.ADMINISTRATOR)).get(reverse("bench:workers")).text


@pytest.mark.django_db
def test_a_doctor_that_dies_on_the_way_is_no_whole_answer(staff, monkeypatch):
    line = '{"about": "disk", "state": "ok", "text": "1 GB is free", "advice": ""}'
    done = subprocess.CompletedProcess([], 1, f"{line}\n", "Traceback")
    monkeypatch.setattr(site_check.subprocess, "run", lambda *args, **kwargs: done)
    page = staff.post(ADDRESS).text
    assert "broke off: ValueError" in page and "1 GB is free" not in page


@pytest.mark.django_db
def test_one_looks_at_a_time(staff, monkeypatch):
    monkeypatch.setattr(site_check, "run_doctor", list)
    with site_check.ALONE:
        assert "It is looking already" in staff.post(ADDRESS).text
    assert "It is looking already" not in staff.post(ADDRESS).text


@pytest.mark.django_db
def test_without_javascript_the_answer_is_a_page(staff, monkeypatch):
    monkeypatch.setattr(site_check, "run_doctor", list)
    assert "<h1>Is this site well?</h1>" in staff.post(ADDRESS).text
    assert "<h1>" not in staff.post(ADDRESS, headers={"HX-Request": "true"}).text
