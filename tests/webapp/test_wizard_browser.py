"""An experimenter takes a study of two arms with a questionnaire from nothing to open, in a real browser."""

import re

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.webapp.sites import BROWSER, serve

pytestmark = pytest.mark.slow

MOST_CLICKS = 40
STAFF = """
from django.conf import settings
from django.test import Client
from tests.webapp import bench_rows
client = Client()
client.force_login(bench_rows.create_staff())
out["cookie"] = {"name": settings.SESSION_COOKIE_NAME, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    command = ["uvicorn", "webapp.asgi:application", "--lifespan", "off", "--log-level", "warning"]
    with serve(tmp_path_factory.mktemp("site"), command) as site:
        yield site


@pytest.fixture(scope="module")
def cookie(site):
    return {**site.python(STAFF)["cookie"], "url": site.url}


class Walk:
    """A browser that counts clicks. A choice in a list counts as two: open it, choose."""

    def __init__(self, page):
        self.page, self.clicks = page, 0

    def press(self, role, name):
        self.page.get_by_role(role, name=name, exact=True).first.click()
        self.clicks += 1

    def choose(self, label, value, form):
        self.page.get_by_role("form", name=form).get_by_label(label).select_option(value)
        self.clicks += 2

    def type(self, label, text):
        """A click into the field, and the text."""
        self.page.get_by_label(label).first.fill(text)
        self.clicks += 1


DRAFT = """
from webapp.studies.starts import start_study
out["study"] = start_study("Cartpole", ["icpl"], None).pk
"""


def open_page(cookie, playwright):
    browser = playwright.chromium.launch(**BROWSER)
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.add_cookies([cookie])
    return context.new_page()


def test_what_is_typed_into_a_draft_is_saved_without_a_button(site, cookie):
    with sync_playwright() as playwright:
        page = open_page(cookie, playwright)
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
        page.get_by_role("checkbox", name="Deutsch").check()
        page.get_by_role("button", name="Save and write them in Deutsch").click()
        expect(page.get_by_role("heading", name=re.compile("Deutsch: 0 of"))).to_be_visible()
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
        page.context.browser.close()


def test_two_arms_and_a_questionnaire_are_open_within_forty_clicks(site, cookie):
    with sync_playwright() as playwright:
        page = open_page(cookie, playwright)
        page.goto(f"{site.url}/bench/")
        walk = Walk(page)
        walk.press("link", "Studies")
        walk.press("link", "New study")
        walk.choose("Task", "Cartpole", "Compare two methods on a task")
        walk.press("button", "Begin with two arms")
        expect(page.get_by_role("heading", name="What to compare")).to_be_visible()
        walk.press("button", "Save and go on")
        walk.press("radio", "Prolific: one open link, with Prolific's ids")
        walk.press("button", "Propose a code for every outcome at Prolific")
        walk.press("button", "Save and go on")
        walk.type("Contact", "ada@example.org")
        walk.press("button", "Propose questions")
        walk.press("button", "Save and edit questionnaires")
        walk.press("button", "System Usability Scale")
        walk.press("link", "Questionnaires")
        walk.press("link", "Back to “What they read”")
        walk.press("button", "Save and go on")
        walk.type("Ethics protocol", "2026-17")
        walk.type("Valid until", "2999-12-31")
        walk.press("button", "Save and go on")
        for caution in page.get_by_role("checkbox").all():
            caution.check()
            walk.clicks += 1
        walk.press("button", "Open the study")
        expect(page.get_by_text("The study is open").or_(page.get_by_text("This study is open")).first).to_be_visible()
        people = site.python("""
from webapp.studies.models import Study
study = Study.objects.get(status="open")
out["link"] = f"/take/{study.open_link}/?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=x"
out["statements"] = len(study.questionnaires.get().items.get(kind="grid").statements.splitlines())
out["arms"] = study.arms.count()
""")
        assert (people["statements"], people["arms"]) == (10, 2)
        visitor = page.context.browser.new_page()
        visitor.goto(site.url + people["link"])
        expect(visitor.get_by_role("button", name="Agree and begin")).to_be_visible()
        page.context.browser.close()
    print(walk.clicks, "clicks")
    assert walk.clicks <= MOST_CLICKS
