"""A participant's whole way in a real Chromium, by keyboard alone: real rewards, real training, real clips."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.webapp.sites import BROWSER, serve

expect.set_options(timeout=120_000)
PAUSED = "[...document.querySelectorAll('.tile video')].map((video) => video.paused)"
SLOWLY = {"timeout": 400_000}
MOST_TABS = 60
LATER = """
from datetime import timedelta
from django.utils import timezone
from webapp.review.models import Vote
Vote.objects.update(created_at=timezone.now() - timedelta(seconds=601))
"""
OUTCOME = """
from webapp.experiments.models import Experiment, Candidate
from webapp.review.models import Vote
experiment = Experiment.objects.get()
out["status"] = experiment.status
out["rounds"] = [[i.best.key, i.worst.key] for i in experiment.iterations.all()]
out["parents"] = [c.parent.key for c in Candidate.objects.filter(iteration__number=2) if c.parent]
out["votes"] = Vote.objects.filter(undone_at=None).exclude(locked_at=None).count()
out["undone"] = Vote.objects.exclude(undone_at=None).count()
out["winner"] = experiment.winner.key
out["finished"] = all(person.finished_at for person in experiment.people)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Everything: site, workers and reaper under the supervisor."""
    with serve(tmp_path_factory.mktemp("whole"), ["webapp.supervisor"], PREFINE_UNDO_SECONDS="600") as site:
        yield site


@pytest.fixture
def page(whole):
    """A page that notes what it is told and what goes wrong, and has no mouse."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=BROWSER)
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.set_default_timeout(120_000)
        page.complaints, page.told = [], []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("websocket", lambda socket: socket.on("framereceived", lambda data: page.told.append(data)))
        page.on("request", lambda asked: asked.url.startswith(whole.url) or page.complaints.append(asked.url))
        yield page
        browser.close()


def reach(page: Page, wanted: Locator) -> None:
    """Walk by Tab until this is in focus."""
    expect(wanted).to_be_visible()
    for _ in range(MOST_TABS):
        if wanted.evaluate("(one) => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} cannot be reached by Tab")


def press(page: Page, name: str | re.Pattern[str], key: str = "Enter", role: str = "button") -> None:
    reach(page, page.get_by_role(role, name=name))
    page.keyboard.press(key)


def confirm(page: Page) -> None:
    expect(page.get_by_role("button", name="Confirm")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Thank you, your choice is saved")).to_be_visible()


def by_keys(page: Page) -> None:
    """The first round: by the keys that the help names, taken back, and chosen again."""
    page.keyboard.press("1")
    page.keyboard.press("Shift+Digit2")
    confirm(page)
    press(page, "Take it back")
    expect(page.locator("#clip-A input[name=best]")).to_be_checked()
    page.keyboard.press("2")
    page.keyboard.press("Shift+Digit1")
    confirm(page)


def by_tab(page: Page) -> None:
    """The second round: as somebody does who knows no keys but Tab, Space, arrows and Enter; with a reason."""
    reach(page, page.locator("#clip-A input[name=best]"))
    page.keyboard.press("Space")
    reach(page, page.locator("#clip-A input[name=worst]"))
    page.keyboard.press("ArrowDown")
    expect(page.locator("#clip-A input[name=best]")).to_be_checked()
    expect(page.locator("#clip-B input[name=worst]")).to_be_checked()
    reach(page, page.locator(".why summary"))
    page.keyboard.press("Enter")
    press(page, "falls over", "Space", role="checkbox")
    expect(page.get_by_role("checkbox", name="falls over")).to_be_checked()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Confirm")).to_be_enabled()
    press(page, "Confirm")
    expect(page.get_by_role("heading", name="Thank you, your choice is saved")).to_be_visible()


@pytest.mark.timeout(1800)
def test_a_participants_whole_way(whole, page):
    """From the home page to the winner."""
    whole.python("rows.study(title='A pole that stays up', demonstration=True, task='Cartpole', k=3, n=2, seed=0)")
    page.goto(whole.url)
    press(page, "Start")
    press(page, re.compile("I have read this"), "Space", role="checkbox")
    press(page, "Agree and begin")
    expect(page.get_by_role("button", name="I am ready")).to_be_visible()
    whole.python("rows.Experiment.objects.update(overrides={'iterations': 12})")
    press(page, "I am ready")
    expect(page.get_by_role("progressbar")).to_be_visible()

    for number, choose in ((1, by_keys), (2, by_tab)):
        expect(page.locator("#ballot")).to_be_visible(**SLOWLY)
        expect(page.get_by_text(f"Round {number} of 2")).to_be_visible()
        page.wait_for_function(f"() => {PAUSED}.length && {PAUSED}.every((paused) => !paused)")
        choose(page)
        whole.python(LATER)

    expect(page.get_by_text("Which one is the best of all?")).to_be_visible(**SLOWLY)
    page.keyboard.press("1")
    confirm(page)
    whole.python(LATER)
    expect(page.get_by_text("Your winner")).to_be_visible(**SLOWLY)
    page.wait_for_function("() => !document.querySelector('.winner video').paused")
    assert not page.complaints
    assert page.told and all(json.loads(frame) in ({"type": "changed"}, {"type": "pong"}) for frame in page.told)

    outcome = whole.python(OUTCOME)
    assert outcome["status"] == "finished" and outcome["finished"]
    assert (outcome["votes"], outcome["undone"]) == (3, 1)
    assert outcome["winner"] in [best for best, _ in outcome["rounds"]]
    assert set(outcome["parents"]) <= {outcome["rounds"][0][0]}, "the second round grows from the pick"
