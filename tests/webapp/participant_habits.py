"""The ways in which participants confirm a choice, each in their own, and their whole way through a study."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from playwright.async_api import expect

from tests.webapp.participants import FILMS, LETTERS, Crowd, Habit, Person, Pick, open_crowd
from tests.webapp.sites import Site


async def confirms(person: Person, pick: Pick) -> None:
    await person.press("Confirm")
    await person.saved()


async def reloads(person: Person, pick: Pick) -> None:
    """Before and after: what was chosen and watched is still there, and what was saved too."""
    await person.page.reload()
    await person.still_chosen()
    await confirms(person, pick)
    await person.page.reload()
    await person.saved()


async def loses_connection(person: Person, pick: Pick) -> None:
    page = person.page
    banner = page.locator("#connection")
    await person.context.set_offline(True)
    await expect(banner).to_contain_text("You are offline")
    await person.press("Confirm")
    await expect(banner).to_contain_text("Nothing is lost")
    await person.context.set_offline(False)
    await person.still_chosen()
    await confirms(person, pick)


async def changes_mind(person: Person, pick: Pick) -> None:
    """Takes the choice back, and chooses the opposite."""
    await confirms(person, pick)
    await person.press("Take it back")
    await person.still_chosen()
    best, worst = person.letters
    films = await person.films()
    await person.choose(worst, best)
    await confirms(person, pick)
    assert pick.worst
    person.memory.taken_back.append(person.memory.confirmed.pop())
    person.memory.confirmed.append(replace(pick, best=pick.worst, worst=pick.best, film=films[LETTERS.index(worst)]))


async def uses_two_tabs(person: Person, pick: Pick) -> None:
    """The second tab does not know of the first, and then sends another choice."""
    second = await person.context.new_page()
    await second.route_web_socket("**/ws/**", lambda socket: None)
    await second.route("**/live/**", lambda route: route.abort())
    await second.goto(person.url)
    assert await second.locator("#ballot").get_attribute("data-screening") == person.seen[-1]
    best, worst = person.letters
    await second.locator(f"#clip-{worst} .pick.best").click()
    await second.locator(f"#clip-{best} .pick.worst").click()
    await person.watch(second)
    await confirms(person, pick)
    await second.get_by_role("button", name="Confirm").click()
    said = f"You had already chosen in this round: best {best}, worst {worst}. That choice stands."
    await expect(second.get_by_text(said)).to_be_visible()
    await second.close()


async def changes_device(person: Person, pick: Pick) -> None:
    """The same link on another machine: the same films in the same order, and the choice is made there."""
    elsewhere = await person.crowd.context()
    page = await elsewhere.new_page()
    await page.goto(person.url)
    assert await page.locator("#ballot").get_attribute("data-screening") == person.seen[-1]
    best, worst = person.letters
    await page.locator(f"#clip-{best} .pick.best").click()
    await page.locator(f"#clip-{worst} .pick.worst").click()
    await person.watch(page)
    await page.get_by_role("button", name="Confirm").click()
    await person.saved()  # the first device is told
    await elsewhere.close()


async def cheats(person: Person, pick: Pick) -> None:
    """Votes for others, twice, out of order, wrongly; exactly one vote counts."""
    crowd, csrf = person.crowd, await person.token(person.page)
    best, worst = person.letters
    others = next(tokens for label, tokens in crowd.ballots.items() if tokens and label != person.label)
    for what in ("vote", "undo"):
        said = await person.post(what, csrf, screening=others[0], best="B", worst="A")
        assert what == "undo" or "nothing was saved from it" in said
    if len(person.seen) > 1:
        said = await person.post("vote", csrf, screening=person.seen[0], best="B", worst="A")
        assert "already" in said
        await person.post("undo", csrf, screening=person.seen[0])
    for wrong in ({"best": best, "worst": best}, {"best": "Z", "worst": worst}, {"best": best}):
        await person.post("vote", csrf, screening=person.seen[-1], **wrong)
    [address, *_] = await person.page.evaluate(FILMS)
    altered = address[:-2] + ("a" if address[-2] != "a" else "b") + "/"
    for dead in (altered, *crowd.dead_films):
        assert (await person.context.request.get(crowd.site.url + dead)).status == 404
    same = {"screening": person.seen[-1], "best": best, "worst": worst, "reason": pick.reason}
    await asyncio.gather(*(person.post("vote", csrf, **same) for _ in range(4)))
    said = await person.post("vote", csrf, **same | {"best": worst, "worst": best})
    assert "That choice stands" in said
    await person.saved()  # the page is told


async def leaves(person: Person) -> None:
    """Wants everything deleted."""
    films = await person.page.evaluate(FILMS)
    await person.page.get_by_role("link", name="Leave the study").click()
    await person.page.get_by_role("checkbox").check()
    await person.press("Leave the study")
    await expect(person.page.get_by_role("heading", name="your data is deleted")).to_be_visible()
    person.memory.code = await person.page.locator("#completion-code").inner_text()
    person.memory.left = True
    person.crowd.dead_films += films
    person.crowd.somebody_left.set()
    await person.page.goto(person.url)
    await expect(person.page.get_by_role("heading", name="This link leads nowhere")).to_be_visible()


# --- all together -------------------------------------------------------------------------------------------------

LATE, LEAVER, CHEATER = 7, 5, 6
WRITERS = (1, LEAVER)
"""Participants who give a reason."""
LEAVES_IN_ROUND = 2
HABITS: dict[tuple[int, int], Habit] = {
    (1, 1): changes_mind,
    (2, 1): reloads,
    (2, 3): reloads,
    (3, 2): loses_connection,
    (4, 1): uses_two_tabs,
    (4, 3): changes_device,
    (CHEATER, 1): cheats,
    (CHEATER, 2): cheats,
}
"""(person, round) -> how they confirm; all else is plain."""


async def takes_part(crowd: Crowd, number: int, label: str, address: str, rounds: int) -> None:
    """The whole way; what is particular about each follows from the number."""
    context = await crowd.context()
    person = Person(crowd, label, address, context, await context.new_page())
    if number == LATE:
        await crowd.somebody_voted.wait()
    await person.begin(wrong_first=number == 2)
    for turn in range(1, rounds + 1):
        if number == LEAVER and turn == LEAVES_IN_ROUND:
            await person.ballot()
            await leaves(person)
            return
        if number == CHEATER:
            await (crowd.somebody_voted if turn == 1 else crowd.somebody_left).wait()  # whom to cheat
        reason = f"{label} says of round {turn} that it wobbles" if number in WRITERS else ""
        await person.judge(HABITS.get((number, turn), confirms), reason=reason)
    await person.judge(confirms, final=True)
    await person.end()
    await context.close()


async def study(site: Site, people: dict[str, str], rounds: int, forbidden: tuple[str, ...]) -> Crowd:
    """All participants at once. `people`: label, which ends in their number -> address."""
    async with open_crowd(site, forbidden) as crowd, asyncio.TaskGroup() as together:
        for label, address in people.items():
            together.create_task(takes_part(crowd, int(label.rpartition("-")[2]), label, address, rounds))
    return crowd
