"""The wizard in a real browser: what is typed is saved, errors stand at their fields, buttons wait for both."""

import re

import pytest
from playwright.sync_api import expect

from tests.webapp.sites import PATIENCE

pytestmark = pytest.mark.slow


STAFF = """
from django.conf import settings
from django.test import Client
from tests.webapp import bench_rows
client = Client()
client.force_login(bench_rows.create_staff())
out["cookie"] = {"name": settings.SESSION_COOKIE_NAME, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}
"""


@pytest.fixture(scope="module")
def cookie(site):
    return {**site.python(STAFF)["cookie"], "url": site.url}


DRAFT = """
from webapp.studies.starts import start_study
out["study"] = start_study("Cartpole", ["icpl"], None).pk
"""


@pytest.fixture
def open_page(chromium, cookie):
    """Opens a page of a signed-in browser."""
    contexts = []

    def open_one(**values):
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", **values)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.add_cookies([cookie])
        return context.new_page()

    yield open_one
    for context in contexts:
        context.close()


def test_what_is_typed_into_a_draft_is_saved_without_a_button(site, open_page):
    page = open_page()
    address = f"{site.url}/bench/studies/{site.python(DRAFT)['study']}/setup/texts/"
    page.goto(address)
    saved = page.locator("#saved")
    page.get_by_label("Contact").first.fill("ada@example.org")
    expect(saved).to_contain_text("Saved")
    expect(page.locator("#id_consent_text")).to_have_value(re.compile("Contact. ada@example.org"))
    page.get_by_label("Title").first.fill("")
    expect(page.locator("#id_title_error")).to_have_text("This field is required.")
    expect(page.get_by_label("Title").first).to_have_attribute("aria-invalid", "true")
    expect(saved).to_have_text("Not saved: a field needs another look.")
    page.get_by_label("Title").first.fill("How people judge")
    expect(saved).to_contain_text("Saved")
    expect(page.locator("#id_title_error")).to_have_count(0)
    expect(page.locator("#crumb")).to_contain_text("How people judge")
    expect(page.locator("#consent-follows")).to_contain_text("written from the study's facts")
    page.get_by_role("checkbox", name="Deutsch").check()
    expect(page.locator("[data-language=de]")).to_contain_text(re.compile("Deutsch: [1-9]"))
    page.get_by_role("button", name="Save and write them in Deutsch").click()
    expect(page.get_by_role("heading", name="Your texts in Deutsch")).to_be_visible()
    expect(page.get_by_text(re.compile("2 of .* written"))).to_be_visible()
    page.get_by_role("button", name="Save and go back").click()
    expect(page.get_by_label("Title").first).to_have_value("How people judge")
    page.get_by_label("Contact").first.press_sequentially("!")
    page.get_by_role("button", name="Save and go on").last.click()
    page.wait_for_url(re.compile("/setup/end/"))
    page.goto(address)
    expect(page.locator("#id_consent_text")).to_have_value(re.compile("Contact. !ada@example.org"))
    page.context.set_offline(True)
    page.get_by_label("Title").first.fill("How people judge robots")
    expect(saved).to_contain_text("Prefine does not answer")


def test_what_stands_open_stays_open_when_a_draft_is_saved(site, open_page):
    page = open_page()
    page.goto(f"{site.url}/bench/studies/{site.python(DRAFT)['study']}/setup/people/")
    page.get_by_role("radio", name="Prolific").check()
    page.get_by_role("button", name="Propose a code for every outcome at Prolific").click()
    page.get_by_text("Type and action of each code there").click()
    page.locator("[name=quota]").fill("31")
    expect(page.locator("#at-prolific")).to_contain_text("Places: 31")
    expect(page.get_by_role("region", name="Codes at Prolific")).to_be_visible()


def test_a_start_is_offered_for_the_tasks_that_have_it_alone(site, open_page):
    page = open_page()
    page.goto(f"{site.url}/bench/studies/{site.python(DRAFT)['study']}/setup/compare/")
    task, start = (page.locator(f"select[name=arms-0-{name}]") for name in ("task", "training_start"))
    stays_up = start.locator("option[value=upright]")
    expect(stays_up).to_be_disabled()
    task.select_option("HumanoidJump")
    expect(stays_up).to_be_enabled()
    start.select_option("upright")
    task.select_option("Ant")
    expect(stays_up).to_be_disabled()
    expect(start).to_have_value("random")


def test_a_refused_form_leads_to_its_first_error(site, open_page):
    page = open_page()
    page.goto(f"{site.url}/bench/studies/{site.python(DRAFT)['study']}/questionnaires/")
    page.get_by_role("button", name="Empty questionnaire").click()
    page.get_by_role("link", name="+ Single choice").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()


def test_times_are_told_on_the_clock_of_who_reads_them(site, open_page):
    page = open_page(timezone_id="America/New_York")
    page.goto(f"{site.url}/bench/studies/{site.python(DRAFT)['study']}/setup/end/")
    told = page.locator("#local-times")
    expect(told).to_have_text("")
    page.get_by_label("Opens at (UTC)").fill("2027-07-01T02:30")
    expect(told).to_have_text("In your time zone (America/New_York) it opens 30 Jun 2027, 22:30.")
    page.get_by_label("Closes at (UTC)").fill("2027-07-09T16:00")
    expect(told).to_contain_text(", and it closes 9 Jul 2027, 12:00.")
