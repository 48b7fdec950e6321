"""Simulated evaluators of an A/B vote, who remember which film they picked by its bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from playwright.async_api import BrowserContext, Page, expect

from tests.webapp import participants
from tests.webapp.participants import FILMS, Crowd
from tests.webapp.sites import Site

AT_ONCE = 5
SIDES = ("left", "right")


@dataclass
class Votes:
    """The evaluators' choices."""

    picked: dict[str, bytes] = field(default_factory=dict)
    """Label -> the film."""
    showings: dict[str, str] = field(default_factory=dict)
    """Label -> the token of what they were shown."""
    refused: list[str] = field(default_factory=list)
    """Evaluators who came after the vote was full."""


class Evaluator:
    def __init__(self, among: Crowd, votes: Votes, label: str, address: str, context: BrowserContext, page: Page):
        self.crowd, self.votes, self.label, self.address = among, votes, label, address
        self.context, self.page = context, page
        self.side = ""

    @property
    def url(self) -> str:
        return self.crowd.site.url + self.address

    async def begin(self) -> None:
        await self.page.goto(self.url)
        await self.page.get_by_role("checkbox").check()
        await self.page.get_by_role("button", name="Agree and begin").click()
        ballot = self.page.locator("#ballot")
        self.votes.showings[self.label] = await ballot.locator("input[name=showing]").input_value()
        self.crowd.check_words(await self.page.content())

    async def look(self, prefers_smaller: bool) -> None:
        """Which side has the film that this person likes: of two, told apart by their bytes alone."""
        films = []
        for address in await self.page.evaluate(FILMS):
            answer = await self.context.request.get(self.crowd.site.url + address)
            films.append(await answer.body())
        assert len(films[0]) == len(films[1]) and films[0] != films[1]
        film = min(films) if prefers_smaller else max(films)
        self.votes.picked[self.label] = film
        self.side = SIDES[films.index(film)]

    async def choose(self, page: Page, side: str) -> None:
        await page.locator(f"label:has(input[name=choice][value={side}])").click()
        await expect(page.get_by_role("button", name="Confirm")).to_be_enabled()

    async def confirm(self, page: Page) -> None:
        await page.get_by_role("button", name="Confirm").click()

    async def thanked(self) -> None:
        await expect(self.page.get_by_role("heading", name="Thank you")).to_be_visible()
        self.crowd.check_words(await self.page.content())

    @property
    def other_side(self) -> str:
        return SIDES[1 - SIDES.index(self.side)]

    async def post(self, csrf: str, showing: str, choice: str) -> str:
        form = {"csrfmiddlewaretoken": csrf, "showing": showing, "choice": choice}
        answer = await self.context.request.post(f"{self.url}answer/", form=form)
        assert answer.status == 200
        return await answer.text()


Habit = Callable[[Evaluator], Awaitable[None]]


async def votes_plainly(person: Evaluator) -> None:
    await person.choose(person.page, person.side)
    await person.confirm(person.page)


async def reloads(person: Evaluator) -> None:
    await person.choose(person.page, person.other_side)
    await person.page.reload()
    await votes_plainly(person)
    await person.thanked()
    await person.page.reload()


async def loses_connection(person: Evaluator) -> None:
    """The answer is lost; the link leads back to the question."""
    await person.choose(person.page, person.side)
    await person.context.set_offline(True)
    async with person.page.expect_event("requestfailed", lambda asked: asked.method == "POST"):
        await person.confirm(person.page)
    await person.page.wait_for_url("chrome-error://**")
    await person.context.set_offline(False)
    await person.page.goto(person.url)
    await votes_plainly(person)


async def uses_two_tabs(person: Evaluator) -> None:
    second = await person.context.new_page()
    await second.goto(person.url)
    await person.choose(second, person.other_side)
    await votes_plainly(person)
    await person.thanked()
    await person.confirm(second)
    await expect(second.get_by_text("Your first answer stands.")).to_be_visible()


async def cheats(person: Evaluator) -> None:
    """Votes for another person, for an option that is not offered, four times at once, and then the other way round."""
    csrf = await person.page.locator("#ballot input[name=csrfmiddlewaretoken]").input_value()
    mine = person.votes.showings[person.label]
    for label, showing in list(person.votes.showings.items()):
        if label != person.label:
            assert "nothing was saved from it" in await person.post(csrf, showing, "left")
    for choice in ("same", "both", ""):
        assert "Choose one of the two videos" in await person.post(csrf, mine, choice)
    await asyncio.gather(*(person.post(csrf, mine, person.side) for _ in range(4)))
    assert "Your first answer stands" in await person.post(csrf, mine, person.other_side)
    await person.page.goto(person.url)


HABITS: dict[int, Habit] = {3: reloads, 8: loses_connection, 12: uses_two_tabs, 16: cheats}
HABITS_OF_FEW: dict[int, Habit] = {2: loses_connection, 3: uses_two_tabs, 4: cheats}


async def _votes(among: Crowd, votes: Votes, number: int, label: str, address: str, habit: Habit) -> None:
    context = await among.context()
    person = Evaluator(among, votes, label, address, context, await context.new_page())
    await person.begin()
    await person.look(prefers_smaller=number % 3 != 0)
    await habit(person)
    await person.thanked()
    await context.close()


async def _comes_too_late(among: Crowd, votes: Votes, label: str, address: str) -> None:
    context = await among.context()
    page = await context.new_page()
    await page.goto(among.site.url + address)
    await expect(page.get_by_role("heading", name="This study is closed")).to_be_visible()
    votes.refused.append(label)
    await context.close()


async def poll(site: Site, people: dict[str, str], wanted: int, forbidden: tuple[str, ...]) -> tuple[Votes, list[str]]:
    """The first `wanted` of these people (label -> address) vote, five at a time, then the others come.

    Returns what they did, and what their browsers complained of.
    """
    votes, room = Votes(), asyncio.Semaphore(AT_ONCE)
    habits = HABITS if wanted >= max(HABITS) else HABITS_OF_FEW

    async def enters(number: int, label: str, address: str) -> None:
        async with room:
            await _votes(among, votes, number, label, address, habits.get(number, votes_plainly))

    invited = list(people.items())
    async with participants.open_crowd(site, forbidden) as among:
        async with asyncio.TaskGroup() as together:
            for number, (label, address) in enumerate(invited[:wanted], 1):
                together.create_task(enters(number, label, address))
        for label, address in invited[wanted:]:
            await _comes_too_late(among, votes, label, address)
        return votes, among.complaints
