"""A study of two arms with a questionnaire: set up from nothing, piloted, opened, gone through by four people on
desktop and phone in two languages, exported; the notebook of the export gives the numbers of the results page.

Real browsers and a real site; workers' results are made up (fake_workers.py).
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path

import pytest
from django.utils import translation
from django.utils.translation import gettext
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.webapp.analysis import NOTEBOOK, run_analysis
from tests.webapp.sites import BROWSER, WEB_PROCESS, Site, serve

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]
"""The walk takes two minutes of processor time; others hold its parts."""


MOST_CLICKS = 40
MOST_ROUNDS = 5
STAFF = """
from django.conf import settings
from django.test import Client
from tests.webapp import bench_rows
client = Client()
client.force_login(bench_rows.create_staff())
out["cookie"] = {"name": settings.SESSION_COOKIE_NAME, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}
"""
OPENED = """
from webapp.studies.models import Study
study = Study.objects.get()
out["study"], out["status"] = study.pk, study.status
out["link"] = f"/take/{study.open_link}/?STUDY_ID=s"
out["arms"] = [[arm.method, arm.k, arm.n] for arm in study.arms.all()]
out["asked"] = [one.score for one in study.questionnaires.all()]
out["pilots"] = study.participants.filter(pilot=True).exclude(consented_at=None).count()
"""
WORK = """
from datetime import timedelta
from django.db.models import F
from django.utils import timezone
from tests.webapp import bench_rows, fake_workers
from webapp.experiments.models import Candidate, Experiment, ModelCall, Run
from webapp.review import ballot
from webapp.review.models import Vote
from webapp.studies import enrolment
Vote.objects.update(created_at=timezone.now() - timedelta(days=1))
ballot.lock_due_votes()
for row in Experiment.objects.filter(assignments__participant__pilot=False).exclude(status="finished"):
    fake_workers.do_work(row)
    ModelCall.objects.all().delete()
    Run.objects.all().delete()
    bench_rows.add_worker_results(row)
    Candidate.objects.filter(iteration__experiment=row, final_score=None).update(final_score=F("rts") - row.pk / 7)
enrolment.finish_due()
out["left"] = Experiment.objects.filter(assignments__participant__pilot=False).exclude(status="finished").count()
"""
EXPORTED = """
from pathlib import Path
from webapp.archive import export
from webapp.archive.study_scope import Options
from webapp.studies.models import Participant, Study
export.write_export(Study.objects.get(), Path(PATH), Options(clips=False))
people = Participant.objects.filter(pilot=False)
out["languages"] = sorted(people.values_list("language", flat=True))
out["outcomes"] = sorted(people.values_list("outcome", flat=True))
"""
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PEOPLE = (("p1", "en-US", {}), ("p2", "de-DE", {}), ("p3", "en-US", PHONE), ("p4", "de-DE", PHONE))
GERMAN_TITLE = "Wie Menschen Roboter beurteilen"


@pytest.fixture
def site(tmp_path_factory):
    with serve(tmp_path_factory.mktemp("site"), WEB_PROCESS, PREFINE_UNDO_SECONDS="600") as site:
        yield site


class Walk:
    """A browser that counts clicks. A choice in a list counts as two: open it, choose."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def press(self, role: str, name: str) -> None:
        self.page.get_by_role(role, name=name, exact=True).first.click()  # type: ignore[arg-type]
        self.clicks += 1

    def choose(self, label: str, value: str, form: str) -> None:
        self.page.get_by_role("form", name=form).get_by_label(label).select_option(value)
        self.clicks += 2

    def type(self, label: str, text: str, place: int = 0) -> None:
        """A click into the field, and the text."""
        self.page.get_by_label(label).nth(place).fill(text)
        self.clicks += 1


class Visitor:
    """A participant, who reads the pages in one language."""

    def __init__(self, browser: Browser, site: Site, link: str, name: str, locale: str, device: dict) -> None:
        wanted = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", "locale": locale}
        self.page = browser.new_context(**{**wanted, **device}).new_page()
        self.page.set_default_timeout(120_000)
        self.language, self.number = locale[:2], int(name[1:])
        self.page.goto(f"{site.url}{link}&PROLIFIC_PID={name}&SESSION_ID=s{name}")

    def say(self, text: str) -> str:
        with translation.override(self.language):
            return gettext(text)

    def press(self, text: str) -> None:
        self.page.get_by_role("button", name=self.say(text)).click()

    def see(self, heading: str) -> None:
        expect(self.page.get_by_role("heading", name=self.say(heading))).to_be_visible()

    def begin(self) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(
            GERMAN_TITLE if self.language == "de" else "How people judge robots"
        )
        self.page.get_by_role("checkbox").check()
        self.press("Agree and begin")
        self.press("I am ready")
        expect(self.page.locator("#live")).to_have_attribute("data-state", "waiting")

    def judge(self) -> None:
        """Choose in the round or among the winners, if that is asked now."""
        self.page.reload()
        ballot = self.page.locator("#ballot")
        if not ballot.count():
            return
        letters = "ABC"[self.number % 3 :] + "ABC"[: self.number % 3]
        shown = [letter for letter in letters if self.page.locator(f"#clip-{letter}").count()]
        self.page.locator(f"#clip-{shown[0]} .pick.best").click()
        if not self.page.locator("#ballot.final").count():
            self.page.locator(f"#clip-{shown[1]} .pick.worst").click()
        self.page.locator("[data-do=play]").click()
        for letter in shown:  # a phone shows one at a time
            clip = self.page.locator(f"#clip-{letter}")
            clip.scroll_into_view_if_needed()
            expect(clip).to_have_class(re.compile("is-watched"))
        self.press("Confirm")
        self.see("Thank you, your choice is saved")

    def end(self) -> None:
        """The questionnaire, and the code."""
        self.page.reload()
        for row in range(10):
            step = (self.number + 3 * row) % 5 + 1
            self.page.locator(".grid-row").nth(row).locator(f'input[value="{step}"]').check()
        self.press("Send my answers")
        self.see("Thank you")
        expect(self.page.locator("#completion-code")).to_have_text(re.compile(r"^\w{8}$"))


def set_up(walk: Walk) -> None:
    """From the bench's first page to the last check, and a pilot."""
    page = walk.page
    walk.press("link", "Studies")
    walk.press("link", "New study")
    walk.choose("Task", "Cartpole", "Compare two methods on a task")
    walk.press("button", "Begin with two arms")
    expect(page.get_by_role("heading", name="What to compare")).to_be_visible()
    for arm in range(2):
        page.locator(f"#id_arms-{arm}-k").fill("3")
        page.locator(f"#id_arms-{arm}-n").fill("2")
        walk.clicks += 2
    walk.press("button", "Save and go on")
    walk.press("radio", "Prolific: one open link, with Prolific's ids")
    walk.press("button", "Propose a code for every outcome at Prolific")
    walk.press("button", "Save and go on")
    walk.type("Title", "How people judge robots")
    walk.type("Contact", "ada@example.org")
    walk.press("checkbox", "Deutsch")
    walk.press("checkbox", "Practice trial")
    walk.press("button", "Save and edit questionnaires")
    walk.press("button", "System Usability Scale")
    walk.press("link", "Back to “What they read”")
    walk.press("button", "Save and write them in Deutsch")
    walk.type("Study: title in Deutsch", GERMAN_TITLE)
    walk.press("button", "Save and go back to “What they read”")
    walk.press("button", "Save and go on")
    walk.type("Ethics protocol", "2026-17")
    walk.type("Valid until", "2999-12-31")
    walk.press("button", "Save and go on")


def pilot(walk: Walk) -> None:
    with walk.page.context.expect_page() as opened:
        walk.press("button", "Pilot it yourself")
    own = opened.value
    own.get_by_role("checkbox").check()
    own.get_by_role("button", name="Agree and begin").click()
    own.get_by_role("button", name="I am ready").click()
    expect(own.locator("#live")).to_have_attribute("data-state", "waiting")
    own.close()


def open_study(walk: Walk) -> None:
    walk.page.reload()
    for caution in walk.page.get_by_role("checkbox").all():
        caution.check()
        walk.clicks += 1
    walk.press("button", "Open the study")
    expect(walk.page.get_by_text("This study is open").first).to_be_visible()


def read_figure(page: Page, address: str) -> dict[str, list[float]]:
    """Arm -> mean and its interval, as the results page draws them."""
    answer = page.request.get(address)
    assert answer.ok, address
    rows = csv.DictReader(io.StringIO(answer.text()))
    means = [row for row in rows if row["series"].startswith("mean with")]
    return {row["x"]: [float(row[name]) for name in ("y", "low", "high")] for row in means}


def take_part(site: Site, browser: Browser, link: str) -> None:
    """Everybody goes through the study, from the consent to the code."""
    people = [Visitor(browser, site, link, *about) for about in PEOPLE]
    for person in people:
        person.begin()
    for _ in range(MOST_ROUNDS):
        if not site.python(WORK)["left"]:
            break
        for person in people:
            person.judge()
    for person in people:
        person.end()


@pytest.mark.timeout(900)
def test_a_study_from_nothing_to_its_figure(site, tmp_path):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**BROWSER)
        context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        context.add_cookies([{**site.python(STAFF)["cookie"], "url": site.url}])
        context.set_default_timeout(120_000)
        walk = Walk(context.new_page())
        walk.page.goto(f"{site.url}/bench/")
        set_up(walk)
        pilot(walk)
        open_study(walk)
        assert walk.clicks <= MOST_CLICKS, walk.clicks
        made = site.python(OPENED)
        assert (made["status"], made["asked"], made["pilots"]) == ("open", ["sus"], 1)
        assert made["arms"] == [["icpl", 3, 2], ["open_loop", 3, 2]]

        take_part(site, browser, made["link"])
        ended = site.python(f"PATH = {str(tmp_path / 'study.zip')!r}\n{EXPORTED}")
        assert ended == {"languages": ["de", "de", "en", "en"], "outcomes": ["finished"] * 4}
        study = f"{site.url}/bench/studies/{made['study']}/"
        page = {slug: read_figure(context.pages[0], f"{study}arms-{slug}.csv") for slug in ("score", "sus-score")}
        browser.close()
    compare_with_notebook(tmp_path, page)


def compare_with_notebook(export: Path, page: dict[str, dict[str, list[float]]]) -> None:
    """The notebook of the export draws what the page drew."""
    with zipfile.ZipFile(export / "study.zip") as package:
        package.extractall(export)
    (folder,) = (path for path in export.iterdir() if path.is_dir())
    with (folder / "results.csv").open() as file:
        assert [row["arm"] for row in csv.DictReader(file)] == ["A", "A", "B", "B"], "without the pilot's"
    found = run_analysis(NOTEBOOK, folder)["means"]
    names = {
        "score": "Final score of the winner",
        "sus-score": "System Usability Scale (sus_score): How usable was it?",
    }
    for slug, name in names.items():
        redrawn = {
            arm: [mean, low, high] for (measure, arm), (_, mean, _, low, high) in found.items() if measure == name
        }
        assert redrawn.keys() == {"A", "B"} and page[slug].keys() == {"A", "B"}
        for arm, numbers in redrawn.items():
            assert numbers == pytest.approx(page[slug][arm], rel=1e-6), (slug, arm)
