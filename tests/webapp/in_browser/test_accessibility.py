"""Participants', evaluators' and the admin's pages through axe-core: WCAG 2.2 AA and best practices."""

from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import axe_playwright_python
import pytest
from django.template.loader import render_to_string
from playwright.sync_api import expect

from tests.webapp.sites import PATIENCE

pytestmark = pytest.mark.slow

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RUN = """async () => {
    const ends = (one) => one.timeline === document.timeline  // not one that follows a scroll bar
        && one.playState === "running" && one.effect.getComputedTiming().endTime !== Infinity;
    for (let open = true; open; ) {  // a transition may begin another below it
        await new Promise(requestAnimationFrame);
        const running = document.getAnimations().filter(ends);
        await Promise.allSettled(running.map((one) => one.finished));
        open = running.length > 0;
    }
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"];
    const found = await axe.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
    return found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).join(" | ")}`);
}"""
LOOKS = (("light", 1280), ("dark", 390))
"""A desktop and a phone: colour scheme, width."""
MAKE_ROWS = """
from django.utils import timezone
from tests.webapp import poll_rows, problem_rows
from webapp.experiments.models import Experiment
from webapp.review import ballot
from webapp.review.ballot import Choice
from webapp.review.models import Trial
from webapp.review.screenings import find_screening
from webapp.studies.models import CompletionCode, Participant, Question, Study
study = rows.study(demonstration=True)

def person(name, **about):
    someone = rows.participant(study, label=name)
    out[name] = someone.get_absolute_url()
    Participant.objects.filter(pk=someone.pk).update(**about)
    return someone

def judging(name, **about):
    someone = person(name, **about)
    rows.create_round(someone, failed=(3,) if name == "failed clip" else ())
    request = rows.open_judgement(someone)
    return someone, find_screening(request, someone)

def experiment(someone, **values):
    Experiment.objects.filter(pk=someone.experiment.pk).update(**values)

person("consent", consented_at=None)
person("instruction", instructed_at=None)
waiting = person("waiting")
rows.create_round(waiting, percent=30)
rows.open_training(waiting)
judging("review")
judging("failed clip")
for name, choice in (("picked", Choice(best="A", worst="B")), ("cannot tell", Choice(cannot_tell=True))):
    someone, screening = judging(name)
    ballot.cast_vote(someone, screening.token, choice)
someone, screening = judging("attention")
best, worst = screening.order[:2]
Trial.objects.create(participant=someone, kind="attention", number=0, round=1, seed=1, order=screening.order,
                     expected_best_id=best, expected_worst_id=worst)
someone, screening = judging("pair")
Trial.objects.create(participant=someone, kind="gold", number=0, round=1, seed=1, order=screening.order[:2],
                     expected_best_id=screening.order[0])
final = person("final")
for number in (1, 2):
    rows.create_round(final, number)
rows.open_final_choice(final)
done = person("thanks")
rows.create_round(done)
rows.finish_experiment(done)
experiment(person("paused"), paused=True)
experiment(person("failed"), status="failed")
experiment(person("closed"), status="cancelled")
person("withdrawn", withdrawn_at=timezone.now())
out["leave"] = out["review"] + "leave/"
out["home"], out["unknown link"], out["sign in"] = "/", "/s/nobody/", "/admin/login/"

whole = rows.study(practice=True, recruiting=True, debriefing="What it was about.", most_attempts=2)
Question.objects.create(study=whole, text="May you leave?", answers="Yes\\nNo", correct=1, explanation="At any time.")
for outcome in ("finished", "failed"):
    CompletionCode.objects.create(study=whole, outcome=outcome, code="C1", url="https://example.org/?cc=C1")

def through(name, **about):
    someone = rows.participant(whole, label=name)
    out[name] = someone.get_absolute_url()
    Participant.objects.filter(pk=someone.pk).update(**about)
    return someone

through("practice")
through("check", practised_at=timezone.now())
through("check failed", outcome="failed")
rows.finish_experiment(through("debriefing"))
rows.finish_experiment(through("code", debriefed_at=timezone.now()))
out["open link"] = f"/take/{whole.open_link}/"
out["open link without an id"] = f"/take/{whole.open_link}/?STUDY_ID=s"

poll = poll_rows.poll(pairs=2, ask_strength=True, allow_tie=True)
out["votes consent"] = poll_rows.evaluator(poll, consented=False).get_absolute_url()
evaluator = poll_rows.evaluator(poll)
out["votes ballot"] = evaluator.get_absolute_url()
out["votes leave"] = out["votes ballot"] + "leave/"
finished = poll_rows.evaluator(poll)
while ballot_now := poll_rows.poll_ballot.find_current_showing(finished):
    poll_rows.vote_for(finished, "ICPL", strength="1")
out["votes thanks"] = finished.get_absolute_url()
out["votes unknown link"] = "/v/nobody/"
out["answers"] = problem_rows.open_judgement(problem_rows.sum_problem(), ["# One", "# Two"])
out["votes film"] = poll_rows.evaluator(poll_rows.films_to_rate()).get_absolute_url()
out["votes answer"] = poll_rows.evaluator(poll_rows.answers_to_grade()).get_absolute_url()
out["votes points"] = poll_rows.evaluator(poll_rows.answers_to_grade(20)).get_absolute_url()
"""

STAFF = """
import uuid
import webapp.urls  # registers the models
from django.conf import settings
from django.contrib import admin
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse
from django.utils import timezone
from tests.webapp import bench_rows, finished_study, poll_rows, problem_rows
from webapp.comparisons.models import Comparison
from webapp.endpoints.models import Endpoint
from webapp.notices.models import Notice
from webapp.problems import missing_files
from webapp.review.models import Screening
ada, client = bench_rows.create_staff(), Client()
client.force_login(ada)
out["cookie"] = {"name": settings.SESSION_COOKIE_NAME, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}
with override_settings(UNDO_SECONDS=0):
    finished_study.create_finished_study()
bench_rows.create_finished_experiment(n=1)
poll_rows.poll(status="draft", pairs=1)
problem_rows.add_problem()
Comparison.objects.create(name="C", tasks=["Cartpole"], methods=["icpl", "open_loop"], candidates=6, experiments=2)
Endpoint.objects.create(address="https://example.org/v1")
shown = Screening.objects.first()
Notice.objects.create(participant=shown.participant, request=shown.request, kind="ready", channel="email",
                      due_at=timezone.now())
request = RequestFactory().get("/")
request.user = ada
out["forms"], out["others"] = {"comparison, add": reverse("comparisons:new")}, {}
for model, pages in admin.site._registry.items():
    name, row = f"{model._meta.app_label}_{model._meta.model_name}", model._default_manager.first()
    out["others"][f"{name}, list"] = reverse(f"admin:{name}_changelist")
    out["others"][f"{name}, history"] = reverse(f"admin:{name}_history", args=[row.pk])
    if pages.has_add_permission(request):
        out["forms"][f"{name}, add"] = reverse(f"admin:{name}_add")
    kind = "forms" if pages.has_change_permission(request, row) else "others"
    out[kind][f"{name}, change"] = reverse(f"admin:{name}_change", args=[row.pk])
    if pages.has_delete_permission(request, row):
        out["others"][f"{name}, delete"] = reverse(f"admin:{name}_delete", args=[row.pk])
out["others"] |= {name: reverse(f"admin:{name}") for name in ("index", "problems_upload")}
out["others"]["empty list"] = reverse("admin:problems_problem_changelist") + "?q=nothing"
key = uuid.uuid4()
missing_files.keep_set({"problems.yaml": b"{format: 1, problems: [{attachments: [{file: a.png}]}]}"}, key)
out["others"]["problems_complete"] = reverse("admin:problems_complete", args=[key])
out["others"]["password"] = reverse("admin:auth_user_password_change", args=[ada.pk])
"""


@pytest.fixture(scope="module")
def addresses(site):
    return site.python(MAKE_ROWS)


def watch_policy(page):
    """The list in which every breach of the content security policy appears, and every page that allows one."""
    breaches = []

    def read(answer):
        policy = answer.headers.get("content-security-policy", "")
        strict = "default-src 'none'" in policy and "unsafe" not in policy
        if not strict and "text/html" in answer.headers.get("content-type", ""):
            breaches.append(f"{answer.url} has the policy '{policy}'")

    page.on("response", read)
    page.on("console", lambda said: breaches.append(said.text) if "Security Policy" in said.text else None)
    return breaches


def show_look(page, look):
    scheme, width = look
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")


@pytest.mark.parametrize("looks", [pytest.param(2, marks=pytest.mark.exhaustive), 1])
def test_no_page_has_a_violation(chromium, site, addresses, looks):
    """axe-core does not see everything; what it sees must not be there. With one look, a page's name says which."""
    context = chromium.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    found = {"policy": watch_policy(page)}
    for name, address in addresses.items():
        for look in LOOKS if looks == 2 else [LOOKS[crc32(name.encode()) % 2]]:
            show_look(page, look)
            if look == LOOKS[0] or looks == 1:
                page.goto(site.url + address)
                page.evaluate(AXE)
            found[f"{name}, {look}"] = page.evaluate(RUN)
            for opened in ("#help", ".why", ".cannot"):
                if page.locator(opened).count() and name in ("review", "votes ballot", "pair"):
                    page.locator(opened).evaluate("(one) => one.popover ? one.showPopover() : (one.open = true)")
                    found[f"{name}, {look}, {opened} open"] = page.evaluate(RUN)
                    page.locator(opened).evaluate("(one) => one.popover ? one.hidePopover() : (one.open = false)")
    context.close()
    assert len(addresses) >= 20
    assert {name: violations for name, violations in found.items() if violations} == {}


ERRORS = {
    "403_csrf.html": {},
    "404.html": {},
    "500.html": {"number": "0123456789abcdef"},
    "503.html": {"again": True},
    "bench/account/locked.html": {"minutes": 3},
    "studio/notices/stop.html": {"address": None},
    "studio/erased.html": {"study": SimpleNamespace(contact="me@example.org"), "code": None},
}


def test_no_page_that_stands_for_another_has_a_violation(chromium, site):
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(site.url)
    found = {}
    for name, context in ERRORS.items():
        page.set_content(render_to_string(name, context))
        for look in LOOKS:
            show_look(page, look)
            page.evaluate(AXE)
            found[f"{name}, {look}"] = page.evaluate(RUN)
            if page.evaluate("document.documentElement.scrollWidth") > look[1]:
                found[f"{name}, {look}"].append("the page scrolls sideways")
    page.close()
    assert {name: violations for name, violations in found.items() if violations} == {}


def test_the_search_finds_what_is_wrong(chromium, site):
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(site.url)
    page.evaluate(AXE)
    page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<button></button><img src=x>')")
    found = " ".join(page.evaluate(RUN))
    page.close()
    assert "button-name" in found and "image-alt" in found


@pytest.mark.parametrize("name", ["review", "votes ballot", "answers"])
def test_single_key_shortcuts_can_be_switched_off(chromium, site, addresses, name):
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(site.url + addresses[name])
    chosen, help_sheet = page.locator("main input[type=radio]:checked"), page.locator("#help")

    def switch():
        page.get_by_role("button", name="Help").click()
        page.get_by_label("Use single-key shortcuts").click()
        help_sheet.get_by_role("button", name="Close").click()

    switch()
    page.reload()
    for key in ("1", "?", "Space"):
        page.keyboard.press(key)
    expect(chosen).to_have_count(0)
    expect(help_sheet).to_be_hidden()
    switch()
    page.keyboard.press("1")
    expect(chosen).to_have_count(1)
    page.close()


@pytest.fixture(scope="module")
def staff(chromium, site):
    """A signed-in browser and the addresses of staff's pages."""
    made = site.python(STAFF)
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    context.add_cookies([{**made["cookie"], "url": site.url}])
    yield context, made
    context.close()


def find_violations(context, site, addresses, looks):
    """What axe-core finds, and what the browser itself complains about: the policy allows nothing inline."""
    page = context.new_page()
    found, complaints = {"policy": watch_policy(page)}, []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for name, address in addresses.items():
        for look in looks:
            show_look(page, look)
            assert page.goto(site.url + address).status == 200, name
            page.evaluate(AXE)
            found[f"{name}, {look}"] = [*page.evaluate(RUN), *complaints]
            complaints.clear()
            page.set_viewport_size({"width": 390, "height": 800})
            if page.evaluate("document.documentElement.scrollWidth") > 390:
                found[f"{name}, {look}"].append("the page scrolls sideways")
    page.close()
    return {name: violations for name, violations in found.items() if violations}


@pytest.mark.exhaustive
def test_no_form_of_the_admin_has_a_violation(staff, site):
    context, made = staff
    assert len(made["forms"]) >= 12
    assert find_violations(context, site, made["forms"], LOOKS[:1]) == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "look"), [("forms", LOOKS[1]), *(("others", look) for look in LOOKS)])
def test_no_page_of_the_admin_has_a_violation_in_any_look(staff, site, kind, look):
    context, made = staff
    assert find_violations(context, site, made[kind], [look]) == {}
