"""Staff look at every page of a study without taking part: nothing is written, and nobody else sees it."""

import re

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.files.base import ContentFile
from django.urls import reverse

from tests.webapp import problem_rows, rows
from webapp.problems.models import Attachment
from webapp.studies.models import CompletionCode, Outcome, Question, Study
from webapp.studio import preview_samples

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def study():
    """One with every page."""
    made = rows.study(practice=True, debriefing="We compared two ways of learning.", method="revolve_human")
    Question.objects.create(study=made, text="What do you choose?", answers="The best\nThe fastest", correct=1)
    for outcome in (Outcome.FINISHED, Outcome.WITHDRAWN, Outcome.FAILED):
        CompletionCode.objects.create(study=made, outcome=outcome, code=f"CODE-{outcome}", url="https://example.org/cc")
    rows.arm(made, "B", method="icpl", n=3)
    return made


def counts():
    return {model._meta.label: model.objects.count() for model in apps.get_models() if model is not Session}


def shown(client, study, name, **query):
    response = client.get(reverse("preview_page", args=[study.pk, name]), query)
    assert response.status_code == 200, name
    return response


def arm_with(study, name):
    return next(arm for arm in study.arms.all() if not preview_samples.find_missing_reason(name, study, arm))


def test_every_page_is_there_and_writes_nothing(staff, study):
    rows.arm(study, "Pairs", task="Cartpole", method="prefppo", k=1, n=1)
    before = counts()
    for name in preview_samples.STATES:
        html = shown(staff, study, name, arm=arm_with(study, name).pk).content.decode().partition("</style>")[2]
        assert "Preview, nothing is saved" in html and "<h1>" in html and study.contact in html, name
        assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|htmx", html.replace("htmx-config", "")), name
        assert not re.search(r'href="/s/', html), "a link that leads to no page"
        assert staff.get(reverse("preview", args=[study.pk, name])).status_code == 200
    assert counts() == before


def test_a_round_has_the_scripts_of_the_real_one(staff, study):
    real = set(re.findall(r"studio/(\w+)\.js", (settings.BASE_DIR / "templates/studio/page.html").read_text()))
    for name in ("review", "practice"):
        page = shown(staff, study, name).content.decode()
        assert set(re.findall(r"studio/(\w+)[.\w]*\.js", page)) == real - {"live", "tell", "pairs"}


def test_the_choice_is_among_the_videos_of_a_round(staff, study):
    few = rows.arm(study, "C", k=3)
    page = shown(staff, study, "picked", arm=few.pk).content.decode()
    assert set(re.findall(r"video ([A-Z])", page)) == {"A", "C"}


def test_the_pages_hold_what_the_study_says(staff, study):
    assert "Purpose. We want to know" in shown(staff, study, "consent").content.decode()
    assert "What do you choose?" in shown(staff, study, "check").content.decode()
    assert "Not quite." in shown(staff, study, "check-again").content.decode()
    assert "We compared two ways" in shown(staff, study, "debriefing").content.decode()
    assert "CODE-finished" in shown(staff, study, "thanks").content.decode()
    assert shown(staff, study, "review").content.decode().count('class="tile') == 6


def test_pages_that_a_study_does_not_have(staff):
    plain = rows.study(practice=False)
    listed = staff.get(reverse("preview", args=[plain.pk, "consent"])).content.decode()
    assert "Practice trial <small>not in this study" in listed
    assert staff.get(reverse("preview_page", args=[plain.pk, "practice"])).status_code == 404
    assert staff.get(reverse("preview_page", args=[plain.pk, "nonsense"])).status_code == 404
    assert staff.get(reverse("preview", args=[999, "consent"])).status_code == 404


@pytest.mark.parametrize("make", [problem_rows.sum_problem, problem_rows.add_problem])
def test_every_page_of_a_problem_is_there(staff, make):
    problem = make()
    Attachment.objects.create(problem=problem, file=ContentFile(b"GIF89a", name="a.gif"))
    study = rows.study(task=problem.name, method="scaling_3d", practice=True, k=3, n=2, consent_text="Free.")
    before = counts()
    for name in preview_samples.STATES:
        if not preview_samples.find_missing_reason(name, study, study.arms.get()):
            html = shown(staff, study, name).content.decode().partition("</style>")[2]
            assert "robot" not in html.replace('"robots"', "") and "<video" not in html, name
    assert counts() == before
    review = shown(staff, study, "review").content.decode()
    assert review.count('class="answer is-ready"') == 3 and problem.title in review
    picture = re.search(r'<img src="(/admin/[^"]+)"', review)[1]
    assert b"".join(staff.get(picture)) == b"GIF89a"
    assert "A shirt on sale" in shown(staff, study, "practice").content.decode()
    assert "wait for their turn" in shown(staff, study, "in-line").content.decode()


def test_a_problem_that_is_not_there_has_no_pages(staff):
    study = rows.study(task="a problem of ours", method="scaling_3d")
    listed = staff.get(reverse("preview", args=[study.pk, "consent"])).content.decode()
    assert "A round <small>its problem is not there" in listed
    assert staff.get(reverse("preview_page", args=[study.pk, "review"])).status_code == 404


def test_scripts_in_every_text_field_stay_text(staff, study):
    """The preview renders the participants' own templates, so that this walks every page of theirs."""
    script = "<script>alert('x')</script><img src=x onerror=alert(1)>"
    texts = ("title", "contact", "consent_text", "consent_version", "instructions", "debriefing", "thanks_text")
    for name in texts:
        room = Study._meta.get_field(name).max_length or 1000
        setattr(study, name, script[:room])
    study.save()
    rows.arm(study, "Pairs", task="Cartpole", method="prefppo", k=1, n=1)
    study.questions.update(text=script, answers=f"{script}\nno", explanation=script)
    study.codes.update(code=script[:40], url="https://example.org/?" + script)
    for name in preview_samples.STATES:
        arm = arm_with(study, name)
        html = shown(staff, study, name, arm=arm.pk).content.decode()
        html += staff.get(reverse("preview", args=[study.pk, name])).content.decode()
        assert "<script>" not in html and "<img src=x" not in html, name
