"""Every page in a language made from English: a string that was forgotten stays English, and is found."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from playwright.sync_api import sync_playwright

import webapp.urls  # noqa: F401  (its forms read the languages when they are loaded: not these)
from tests.webapp import poll_rows, pseudo, rows
from tests.webapp.sites import BROWSER, PATIENCE
from webapp.problems.models import Problem
from webapp.studies.models import CompletionCode, Outcome, Question
from webapp.studio import preview_samples
from webapp.studio.presentations import make_lead
from webapp.votes.models import Poll

pytestmark = pytest.mark.slow

SKIPPED = {"script", "style", "kbd", "code", "svg"}
TAKE_REASONS = (
    *("early", "draft", "declined", "late", "expired", "unassigned", "full", "stopped", "many", "elsewhere"),
    *("missing", "bad", "closed"),
)
POLL_STATES = ["thanks", "left", "early", "incomplete", "elsewhere", "many", "closed", "consent"]
OWN = {"title": "Σ", "contact": "λ@λ.λ", "consent_text": "π π π", "instructions": "π", "debriefing": "π"}


class Reader(HTMLParser):
    """Everything of a page that people read or hear."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped, self.found = 0, []

    def handle_starttag(self, tag, attributes):
        self.skipped += tag in SKIPPED
        named = dict(attributes)
        if named.get("lang") not in ("en",):
            self.found += [named[name] for name in ("aria-label", "alt", "title", "placeholder") if named.get(name)]

    def handle_endtag(self, tag):
        self.skipped -= tag in SKIPPED

    def handle_data(self, data):
        if not self.skipped:
            self.found.append(data)


def find_english(html: str) -> list[str]:
    reader = Reader()
    reader.feed(html)
    known = r"Prefine|English|example\.org|https?://\S+|UTC|CODE-\w+|C1\b|PROLIFIC_PID"
    return [text.strip() for text in reader.found if re.search("[A-Za-z]{3}", re.sub(known, "", text))]


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("locale")
    pseudo.write(folder)
    return folder


@pytest.fixture
def pseudo_language(settings, catalogs):
    settings.LANGUAGES, settings.LOCALE_PATHS = pseudo.LANGUAGES, [catalogs]
    with translation.override("en-xa"):
        yield "en-xa"


@pytest.fixture
def study(db):
    made = rows.study(practice=True, method="revolve_human", other_languages=["en-xa", "ar-xb"], thanks_text="π", **OWN)
    Question.objects.create(study=made, text="σ", answers="α\nβ", correct=1, explanation="π")
    for outcome in (Outcome.FINISHED, Outcome.WITHDRAWN, Outcome.FAILED):
        CompletionCode.objects.create(study=made, outcome=outcome, code=f"CODE-{outcome}", url="https://example.org/cc")
    return made


def read_pages(study, staff, language):
    """The pages that this study has: name -> HTML."""
    arm, pages = study.arms.get(), {}
    for name in preview_samples.STATES:
        if not preview_samples.find_missing_reason(name, study, arm):
            answer = staff.get(reverse("preview_page", args=[study.pk, name]), {"language": language})
            pages[name] = answer.content.decode()
    assert len(pages) > 20
    return pages


def test_no_page_of_a_study_is_left_in_english(study, staff, pseudo_language):
    for name, page in read_pages(study, staff, pseudo_language).items():
        assert '<html lang="en-xa">' in page and find_english(page) == [], name


def test_no_page_of_the_open_link_is_left_in_english(study, pseudo_language):
    for reason in TAKE_REASONS:
        context = {
            "study": study,
            "reason": reason,
            "parameter": "PROLIFIC_PID",
            "lead": make_lead(study.arms.all(), 2),
        }
        assert find_english(render_to_string("studio/open_link.html", context)) == [], reason


def test_no_page_of_a_vote_is_left_in_english(pseudo_language):
    poll = Poll(title="Σ", question="σ", instructions="π", consent_text="π", contact="λ", completion_code="C1")
    for state in POLL_STATES:
        context = {
            "poll": poll,
            "state": state,
            "evaluator": SimpleNamespace(consented_at=state == "closed", token="t"),
        }
        assert find_english(render_to_string("studio/votes/page.html", context)) == [], state


@pytest.mark.parametrize("read", [False, True], ids=["films", "answers"])
def test_no_ballot_of_a_vote_is_left_in_english(read, client, pseudo_language, settings, db):
    own = {**OWN, "question": "", "allow_tie": True, "ask_strength": True, "other_languages": [pseudo_language]}
    del own["debriefing"]
    if read:
        Problem.objects.create(name="sum", title="Σ", statement="σ $1$", answer="5050", reference="π")
        sources = [f"## Final answer\n\n{number}\n\n## Reasoning\n\nπ" for number in (5050, 5049)]
        made = poll_rows.poll_of_answers(*(poll_rows.answer_of("ICPL", source, "sum") for source in sources), **own)
        assert poll_rows.lifecycle.open_poll(made) == []
    else:
        made = poll_rows.poll(pairs=2, **own)
    person = poll_rows.evaluator(made)
    address = person.get_absolute_url()
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = pseudo_language
    pages = {name: client.get(f"{address}{name}").content.decode() for name in ("", "leave/")}
    wrong = {"showing": "nobody", "choice": "left"}
    for name, fields in (("out of date", wrong), ("no choice", {**wrong, "showing": find_showing(person)})):
        fields["choice"] = "" if name == "no choice" else "left"
        answer = client.post(f"{address}answer/", fields, follow=True)
        pages[name] = answer.content.decode()
        assert 'class="note"' in pages[name]
    translation.activate(pseudo_language)
    for name, page in pages.items():
        assert '<html lang="en-xa">' in page
        assert set(find_english(page)) <= {"Final answer", "Reasoning"}, name  # as the model wrote them


def find_showing(person):
    return poll_rows.poll_ballot.find_current_showing(person).token


def test_no_other_page_and_no_message_is_left_in_english(study, pseudo_language, client):
    for address in ("/", "/s/nobody/", "/nothing/", "/n/nobody/"):
        page = client.get(address, headers={"accept-language": "en-xa"}).content.decode()
        assert find_english(page) == [], address
    translation.activate("en-xa")  # a response ends with its language
    for kind in ("ready", "reminder"):
        words = {"study": study, "link": "https://example.org/", "stop": "https://example.org/", "since": "1"}
        assert find_english(render_to_string(f"notices/{kind}.txt", words)) == []
    context = {"study": study, "participant": SimpleNamespace(token="t", finished_at=timezone.now())}
    for name in ("studio/erased.html", "500.html", "403_csrf.html"):
        assert find_english(render_to_string(name, context)) == [], name


def test_a_language_from_the_right_turns_the_page(study, staff, pseudo_language):
    page = staff.get(reverse("preview_page", args=[study.pk, "consent"]), {"language": "ar-xb"}).content.decode()
    assert '<html lang="ar-xb" dir="rtl">' in page


CUT = """() => {
    const wide = document.documentElement.scrollWidth > innerWidth ? ["the page scrolls"] : [];
    const buttons = [...document.querySelectorAll("button, .button, .pick")].filter((one) => one.checkVisibility());
    const cut = buttons.filter((one) => {
        const { left, right } = one.getBoundingClientRect();
        const outside = left < -1 || right > innerWidth + 1;
        return one.scrollWidth > one.clientWidth + 1 || (outside && !one.closest(".grid"));
    });
    const formula = document.body.appendChild(document.createElement("span"));
    formula.className = "math";
    const { direction, unicodeBidi } = getComputedStyle(formula);
    formula.remove();
    const isTurned = document.dir === "rtl" && `${direction} ${unicodeBidi}` !== "ltr isolate";
    const turned = isTurned ? ["formulas are turned"] : [];
    return [...wide, ...turned, ...cut.map((one) => one.textContent.trim())];
}"""


def test_no_page_scrolls_sideways_and_no_button_is_cut(study, staff, pseudo_language):
    shown = {
        f"{name}, {language}": source
        for language in ("en-xa", "ar-xb")
        for name, source in read_pages(study, staff, language).items()
    }
    faults = []
    with sync_playwright() as started:  # no query is allowed within it
        browser = started.chromium.launch(**BROWSER)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.route(re.compile("^http"), lambda route: route.abort())  # the style sheets lie within the pages
        for name, source in shown.items():
            page.set_content(source, wait_until="domcontentloaded")
            for width in (390, 1280):
                page.set_viewport_size({"width": width, "height": 844})
                faults += [f"{name}, {width} px: {fault}" for fault in page.evaluate(CUT)]
        browser.close()
    assert faults == []
