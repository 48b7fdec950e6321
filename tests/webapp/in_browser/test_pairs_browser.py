"""People answer pairs in real browsers: by keys, after a lost connection, twenty at once; real training and films."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from playwright.async_api import Page as AsyncPage
from playwright.async_api import async_playwright
from playwright.sync_api import Browser, BrowserContext, Page, expect

from teachers.noisy import Teacher, compare
from tests import short_training
from tests.webapp.servers import processes
from tests.webapp.sites import BROWSER, Site, serve

pytestmark = pytest.mark.slow

TWENTY, QUERIES = 20, 98
GAMMA = 0.9
SHOWN = "document.querySelector('.deck:not([aria-hidden]) video')?.getAttribute('src')"
SENT = """() => Object.keys(localStorage).every(
  (name) => !name.startsWith("prefine pairs") || localStorage[name] === "[]")"""
PAIRS = """
person = rows.participant(rows.study(task="Cartpole", method="prefppo", k=1, n=1))
rows.open_pairs(person, pairs=6)
out["address"] = person.get_absolute_url()
"""
FALLS = """
person = rows.participant(rows.study(task="Cartpole", method="prefppo", k=1, n=1))
for segment in rows.open_pairs(person, pairs=1).segments.all():
    rows.write_clip(segment, 20, seconds=0.2 + 0.2 * segment.number)
out["address"] = person.get_absolute_url()
"""
COUNT_ROUNDS = """() => new Promise((done) => {
  const [one, other] = document.querySelectorAll(".deck:not([aria-hidden]) video");
  let begun = 0;
  one.addEventListener("play", () => { begun += 1; });
  setTimeout(() => done([begun, one.duration, other.duration]), 4000);
})"""
ANSWERS = """
from webapp.review.models import PairScreening
rows_ = PairScreening.objects.exclude(answer="").order_by("answered_at")
out["answers"] = [{"second": "right", "first": "left"}.get(row.answer, row.answer) if not row.swapped
    else {"second": "left", "first": "right"}.get(row.answer, row.answer) for row in rows_]
out["changes"] = sum(row.changes for row in PairScreening.objects.all())
out["seconds"] = all(row.seconds > 0 for row in rows_)
"""
MAKE_ROWS = """
from django.db import transaction
from webapp.experiments.models import Experiment
from webapp.studies import enrolment
from webapp.studies.models import Participant
study = rows.study(task="Cartpole", method="prefppo", k=1, n=1, options=OPTIONS, panel=PEOPLE)
people = [Participant.objects.create(study=study, label=f"P{number:02}") for number in range(PEOPLE)]
with transaction.atomic():
    for person in people:
        enrolment.accept_consent(person)
        enrolment.mark_instructed(person)
    Experiment.objects.update(overrides={"iterations": 12, "worlds": 16})
out["addresses"] = [person.get_absolute_url() for person in people]
"""
OUTCOME = """
from webapp.experiments.models import Candidate, Experiment, SegmentPair
from webapp.review.models import PairScreening
experiment = Experiment.objects.get()
out["status"], out["error"] = experiment.status, experiment.error
out["labels"] = [session["labels"] for session in experiment.winner.sessions]
out["pairs"] = SegmentPair.objects.count()
counted = PairScreening.objects.filter(released_at=None).exclude(answer="")
out["counted"] = counted.count()
out["answered"] = {row.token: row.pressed for row in PairScreening.objects.exclude(answer="")}
out["given_to_others"] = list(PairScreening.objects.exclude(released_at=None).values_list("token", flat=True))
out["learned"] = all(row.answer == row.pair.answer for row in counted.select_related("pair"))
"""
TRUTHS = (
    f"GAMMA = {GAMMA}"
    + """
import numpy as np
from webapp.base.store import store
from webapp.experiments.models import PairSession
from webapp.review.models import PairScreening
from trainer.preferences.exchange import get_segment_file
from pathlib import Path
for session in PairSession.objects.filter(status="open").select_related("request"):
    worth = {}
    for segment in session.segments.all():
        name = get_segment_file(Path(), 0, session.number, segment.number).as_posix()
        with store.as_file(f"{session.request.run_key}/{name}") as file:
            steps = np.exp(-np.square(np.load(file)["qpos"][:, 1]))
            seen = steps * GAMMA ** np.arange(len(steps))[::-1]
            worth[segment.pk] = [float(steps.sum()), float(seen.sum())]
    for row in PairScreening.objects.filter(pair__session=session):
        out[row.token] = [worth[segment.pk] for segment in row.sides]
"""
)


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context()
    yield context
    context.close()


def is_shown(page: Page) -> None:
    """A pair plays and can be answered."""
    expect(page.locator("[data-answer=left]")).to_be_enabled()
    page.wait_for_timeout(300)


def press(page: Page, key: str, count: str) -> None:
    is_shown(page)
    page.keyboard.press(key)
    expect(page.locator("[data-count]")).to_have_text(count)


def test_by_keys_with_a_change_of_mind_a_lost_connection_and_a_closed_browser(site: Site, context: Any) -> None:
    address = site.url + site.python(PAIRS)["address"]
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    press(page, "ArrowLeft", "1 of 6 answered")
    press(page, "2", "2 of 6 answered")
    page.keyboard.press("Backspace")
    expect(page.locator("[data-count]")).to_have_text("1 of 6 answered")
    press(page, "ArrowDown", "2 of 6 answered")
    page.wait_for_function(SENT)
    page.route("**/pairs/", lambda route: route.abort())
    press(page, "ArrowUp", "3 of 6 answered")
    press(page, "1", "4 of 6 answered")
    expect(page.get_by_text("Your answers are kept in this browser.")).to_be_visible()
    page.close()
    assert site.python(ANSWERS)["answers"] == ["left", "equal"]
    page = context.new_page()
    page.goto(address)
    expect(page.locator("[data-count]")).to_have_text("4 of 6 answered")
    is_shown(page)
    page.keyboard.press("Backspace")
    expect(page.locator("[data-count]")).to_have_text("3 of 6 answered")
    press(page, "1", "4 of 6 answered")
    is_shown(page)
    page.get_by_role("button", name="B is better").click()
    press(page, "0", "6 of 6 answered")
    expect(page.get_by_role("heading", name="This set is done")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="kept")).to_have_count(0)
    page.wait_for_function(SENT)
    told = site.python(ANSWERS)
    assert sorted(told["answers"]) == sorted(["left", "equal", "skip", "left", "right", "equal"])
    assert (told["changes"], told["seconds"], complaints) == (2, True, [])


def test_videos_of_a_fall_do_not_flicker(site: Site, context: Any) -> None:
    """They last a fifth of a second: their last pictures stay for a while before they run again."""
    page = context.new_page()
    page.goto(site.url + site.python(FALLS)["address"])
    is_shown(page)
    begun, *lengths = page.evaluate(COUNT_ROUNDS)
    assert sorted(lengths) == [0.2, 0.4] and 1 <= begun <= 3


@pytest.mark.parametrize("size", [(360, 640), (740, 360)])
def test_on_a_phone_all_of_a_pair_is_in_sight(site: Site, context: Any, size: tuple[int, int]) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(site.url + site.python(PAIRS)["address"])
    is_shown(page)
    boxes = [page.locator(name).bounding_box() for name in (".deck:not([aria-hidden]) video >> nth=0", ".pairs-foot")]
    assert boxes[0]["width"] > 170 and boxes[1]["y"] + boxes[1]["height"] <= size[1]
    assert page.get_by_role("button", name="Take back the last answer").bounding_box()["height"] >= 40
    context.set_offline(True)
    told = page.get_by_text("You are offline.").bounding_box()
    for answer in page.locator("[data-answer], [data-do=undo]").all():
        box = answer.bounding_box()
        assert told["y"] + told["height"] <= box["y"] or box["y"] + box["height"] <= told["y"], "it covers no answer"


def begin(people: int, queries: int) -> str:
    return f"PEOPLE, OPTIONS = {people}, {{'queries': {queries}, 'seconds': 1.0}}\n{MAKE_ROWS}"


@pytest.mark.timeout(1200)
@pytest.mark.exhaustive
def test_a_persons_whole_way_in_a_real_experiment(tmp_path_factory, context: Any) -> None:
    python = short_training.python(tmp_path_factory.mktemp("python"))
    with serve(tmp_path_factory.mktemp("whole"), ["webapp.supervisor"], python, PREFINE_UNDO_SECONDS="1") as site:
        made = site.python(begin(1, 2))
        page = context.new_page()
        page.goto(site.url + made["addresses"][0])
        for number in (1, 2):
            expect(page.get_by_text(f"Set {number}", exact=True)).to_be_visible(timeout=400_000)
            press(page, "ArrowRight", "1 of 1 answered")
        expect(page.get_by_text("The robot that learned from your answers")).to_be_visible(timeout=400_000)
        told = site.python(OUTCOME)
    assert (told["status"], told["labels"], told["pairs"], told["counted"]) == ("finished", [1, 2], 2, 2)
    assert told["learned"]


class Crowd:
    """Simulated people with all of B-Pref's noise: thresholds are a tenth or so of what a segment is worth."""

    def __init__(self, site: Site) -> None:
        self.site, self.truths, self.given = site, dict[str, list[list[float]]](), dict[str, str]()
        self.shown: dict[str, list[str]] = {}
        self.lock = asyncio.Lock()

    async def find_truth(self, token: str) -> list[list[float]]:
        """Of both sides, what a segment is worth, and what a myopic person sees of it."""
        async with self.lock:
            if token not in self.truths:
                self.truths |= await asyncio.to_thread(self.site.python, TRUTHS)
        return self.truths[token]

    async def take_part(self, page: AsyncPage, address: str) -> None:
        """Answer whatever comes until the experiment is over."""
        page.on("request", self.note_answers)
        page.set_default_timeout(3_000_000)  # fewer pairs than people can answer: somebody may get none for long
        noise, rng = Teacher(beta=1.0, mistake=0.1, skip=5.0, equal=5.0), random.Random(address)
        await page.goto(address)
        while True:
            await page.locator("[data-answer=left]:enabled, .thanks").first.wait_for()
            if await page.locator(".thanks").count():
                return
            await page.wait_for_timeout(300)
            source = await page.evaluate(SHOWN)
            if source is None:
                continue
            token = source.split("/")[2]
            (left, seen_left), (right, seen_right) = await self.find_truth(token)
            said = compare(seen_left, seen_right, noise, rng, (left, right), 60.0)
            key = {"first": "ArrowLeft", "second": "ArrowRight", "equal": "ArrowDown", "skip": "ArrowUp"}[said]
            shown = self.shown.setdefault(address, [])
            if shown[-1:] != [token]:  # a key on a pair that is about to go is ignored, and pressed again
                shown.append(token)
            await page.keyboard.press(key)

    def note_answers(self, request: Any) -> None:
        """A page ignores a key on a pair that has just gone: what counts is what it sends."""
        if request.method == "POST" and request.url.endswith("/pairs/"):
            for change in request.post_data_json["changes"]:
                self.given[change["token"]] = {"left": "A", "right": "B"}.get(change["answer"], change["answer"])


async def meet(site: Site, addresses: list[str]) -> Crowd:
    crowd = Crowd(site)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**BROWSER)
        pages = [await (await browser.new_context()).new_page() for _ in addresses]
        parts = [crowd.take_part(page, site.url + address) for page, address in zip(pages, addresses, strict=True)]
        await asyncio.gather(*parts, kill_when_half_way(crowd))
        await browser.close()
    return crowd


async def kill_when_half_way(crowd: Crowd) -> None:
    """The site and its workers are killed in the middle of a session; the supervisor starts them again."""
    while len(crowd.given) < QUERIES // 2 - 3:
        await asyncio.sleep(0.2)
    running = [pid for pid, (_, said) in processes().items() if "webapp.asgi" in said or "manage.py worker" in said]
    ours = [pid for pid in running if crowd.site.env["PREFINE_DATA"] in read_environment(pid)]
    assert ours
    for pid in ours:
        os.kill(pid, signal.SIGKILL)


def read_environment(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/environ", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_twenty_people_share_the_pairs_of_one_experiment(tmp_path_factory) -> None:
    python = short_training.python(tmp_path_factory.mktemp("python"))
    with serve(tmp_path_factory.mktemp("crowd"), ["webapp.supervisor"], python, PREFINE_UNDO_SECONDS="1") as site:
        made = site.python(begin(TWENTY, QUERIES))
        with ThreadPoolExecutor() as apart:  # the browser of the other tests has this thread's event loop
            crowd = apart.submit(asyncio.run, meet(site, made["addresses"])).result()
        told = site.python(OUTCOME)
    assert (told["status"], told["error"]) == ("finished", "")
    assert told["labels"][-1] == QUERIES and told["learned"]
    assert told["counted"] == told["pairs"], "every pair has one answer"
    late = crowd.given.keys() - told["answered"].keys()
    assert late <= set(told["given_to_others"]), "an answer is lost only where somebody else had given one meanwhile"
    assert told["answered"] == {token: given for token, given in crowd.given.items() if token not in late}
    for tokens in crowd.shown.values():
        assert len(tokens) == len(set(tokens)), "nobody was shown a pair twice"
