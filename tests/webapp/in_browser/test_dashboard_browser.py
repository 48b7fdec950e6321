"""The bench and the form of an experiment in a real browser: by keyboard, live, without an error in the console."""

import re

import pytest
from playwright.sync_api import expect

from simulation import catalog

pytestmark = pytest.mark.slow

MAKE = """
from tests.webapp import bench_rows
out["experiment"] = str(bench_rows.create_training_experiment().public_id)
user = bench_rows.create_staff()
user.set_password("pw")
user.save()
"""
CHANGE = """
from webapp.experiments import events
from webapp.experiments.models import Experiment, Job
job = Job.objects.get(status="running")
job.progress["candidates"][1]["fraction"] = 0.77
job.save()
events.emit(Experiment.objects.get(), "clip", "2-1 at 10%")
"""


@pytest.fixture(scope="module")
def bench(site):
    """The address of the bench."""
    return f"{site.url}/bench/"


@pytest.fixture(scope="module")
def experiment(site, bench):
    """The address of the experiment's page."""
    return f"{bench}{site.python(MAKE)['experiment']}/"


@pytest.fixture(scope="module")
def page(chromium, bench, experiment):
    """A page on which somebody is signed in; fails at the end if the browser complained about anything but a form that
    was refused (422).
    """
    complaints = []
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(120_000)
    page.goto(f"{bench.removesuffix('/bench/')}/admin/login/?next=/bench/")
    page.fill("[name=username]", "ada")
    page.fill("[name=password]", "pw")
    page.click("[type=submit]")
    page.wait_for_url("**/bench/")
    seen = page.context  # also of windows that the page opens
    seen.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    seen.on("weberror", lambda failed: complaints.append(str(failed.error)))
    seen.on("response", lambda got: complaints.append(f"{got.status} {got.url}") if got.status >= 400 else None)
    yield page
    page.close()
    assert [said for said in complaints if "422" not in said] == []


def test_a_card_opens_by_keyboard_and_gives_the_focus_back(experiment, page):
    page.goto(experiment)
    page.locator("#open-1-1").scroll_into_view_if_needed()
    page.locator("#round-1").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab") if page.evaluate("document.activeElement.tagName") == "SUMMARY" else None
    assert page.evaluate("document.activeElement.id") == "open-1-1"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "open-1-2"
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    expect(panel).to_be_visible()
    expect(panel.locator("h1")).to_contain_text("Candidate 1-2")
    expect(panel.locator(".plot svg").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(panel.locator("h1")).to_contain_text("Candidate 1-3")
    page.keyboard.press("Escape")
    expect(panel).not_to_be_visible()
    assert page.evaluate("document.activeElement.id") == "open-1-2"


def test_charts_are_read_by_keyboard(experiment, page):
    page.goto(f"{experiment}1-2/")
    plot = page.locator(".multiples .plot").first
    plot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".multiples .readout").first).to_have_text("training (%) 20: 0.4")
    expect(page.locator(".multiples .readout").nth(1)).to_have_text("training (%) 20: 0.4")


def test_the_page_follows_without_a_reload_and_the_panel_stays_open(site, experiment, page):
    page.goto(experiment)
    expect(page.locator("[data-connection]")).to_have_text("Live")
    page.evaluate("window.untouched = true")
    page.locator("#open-2-1").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_be_visible()
    site.python(CHANGE)
    expect(page.locator("#c2-2 .value")).to_have_text("77%")
    expect(page.locator(".log li").first).to_contain_text("2-1 at 10%")
    assert page.evaluate("window.untouched && document.getElementById('panel').open")


COMPARISON = """
from webapp.comparisons.models import Comparison
plan = {"tasks": ["Cartpole"], "methods": ["icpl"], "candidates": 6, "experiments": 2}
out["comparison"] = str(Comparison.objects.create(name="C", status="running", **plan).public_id)
"""


def test_what_is_folded_stays_folded_in_a_part_that_refreshes(site, bench, page):
    page.goto(f"{bench}comparisons/{site.python(COMPARISON)['comparison']}/")
    table = page.get_by_role("region", name="Table of experiments")
    page.get_by_text("2 planned").click()
    expect(table).to_be_hidden()
    page.evaluate("document.getElementById('comparison').dataset.old = 'yes'")
    page.evaluate(
        "htmx.ajax('GET', location.pathname, {source: '#comparison', target: '#comparison', swap: 'outerHTML'})"
    )
    expect(page.locator("#comparison:not([data-old])")).to_be_visible()
    expect(table).to_be_hidden()


def test_cancel_asks_first_and_says_what_it_does(experiment, page):
    page.goto(experiment)
    page.get_by_role("link", name="Cancel", exact=True).click()
    dialog = page.locator("#confirm-cancel")
    expect(dialog).to_contain_text("cannot be continued")
    assert page.evaluate("document.activeElement.textContent") == "Keep it"
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".pill").first).to_have_text("Paused")


def test_questions_are_asked_without_javascript(experiment, page):
    plain = page.context.browser.new_context(
        java_script_enabled=False, storage_state=page.context.storage_state()
    ).new_page()
    plain.goto(experiment)
    expect(plain.locator("#confirm-cancel")).not_to_be_visible()
    plain.get_by_role("link", name="Cancel", exact=True).click()
    expect(plain.locator("#confirm-cancel").get_by_role("button", name="Cancel for good")).to_be_in_viewport()
    plain.get_by_role("link", name="Keep it").click()
    expect(plain.locator("#confirm-cancel")).not_to_be_visible()
    plain.context.close()


@pytest.mark.parametrize("width", [320, pytest.param(390, marks=pytest.mark.exhaustive), 768])
def test_nothing_overflows_a_small_screen(bench, experiment, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for path in (bench, experiment, f"{experiment}1-2/", f"{bench}tasks/", f"{bench}tasks/Ant/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    page.set_viewport_size({"width": 1280, "height": 900})


def test_the_table_keeps_what_is_chosen_and_changes_without_a_reload(bench, page):
    page.goto(bench)
    page.evaluate("window.sameDocument = true")
    page.evaluate("document.getElementById('run-filter').same = true")
    page.get_by_role("checkbox", name="Choose half way").click()
    with page.expect_response(lambda got: got.url.endswith("/bench/")):
        pass  # the table asks again every five seconds
    expect(page.get_by_text("1 experiment, 1 chosen")).to_be_visible()
    page.locator(".selection input[name=tag]").fill("night run")
    page.get_by_role("button", name="Add tag").click()
    expect(page.locator("#messages")).to_have_text("“night run” is on 1 more experiment.")
    assert page.locator("#id_tag option").all_text_contents()[1:] == ["night run"]
    assert page.evaluate("document.getElementById('run-filter').same"), "what is chosen in it meanwhile would be lost"
    page.get_by_label("Group by").select_option("method")
    expect(page.get_by_role("heading", name="By method")).to_be_visible()
    assert page.url.endswith("/bench/?group=method") and page.evaluate("window.sameDocument")
    page.get_by_role("button", name="Remove the tag night run from half way").click()
    expect(page.locator("#messages")).to_have_text("“night run” is off 1 experiment.")
    page.go_back()
    expect(page.get_by_role("heading", name="By method")).to_have_count(0)
    assert page.get_by_label("Group by").input_value() == ""


def test_a_form_tells_of_the_chosen_method_proposes_its_k_and_writes_options_down(site, page):
    page.goto(f"{site.url}/bench/new/")
    method, k, options = page.locator("[name=method]"), page.locator("[name=k]"), page.locator("[name=options]")
    expect(page.get_by_text("sees which robot you liked best")).to_be_visible()
    method.focus()
    method.select_option("rda")
    expect(page.get_by_text("The task is split into subtasks")).to_be_visible()
    expect(page.get_by_text("sees which robot you liked best")).to_be_hidden()
    expect(k).to_have_value("4")
    page.get_by_text("More: seed, start of trainings").click()
    page.get_by_role("button", name="rollouts = 3").click()
    page.keyboard.type("2")
    page.get_by_role("button", name="analyst = numbers").click()
    page.keyboard.type("frames")
    page.get_by_role("button", name="rollouts = 3").click()
    expect(options).to_have_value("rollouts = 2\nanalyst = frames")
    page.get_by_role("button", name="beta = -1.0").click()
    expect(page.locator("[name=judge_options]")).to_have_value("beta = -1.0")
    page.locator("[name=task]").select_option("HumanoidJump")
    expect(page.locator("[name=judge]")).to_have_value("model")
    expect(page.locator("[name=judge] option:not([disabled])")).to_have_text(["A language model"])
    page.locator("[name=task]").select_option("Ant")
    k.fill("3")
    method.select_option("eureka")
    expect(k).to_have_value("3")  # somebody's own stays
    preset = page.locator("[name=preset]")
    method.select_option("pebble")
    expect(preset).to_have_value("quick-sac")  # it is defined for SAC alone
    method.select_option("prefppo")
    expect(preset).to_have_value("quick")
    method.select_option("surf")
    method.select_option("icpl")
    expect(preset).to_have_value("quick")


def test_a_language_model_is_added_in_a_window_beside_an_experiments_form(site, page):
    page.goto(f"{site.url}/bench/new/")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Connect a language model").click()
    window = opened.value
    for name, value in (("name", "Beside"), ("base_url", "http://127.0.0.1:9/v1"), ("model", "m")):
        window.locator(f"[name={name}]").fill(value)
    window.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("[name=model] option:checked")).to_have_text("Beside")


def test_a_refused_form_keeps_a_typed_key_and_one_leaves_it_after_a_question(site, page):
    page.goto(f"{site.url}/bench/models/new/")
    name, address, key = (page.locator(f"[name={one}]") for one in ("name", "base_url", "api_key"))
    name.fill("Kept")
    address.fill("no address")
    page.locator("[name=model]").fill("m")
    key.fill("sk-typed")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("An address starts with http:// or https://.")).to_be_visible()
    expect(address).to_be_focused()
    expect(key).to_have_value("sk-typed")
    assert "sk-typed" not in page.content()
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("link", name="Back", exact=True).click()
    expect(name).to_have_value("Kept")
    assert asked == ["beforeunload"]
    address.fill("http://127.0.0.1:9/v1")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#messages")).to_have_text("Kept is saved. Test its connection here.")
    expect(page.get_by_role("button", name="Test connection")).to_be_visible()
    expect(page.get_by_label("Forget the stored key")).to_be_visible()


def test_a_new_vote_takes_another_pair(site, page):
    page.goto(f"{site.url}/bench/votes/new/")
    page.get_by_role("button", name="Another pair").click()
    expect(page.locator("[name=pairs-1-first]")).to_be_focused()
    page.locator("[name=pairs-1-name]").fill("Gait")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("[name=title]")).to_be_focused()
    expect(page.locator("[name=pairs-1-name]")).to_have_value("Gait")


def test_a_list_is_searched_filtered_and_sorted(site, page):
    page.goto(f"{site.url}/admin/experiments/experiment/")
    rows = page.locator("#result_list tbody tr")
    page.get_by_label("Search").fill("no experiment is called so")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("No experiments match.")).to_be_visible()
    page.get_by_role("link", name="Show all").last.click()
    expect(rows).not_to_have_count(0)
    filters = page.get_by_role("navigation", name="Filters")
    failed = filters.get_by_role("link", name="Stopped by a failure")
    filters.get_by_text("Status", exact=True).click()
    failed.click()
    expect(filters.get_by_text("Status: Stopped by a failure")).to_be_visible()
    expect(rows).to_have_count(0)
    filters.get_by_role("link", name="Show all").click()
    expect(rows).not_to_have_count(0)
    filters.get_by_text("Status", exact=True).click()
    expect(failed).to_be_visible()
    page.keyboard.press("Escape")
    expect(failed).to_be_hidden()
    filters.get_by_text("Task", exact=True).click()
    search = filters.get_by_label("Find: Task")
    expect(search).to_be_focused()
    search.fill("no task is called so")
    expect(filters.get_by_text("Nothing has these letters.")).to_be_visible()
    search.fill("all")
    expect(filters.get_by_role("link", name="Ant", exact=True)).to_be_hidden()
    search.press("Enter")
    expect(filters.get_by_text("Task: AllegroHand")).to_be_visible()
    filters.get_by_role("link", name="Show all").click()
    page.get_by_label("Select all objects on this page").check()
    expect(page.locator("tr.selected")).to_have_count(rows.count())
    page.locator("thead").get_by_role("link", name="Name", exact=True).click()
    expect(page.get_by_role("link", name="Toggle sorting")).to_have_count(2)


def test_an_arm_that_is_added_tells_of_its_own_method(site, page):
    page.goto(f"{site.url}/admin/studies/study/add/")
    page.get_by_text("Add another Arm").click()
    expect(page.locator("[name=arms-0-name]")).to_have_value("A")
    expect(page.locator("[name=arms-1-name]")).to_have_value("B")
    expect(page.locator("[name=arms-1-position]")).to_have_value("1")
    page.locator("[name=arms-1-method]").focus()
    page.locator("[name=arms-1-method]").select_option("rda_judged")
    expect(page.locator("[name=arms-1-k]")).to_have_value("4")
    expect(page.locator("[name=arms-0-k]")).to_have_value("6")
    told = page.locator("[data-about=method] [data-k]:visible")
    expect(told.nth(0)).to_contain_text("sees which robot you liked best")
    expect(told.nth(1)).to_contain_text("a judge picks best and worst in place of the analysis")
    expect(told).to_have_count(2)


def test_a_refused_form_leads_to_its_first_error(site, page):
    page.goto(f"{site.url}/admin/studies/study/add/")
    page.locator("[name=title]").fill("S")
    page.locator("[name=contact]").fill("c@example.org")
    page.get_by_text("Add another Arm").click()
    page.locator("[name=arms-1-name]").fill("A")
    page.get_by_role("button", name="Save", exact=True).click()
    name = page.locator("[name=arms-1-name]")
    expect(name).to_be_focused()
    expect(name).to_be_in_viewport()
    expect(page.locator("#content-main")).to_contain_text("Another arm of this study is called “A”")
    page.locator("[name=arms-1-name]").fill("B")
    page.locator("[name=arms-0-token_budget]").evaluate("(field) => { field.value = -1; }")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("[name=arms-0-token_budget]")).to_be_focused()  # it was folded away


def test_tasks_are_found_by_words_and_the_only_one_left_is_opened_by_enter(bench, page):
    page.goto(f"{bench}tasks/")
    search = page.get_by_label("Search")
    expect(page.locator(".task-card:visible")).to_have_count(len(catalog.list_tasks()))
    search.fill("hands kettle")
    expect(page.locator(".task-card:visible")).to_have_count(1)
    expect(page.get_by_role("heading", name="Locomotion")).to_be_hidden()
    expect(page.locator("nav[aria-label='Kinds of tasks'] a[href^='#']:visible")).to_have_text(
        ["Two hands (1)", "Reasoning problems"]
    )
    search.fill("no such robot")
    expect(page.locator("#task-count")).to_have_text("No task fits.")
    search.press("Escape")
    expect(page.locator(".task-card:visible")).to_have_count(len(catalog.list_tasks()))
    search.fill("Kettle")
    search.press("Enter")
    expect(page).to_have_url(f"{bench}tasks/Kettle/")


def test_a_request_that_fails_says_what_to_do_until_it_succeeds(bench, page):
    answers = [{"status": 403}, {"status": 504, "headers": {"X-Request-ID": "r7"}}, None, {"body": "<p>All well</p>"}]
    # a page of its own: a browser complains about each of these answers
    other = page.context.browser.new_context(storage_state=page.context.storage_state()).new_page()
    other.goto(f"{bench}workers/")

    def answer(route):
        given = answers.pop(0)
        route.fulfill(**given) if given else route.abort()

    other.route("**/workers/site-check/", answer)
    alert = other.get_by_role("alert")
    for words in ("refused this (403). Reload", "failed at this (504).* under r7", "did not answer"):
        other.get_by_role("button", name="Look now").click()
        expect(alert).to_have_text(re.compile(words.replace("(", r"\(").replace(")", r"\)")))
        expect(alert).to_be_in_viewport()
    other.get_by_role("button", name="Look now").click()
    expect(other.get_by_text("All well")).to_be_visible()
    expect(alert).to_have_count(0)
    other.route("**/workers/?again", lambda route: route.fulfill(status=503))
    ask_again = "htmx.ajax('GET', '/bench/workers/?again', {source: '#workers'})"
    other.evaluate(ask_again)
    expect(alert).to_have_count(0)  # it refreshes by itself
    other.evaluate(ask_again)
    expect(alert).to_contain_text("failed at this (503)")
    other.context.close()


INVITE = """
study = rows.study()
people = [rows.participant(study, consented=False, label=label) for label in ("P01", "P02")]
out["study"], out["links"] = study.pk, [person.get_absolute_url() for person in people]
"""


@pytest.mark.parametrize("secure", [True, False])
def test_links_are_copied_one_by_one_and_all(site, bench, page, secure):
    made = site.python(INVITE)
    first, second = (f"{site.url}{link}" for link in made["links"])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{bench}studies/{made['study']}/")
    read = page.evaluate_handle("navigator.clipboard")  # a site without https has none for its scripts
    if not secure:
        page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    button = page.get_by_role("button", name="Copy the link of P02")
    button.click()
    expect(button).to_have_text("Copied")
    expect(page.get_by_role("status").filter(has_text="Copied: Copy the link of P02")).to_have_count(1)
    assert read.evaluate("it => it.readText()") == second
    page.get_by_role("button", name="Copy all").click()
    expect(page.locator("[data-copy-all]")).to_have_text("Copied")
    assert read.evaluate("it => it.readText()") == f"P01\t{first}\nP02\t{second}"
