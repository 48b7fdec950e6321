"""A participant of the small demonstration, in a real browser: python -m tests.deployment.walk ADDRESS

Prints a line when something has been done, so that another process can act between two rounds. With a choice made and
not confirmed it waits for a line, so that what happens meanwhile meets an open page.
"""

from __future__ import annotations

import asyncio
import re
import sys

from playwright.async_api import async_playwright, expect

from tests.webapp.participants import FILMS, NEW, TRAINING, Crowd, Person
from tests.webapp.sites import BROWSER, Site

ROUNDS = 2


async def judge(person: Person, number: int) -> None:
    final = number > ROUNDS
    found = await person.page.wait_for_function(NEW, arg=person.seen, timeout=TRAINING, polling=500)
    person.seen.append(await found.json_value())
    assert (await person.films())[0][4:8] == b"ftyp", "a film"
    first = (await person.page.evaluate(FILMS))[0]
    part = await person.context.request.get(person.crowd.site.url + first, headers={"Range": "bytes=0-99"})
    assert (part.status, len(await part.body())) == (206, 100)
    await person.choose("A", None if final else "B")
    if number > 1:
        print(f"chosen {number}", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    await person.press("Confirm")
    await person.saved()
    print(f"voted {number}", flush=True)


async def walk(address: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**BROWSER)
        crowd = Crowd(Site(address, {}), browser, ())
        context = await crowd.context(ignore_https_errors=True)  # Caddy's own authority; the test checks it
        page = await context.new_page()
        sockets: list[str] = []
        page.on("websocket", lambda socket: sockets.append(socket.url))
        await page.goto(address)
        card = page.locator(".card", has_text="Balance a pole")
        await card.get_by_role("button", name="Start").click()
        await page.wait_for_url(re.compile("/s/"))  # a demonstration has neither practice nor check
        link = page.url.removeprefix(address)
        person = Person(crowd, "one", link, context, page)
        await page.get_by_role("checkbox").check()
        await person.press("Agree and begin")
        await person.press("I am ready")
        for number in range(1, ROUNDS + 2):
            await judge(person, number)
        await expect(page.get_by_role("heading", name="Thank you", exact=True)).to_be_visible(timeout=TRAINING)
        winner = await person.fetch(await page.locator(".winner video").get_attribute("src") or "")
        assert winner[4:8] == b"ftyp", "a demonstration ends with the winner's film, without a code"
        assert any(url.startswith("wss://") for url in sockets), sockets
        assert not crowd.complaints, crowd.complaints
        print("done", flush=True)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(walk(sys.argv[1]))
