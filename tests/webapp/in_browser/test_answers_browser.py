"""Answers in a real Chromium, under the real policy: formulas drawn, hostile text harmless, chosen by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.webapp.in_browser.test_accessibility import AXE, RUN
from tests.webapp.servers import wait_for

pytestmark = pytest.mark.slow

WIDE = {"viewport": {"width": 1440, "height": 900}}
SETUP = r"""
from tests.webapp import problem_rows
from webapp.problems import lookup, problem_sets
from pathlib import Path
problem_sets.import_set(problem_sets.read_path(Path("examples/problems")))
def written(final, reasoning):
    return f"## Final answer\n\n{final}\n\n## Reasoning\n\n{reasoning}"
long = "Let $a_n$ count the ways. Then\n\n$$a_n = a_{n-1} + a_{n-3} + b_n, \\qquad b_n = a_{n-2} - b_{n-2}$$\n\n" * 4
hostile = "<script>document.title = 'harm'</script> $\\href{javascript:alert(1)}{x}$ $\\undefined{$ $$\\frac{1}{$$"
out["staircase"] = problem_rows.open_judgement(lookup.find_problem("staircase"), [
    written("$571$", long), written("$\\boxed{464}$", "By hand, $\\sqrt{2}$ and\n\n1. one\n2. two"),
    written("927", "Every step is free."), written("$571$", hostile),
    written("$\\displaystyle\\sum_{k=0}^{4} \\binom{12-k}{k} = 571$", "Sum over the double steps.")])
good = "#include <cstdio>\nint main() {\n    int n;\n    std::scanf(\"%d\", &n);\n}\n"
def tried(*verdicts, said=""):
    cases = [{"subtask": s, "verdict": v, "seconds": 0.12, "memory_mb": 20.5, "note": ""} for s, v in verdicts]
    right = lambda n: sum(c["verdict"] == "ok" for c in cases if c["subtask"] == n)
    subs = [{"number": n, "points": p, "passed": right(n), "cases": 2} for n, p in ((1, 30), (2, 70))]
    subs = [{**s, "earned": s["points"] if s["passed"] == 2 else 0} for s in subs]
    return {"subtasks": subs, "cases": cases, "said": said}
three = [good, good + "// slow\n", "int main() { x }\n"]
out["plateau"] = problem_rows.open_judgement(lookup.find_problem("longest-plateau"), three, [
    tried((1, "ok"), (1, "ok"), (2, "ok"), (2, "ok")), tried((1, "ok"), (1, "ok"), (2, "time"), (2, "time")),
    tried(said="program.cpp:1:14: error: 'x' was not declared in this scope")])
out["ramp"] = problem_rows.open_judgement(lookup.find_problem("sliding-block"), [
    written("$3.58\\ \\mathrm{m/s}$", "x")] * 2)
"""


@pytest.fixture(scope="module")
def addresses(site):
    return site.python(SETUP)


CLIENT = "from webapp.review.models import Vote\nout.update(Vote.objects.latest('pk').client)"


def test_answers_are_drawn_chosen_by_keys_and_taken_back(visit, addresses, site):
    page = visit(addresses["staircase"], **WIDE)
    expect(page.locator(".answer .katex").first).to_be_visible()
    assert page.locator(".answer").count() == 5
    page.keyboard.press("o")
    expect(page.locator(".part[open]")).to_have_count(5)
    expect(page.locator(".math.undrawn").first).to_be_visible()
    assert "harm" not in page.title() and page.locator(".answer a").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('.katex .mord')].some((one) => one.getBoundingClientRect().width > 5)"
    )
    confirm = page.get_by_role("button", name="Confirm")
    expect(confirm).to_be_disabled()
    page.keyboard.press("2")
    page.keyboard.press("Shift+2")
    expect(page.locator("#answer-B .badge")).to_have_text("Worst")
    page.keyboard.press("4")
    page.reload()
    expect(page.locator("#answer-D .badge")).to_have_text("Best")
    tops = [answer.bounding_box()["y"] for answer in page.locator(".answer").all()]
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Thank you, your choice is saved")).to_be_visible()
    expect(page.locator(".chosen-letters")).to_contain_text("answer D")
    measured = site.python(CLIENT)
    assert measured["viewport"] == 3 and measured["columns"] == tops.count(tops[0]) < 5
    page.get_by_role("button", name="Take it back").click()
    expect(page.locator("form.answers .katex").first).to_be_visible()


@pytest.mark.parametrize("width", [820, 1440])
def test_the_choice_of_a_long_answer_stays_in_sight(visit, addresses, width):
    page = visit(addresses["staircase"], viewport={"width": width, "height": 600})
    expect(page.locator(".answer .katex").first).to_be_visible()
    page.keyboard.press("o")
    expect(page.locator(".part[open]")).to_have_count(5)
    answer = page.locator(".answer", has_text="count the ways")
    answer.evaluate("answer => answer.scrollIntoView()")
    box = answer.bounding_box()
    assert box["y"] + box["height"] > 600, "the answer ends below the window"

    def in_sight():
        dock, pick = page.locator(".dock").bounding_box(), answer.locator(".pick.best").bounding_box()
        return pick["y"] + pick["height"] <= dock["y"] < 600

    wait_for(in_sight, "the choice above the dock")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_phone_shows_one_answer_at_a_time_and_nothing_runs_over_the_edge(visit, addresses):
    page = visit(addresses["staircase"], viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    expect(page.locator(".answer .katex").first).to_be_visible()
    page.locator(".letters a").nth(3).click()
    expect(page.locator(".letters a").nth(3)).to_have_attribute("aria-current", "true")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_programs_come_with_their_results(visit, addresses):
    page = visit(addresses["plateau"], **WIDE)
    expect(page.locator(".results table").first).to_contain_text(re.compile("30 of 30|0 of 30"))
    expect(page.get_by_text("was not declared")).to_be_visible()
    assert page.locator(".results .earned").count() == 3


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("staircase", "dark"),
        ("plateau", "light"),
        pytest.param("staircase", "light", marks=pytest.mark.exhaustive),
        pytest.param("plateau", "dark", marks=pytest.mark.exhaustive),
    ],
)
def test_axe_finds_nothing(visit, addresses, name, scheme):
    page = visit(addresses[name], color_scheme=scheme, bypass_csp=True)
    expect(page.locator(".answer").first).to_be_visible()
    page.keyboard.press("o")
    page.evaluate(AXE)
    assert page.evaluate(RUN) == []


def test_figures_are_shown_at_the_problem(visit, addresses):
    page = visit(addresses["ramp"], **WIDE)
    expect(page.locator(".attachments img")).to_be_visible()
    assert page.evaluate("document.querySelector('.attachments img').naturalWidth") > 0
