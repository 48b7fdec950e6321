"""A participant's whole way in a real Chromium, by keyboard alone: real rewards, real training, real clips.

Robots practise briefly, films are short (short_training.py).
"""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests import short_training
from tests.webapp.sites import BROWSER, serve

pytestmark = pytest.mark.slow

PAUSED = "[...document.querySelectorAll('.tile video')].map((video) => video.paused)"
SLOWLY = {"timeout": 400_000}
MOST_TABS = 60
LATER = """
from datetime import timedelta
from django.utils import timezone
from webapp.review.models import Vote
Vote.objects.update(created_at=timezone.now() - timedelta(seconds=601))
"""
MAKE_ROWS = """
from webapp.studies.models import CompletionCode, Question
study = rows.study(title='A pole that stays up', demonstration=True, task='Cartpole', k=2, n=2, seed=0, practice=True,
                   most_attempts=3, debriefing='It was about people and robots.')
Question.objects.create(study=study, text='May you leave?', answers='At any time\\nNever', correct=1)
CompletionCode.objects.create(study=study, outcome='finished', code='DONE-1')
CompletionCode.objects.create(study=study, outcome='withdrawn', code='LEFT-1')
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
out["finished"] = all(person.finished_at for person in [place.participant for place in experiment.assignments.all()])
"""


@pytest.fixture(scope="module")
def full_site(tmp_path_factory):
    """Everything: site, a worker of each kind and reaper under the supervisor."""
    python = short_training.python(tmp_path_factory.mktemp("python"))
    with serve(
        tmp_path_factory.mktemp("whole"), ["tests.webapp.few_workers"], python, PREFINE_UNDO_SECONDS="600"
    ) as site:
        yield site


@pytest.fixture
def page(full_site):
    """A page that notes what it is told and what goes wrong, and has no mouse."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**BROWSER)
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.set_default_timeout(120_000)
        page.complaints, page.told = [], []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("websocket", lambda socket: socket.on("framereceived", lambda data: page.told.append(data)))
        page.on("request", lambda asked: asked.url.startswith(full_site.url) or page.complaints.append(asked.url))
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


def is_kept(page: Page) -> None:
    """One goes on from the page that came, and from its beginning."""
    expect(page.locator("main")).to_be_focused()
    assert page.evaluate("scrollY") == 0


def before_the_rounds(page: Page) -> None:
    """The practice trial, and the check: wrong at first."""
    expect(page.get_by_text("Practice: it does not count")).to_be_visible()
    is_kept(page)
    page.keyboard.press("1")
    page.keyboard.press("Shift+Digit2")
    expect(page.get_by_role("button", name="Confirm")).to_be_enabled()
    press(page, "Confirm")
    press(page, "Go on")
    expect(page.locator("main").get_by_text("Is it clear?")).to_be_visible()
    for answer, button, then in (
        ("Never", "Go on", "Please try once more"),
        ("At any time", "Try again", "Round 1 of 2"),
    ):
        is_kept(page)
        reach(page, page.get_by_role("radio").first)
        page.keyboard.press("Space")
        if not page.get_by_role("radio", name=answer).is_checked():
            page.keyboard.press("ArrowDown")
        expect(page.get_by_role("radio", name=answer)).to_be_checked()
        press(page, button)
        expect(page.locator("main").get_by_text(then)).to_be_visible()
    is_kept(page)


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
    with_the_videos(page)
    reach(page, page.locator(".cannot summary"))
    page.keyboard.press("Enter")
    press(page, "I can’t tell these apart", "Space", role="checkbox")
    expect(page.get_by_role("button", name="Confirm")).to_be_enabled()
    reach(page, page.locator("#clip-A input[name=best]"))
    assert page.locator(".cannot[open]").count() == 0, "what one leaves covers nothing"
    page.keyboard.press("Space")
    reach(page, page.locator("#clip-A input[name=worst]"))
    page.keyboard.press("ArrowDown")
    expect(page.locator("#clip-A input[name=best]")).to_be_checked()
    expect(page.locator("#clip-B input[name=worst]")).to_be_checked()
    reach(page, page.locator(".why summary"))
    page.keyboard.press("Enter")
    press(page, "the pole falls", "Space", role="checkbox")
    expect(page.get_by_role("checkbox", name="the pole falls")).to_be_checked()
    reach(page, page.get_by_role("textbox", name="In your own words"))
    page.keyboard.type("B falls 1 2 ?")
    page.keyboard.press("Escape")
    expect(page.locator(".why summary")).to_be_focused()
    expect(page.get_by_role("button", name="Confirm")).to_be_enabled()
    press(page, "Confirm")
    expect(page.get_by_role("heading", name="Thank you, your choice is saved")).to_be_visible()


def with_the_videos(page: Page) -> None:
    """Enlarge one and come back, go to the end and the beginning, change the speed, stop repeating."""
    press(page, "Enlarge video B")
    expect(page.locator("#clip-B.is-large")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Enlarge video B")).to_be_focused()
    scrub = page.get_by_role("slider", name="Time")
    reach(page, scrub)
    page.keyboard.press("End")
    assert float(scrub.input_value()) > short_training.SECONDS - 0.1
    page.keyboard.press("Home")
    press(page, "Speed", "ArrowDown", role="combobox")
    expect(page.get_by_role("combobox")).to_have_value("1.5")
    press(page, "Repeat", "Space")
    expect(page.get_by_role("button", name="Repeat")).to_have_attribute("aria-pressed", "false")
    press(page, "Play")


def after_the_rounds(page: Page) -> None:
    """The debriefing, the code, and leaving even then."""
    expect(page.get_by_role("heading", name="What this study was about")).to_be_visible(**SLOWLY)
    is_kept(page)
    press(page, "I have read this")
    expect(page.get_by_text("Your winner")).to_be_visible()
    is_kept(page)
    expect(page.get_by_text("DONE-1")).to_be_visible()
    page.wait_for_function("() => !document.querySelector('.winner video').paused")


def leaves(page: Page) -> None:
    press(page, "Leave the study", role="link")
    expect(page.get_by_role("heading", name="Leave the study?")).to_be_visible()
    expect(page.get_by_text("Leaving now takes your part back")).to_be_visible()
    press(page, "Leave the study")
    expect(page.get_by_role("heading", name="You have left the study")).to_be_visible()
    expect(page.get_by_text("LEFT-1")).to_be_visible()


@pytest.mark.timeout(1800)
def test_a_participants_whole_way(full_site, page):
    """From the home page to the winner."""
    full_site.python(MAKE_ROWS)
    page.goto(full_site.url)
    press(page, "Start")
    press(page, re.compile("I have read this"), "Space", role="checkbox")
    press(page, "Agree and begin")
    expect(page.get_by_role("button", name="I am ready")).to_be_visible()
    press(page, "I am ready")
    before_the_rounds(page)

    for number, choose in ((1, by_keys), (2, by_tab)):
        expect(page.locator("#ballot")).to_be_visible(**SLOWLY)
        expect(page.get_by_text(f"Round {number} of 2")).to_be_visible()
        page.wait_for_function(f"() => {PAUSED}.length && {PAUSED}.every((paused) => !paused)")
        choose(page)
        full_site.python(LATER)

    expect(page.get_by_text("Which one is the best of all?")).to_be_visible(**SLOWLY)
    page.keyboard.press("1")
    confirm(page)
    full_site.python(LATER)
    after_the_rounds(page)
    assert not page.complaints
    assert page.told and all(json.loads(frame) in ({"type": "changed"}, {"type": "pong"}) for frame in page.told)

    outcome = full_site.python(OUTCOME)
    assert outcome["status"] == "finished" and outcome["finished"]
    assert (outcome["votes"], outcome["undone"]) == (3, 1)
    assert outcome["winner"] in [best for best, _ in outcome["rounds"]]
    assert set(outcome["parents"]) <= {outcome["rounds"][0][0]}, "the second round grows from the pick"
    leaves(page)
