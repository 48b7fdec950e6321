"""The "tell me" part in Chromium. Its push service cannot be reached from here: what it would deliver, the protocol of
the developer tools hands to the service worker instead; encryption and sending are in test_notices.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright

from tests.webapp.sites import WHOLE_BROWSER, Site

pytestmark = pytest.mark.slow

WAIT = 120_000
PEOPLE = """
study = rows.study(notify_email=True, notify_push=True)
person = rows.participant(study)
rows.create_round(person)
rows.open_training(person)
out["path"] = person.get_absolute_url()
other = rows.participant(rows.study(title="No notices"))
rows.create_round(other)
rows.open_training(other)
out["without"] = other.get_absolute_url()
"""


@pytest.fixture(scope="module")
def paths(site: Site) -> dict[str, str]:
    return site.python(PEOPLE)


@pytest.fixture(scope="module")
def whole_chromium(playwright: Playwright) -> Iterator[Browser]:
    """With notifications."""
    browser = playwright.chromium.launch(**WHOLE_BROWSER)
    yield browser
    browser.close()


@pytest.fixture
def page(site: Site, paths: dict[str, str], whole_chromium: Browser) -> Iterator[Page]:
    context = whole_chromium.new_context(base_url=site.url, timezone_id="Asia/Tokyo")
    context.set_default_timeout(WAIT)
    context.grant_permissions(["notifications"])
    opened = context.new_page()
    opened.goto(paths["path"])
    yield opened
    context.close()


def test_a_push_shows_a_notification_and_a_failed_subscription_says_what_remains(page: Page, site: Site) -> None:
    page.get_by_role("button", name="Tell me in this browser").click()
    page.get_by_text("as long as this page stays open in some tab").wait_for()
    protocol: Any = page.context.new_cdp_session(page)
    registrations: list[str] = []

    def note(told: dict[str, Any]) -> None:
        registrations.extend(row["registrationId"] for row in told["registrations"])

    protocol.on("ServiceWorker.workerRegistrationUpdated", note)
    protocol.send("ServiceWorker.enable")
    while not registrations:
        page.wait_for_timeout(100)
    message = '{"title": "Your next round is ready", "body": "x", "url": "//evil.example/", "tag": "t"}'
    told = {"origin": site.url, "registrationId": registrations[0], "data": message}
    shown = """async () => {
      const worker = await navigator.serviceWorker.getRegistration(location.pathname);
      const all = await worker.getNotifications();
      return all.map((one) => [one.title, one.tag, one.data.url, worker.scope]);
    }"""
    for _ in range(20):  # a busy machine's Chromium sometimes forgets a notification that is asked for while it appears
        protocol.send("ServiceWorker.deliverPushMessage", told)
        page.wait_for_timeout(5_000)
        if notes := page.evaluate(shown):
            break
    assert notes == [["Your next round is ready", "t", "/", page.url]]  # to no other site, and for this link alone


def test_leaving_an_address_and_taking_it_back(page: Page, paths: dict[str, str]) -> None:
    page.get_by_label("Or by e-mail").fill("ada@example.org")
    page.get_by_label("Or by e-mail").press("Enter")
    page.get_by_text("We will write to a…@example.org").wait_for()
    assert page.get_by_text("Times are given for Asia/Tokyo").is_visible()
    page.get_by_role("button", name="Delete my address").click()
    page.get_by_text("Your address is deleted").wait_for()
    assert page.get_by_label("Or by e-mail").input_value() == ""
    page.goto(paths["without"])  # a study that sends none: a page that is open tells by itself
    page.get_by_text("We will tell you here").wait_for()
