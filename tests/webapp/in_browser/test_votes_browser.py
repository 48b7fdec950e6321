"""A/B votes in a real headless Chromium: a whole way by keyboard alone, and on a phone."""

import pytest
from playwright.sync_api import expect

from tests.webapp.servers import wait_for

pytestmark = pytest.mark.slow

TIMES = "[...document.querySelectorAll('.tile video')].map((video) => video.currentTime)"
MAKE_ROWS = """
from tests.webapp import poll_rows
poll = poll_rows.poll(pairs=2, ask_strength=True, allow_tie=True)
out["people"] = [poll_rows.evaluator(poll, consented=False).get_absolute_url() for _ in range(2)]
"""
READ = """
from benchmarks.simulated import answer
from tests.webapp import poll_rows, problem_rows
from webapp.votes import lifecycle
problem_rows.sum_problem()
def solved(text, name):
    with problem_rows.model({text: 1.0}) as (model, _):
        row = problem_rows.run_experiment(model=model, name=name, k=2, n=1)
    assert row.status == "finished", row.error
    model.name = name
    model.save()
    return row.winner
right = answer("\\\\tfrac{100 \\\\cdot 101}{2} = 5050", "In pairs: $$\\\\sum_{k=1}^{50} 101$$" * 9)
poll = poll_rows.poll_of_answers(solved(right, "sentinel one"), solved(answer("5049"), "sentinel two"), allow_tie=True)
out["refused"] = lifecycle.open_poll(poll)
out["people"] = [poll_rows.evaluator(poll, consented=False).get_absolute_url() for _ in range(2)]
"""
SAID = """
from webapp.votes.models import Vote
out["votes"] = [[v.choice, v.strength, v.client] for v in Vote.objects.order_by("pk")]
"""


def test_two_people_vote_by_keyboard_and_by_touch(visit, site):
    by_keyboard, by_touch = site.python(MAKE_ROWS)["people"]
    _keyboard(visit(by_keyboard))
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    _touch(visit(by_touch, **phone))
    votes = site.python(SAID)["votes"]
    assert [vote[:2] for vote in votes] == [["right", 2], ["same", None], ["left", 3], ["left", 1]]
    assert votes[0][2]["plays"] >= 1 and votes[0][2]["decide_ms"] > 0


def _keyboard(page):
    tick = page.get_by_role("checkbox")
    for _ in range(8):
        if tick.evaluate("(tick) => tick === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    confirm, reason = page.get_by_role("button", name="Confirm"), page.locator("#reason")
    expect(page.get_by_text("Pair 1 of 2")).to_be_visible()
    expect(confirm).to_be_disabled()
    expect(reason).to_have_text("Choose one first")
    wait_for(lambda: all(time > 0.2 for time in page.evaluate(TIMES)), "playing together")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    wait_for(lambda: len(set(page.evaluate(TIMES))) == 1, "standing on the same frame")
    page.keyboard.press("1")
    page.keyboard.press("b")
    expect(page.get_by_role("radio", name="Video B")).to_be_checked()
    expect(reason).to_have_text("Now say how much better it is")
    while not page.evaluate("document.activeElement.name === 'strength'"):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Clearly")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Pair 2 of 2")).to_be_visible()
    _take_back(page)
    expect(page.get_by_text("Pair 1 of 2")).to_be_visible()
    expect(reason).to_have_text("Choose one first")
    page.keyboard.press("b")
    expect(page.get_by_role("radio", name="Video B")).to_be_checked()
    page.get_by_role("radio", name="Clearly").check()
    confirm.click()
    expect(page.get_by_text("Pair 2 of 2")).to_be_visible()
    expect(reason).to_have_text("Choose one first")  # its script hears keys now
    page.keyboard.press("0")
    expect(page.get_by_role("radio", name="Slightly")).to_be_disabled()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()


def _take_back(page):
    for _ in range(8):
        if page.evaluate("document.activeElement.closest('.undo') !== null"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")


def _touch(page):
    page.get_by_role("checkbox").tap()
    page.get_by_role("button", name="Agree and begin").tap()
    for number, word in ((1, "Much"), (2, "Slightly")):
        expect(page.get_by_text(f"Pair {number} of 2")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("radio", name="Video A").tap()
        page.get_by_role("radio", name=word).tap()
        page.get_by_role("button", name="Confirm").tap()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()


def test_answers_are_read_side_by_side_and_on_a_phone_below_each_other(visit, site):
    """They come from two whole experiments, whose model is simulated behind a real server."""
    made = site.python(READ)
    assert made["refused"] == []
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    for address, options in zip(made["people"], ({"viewport": {"width": 1440, "height": 900}}, phone), strict=True):
        page = visit(address, **options)
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name="Agree and begin").click()
        expect(page.locator(".answer .final-answer .katex")).to_have_count(2)
        assert "sentinel" not in page.content() and "Turns" not in page.content()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        boxes = page.evaluate(
            "[...document.querySelectorAll('.answer')].map((one) => one.getBoundingClientRect().toJSON())"
        )
        beside, below = (boxes[0]["y"] == boxes[1]["y"], boxes[0]["x"] == boxes[1]["x"])
        assert (beside, below) == ((True, False) if options is not phone else (False, True))
        page.get_by_role("button", name="Open all parts").click()
        expect(page.locator(".answer .part[open]")).to_have_count(2)
        page.keyboard.press("b")
        expect(page.locator(".answer.is-chosen")).to_have_attribute("data-letter", "B")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    votes = site.python(SAID)["votes"]
    assert [vote[0] for vote in votes[-2:]] == ["right", "right"] and votes[-1][2]["decide_ms"] > 0
