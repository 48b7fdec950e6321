"""A person who comes by a personal link, agrees, and votes in every round, whatever happens to the site."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass

from benchmarks.load.person import HIDDEN, HTMX, LETTER, WATCHED, Person

LOOK_SECONDS = 0.5
REFUSAL = re.compile("nothing was saved from it|this choice was not counted")
"""What a page says that did not take a vote, because the round is over or a restored backup does not know it."""
OVER = ("thanks", "failed", "stopped", "closed", "withdrawn")


@dataclass(frozen=True)
class Ballot:
    """A vote that was acknowledged: the page after it thanked for it."""

    choice: list[str]
    """The letters of best and worst; of the best alone where no worst was asked for."""
    person: str
    at: float
    """time.time() before it was sent."""


class Voter(Person):
    html = ""
    """The page that is shown."""
    refused = False
    """Whether a page said so since the last vote was sent."""

    def read_page(self, html: str) -> None:
        super().read_page(html)
        self.html = html
        self.refused |= bool(REFUSAL.search(html))

    async def take_part(self, ballots: dict[str, Ballot]) -> None:
        """Until the last page, or until cancelled."""
        try:
            while self.state not in OVER:
                await self.act(ballots)
                await asyncio.sleep(self.draw.uniform(0.5, 1.5) * LOOK_SECONDS)
                for task in self.tasks:
                    if task.done():
                        task.result()  # raises what ended it
        finally:
            await self.close()

    async def act(self, ballots: dict[str, Ballot]) -> None:
        """What the page asks for; a site that does not answer is asked again at the next call."""
        if not self.state:
            await self.open()
        elif self.state == "consent":
            await self.send("consent", {"agree": "yes"})
        elif self.state == "instruction":
            await self.send("ready", {})
        elif self.state == "review" and self.read_form()["screening"] not in ballots:
            await self.choose(ballots)

    async def send(self, action: str, more: dict[str, str]) -> None:
        """Send the page's form, and look at the page that follows."""
        fields = dict(HIDDEN.findall(self.html)) | more
        if await self.records.time(action, self.browser.post(f"{self.link}{action}/", fields), (302,)):
            await self.look()

    async def look(self) -> bool:
        page = await self.records.time("page", self.browser.get(self.link, **HTMX))
        if page:
            self.read_page(page.text)
        return page is not None

    async def choose(self, ballots: dict[str, Ballot]) -> None:
        """Think, and press Confirm until a page thanks for the choice, or refuses it."""
        await asyncio.sleep(self.draw.uniform(0.2, 2))
        form, fields = self.ballot, self.read_form()
        best, worst = self.draw.sample(sorted(set(LETTER.findall(form))), 2)
        choice = [best, worst] if 'name="worst"' in form else [best]
        sent = fields | dict(zip(("best", "worst"), choice, strict=False)) | {"client": WATCHED}
        while fields["screening"] not in ballots:
            at, self.refused = time.time(), False
            answer = await self.records.time("vote", self.browser.post(f"{self.link}vote/", sent, **HTMX), (302,))
            shown = answer and await self.look()
            if self.refused:
                return
            if shown and self.read_form().get("screening") != fields["screening"]:
                ballots[fields["screening"]] = Ballot(choice, self.link, at)
            await asyncio.sleep(self.draw.uniform(0.2, 1))
