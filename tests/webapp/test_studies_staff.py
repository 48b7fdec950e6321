"""What staff do with a study beside its form: the sheet of personal links, a copy, the links of its page."""

import csv
import io

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from tests.webapp import bench_rows, rows
from tests.webapp.enrolments import CAME, PID, agree, text
from webapp.audit.models import Entry
from webapp.review.models import TrialPlan
from webapp.studies.models import CompletionCode, Outcome, Participant, Question, Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return rows.study(recruiting=True)


# --- the sheet of links ---------------------------------------------------------------------------------------


def sheet(client, study):
    response = client.get(reverse("link_sheet", args=[study.pk]))
    return response, list(csv.DictReader(io.StringIO(text(response)))) if response.status_code == 200 else []


def test_the_sheet_has_every_personal_link(client, study):
    people = [rows.participant(study, consented=number > 1, label=f"P0{number}") for number in (1, 2)]
    agree(Client(), study, CAME)
    client.force_login(bench_rows.create_staff())
    response, lines = sheet(client, study)
    assert response["Content-Type"].startswith("text/csv") and "links-robots" in response["Content-Disposition"]
    assert [(line["participant"], line["status"]) for line in lines] == [("P01", "not begun"), ("P02", "taking part")]
    assert [line["link"] for line in lines] == [f"http://testserver{one.get_absolute_url()}" for one in people]
    assert PID not in text(response)
    kept = Entry.objects.get(action="downloaded links")
    assert (kept.actor, kept.detail) == ("ada", {"participants": 2})


def test_the_sheet_is_for_those_who_may_see_participants(client, study):
    rows.participant(study)
    assert sheet(client, study)[0].status_code in (302, 403)
    viewer = User.objects.create(username="vera", is_staff=True)
    client.force_login(viewer)
    assert sheet(client, study)[0].status_code == 403
    viewer.user_permissions.add(Permission.objects.get(codename="view_participant"))
    assert sheet(client, study)[0].status_code == 200
    assert Entry.objects.filter(action="downloaded links").count() == 1


def test_no_label_is_a_formula(client, study):
    Participant.objects.create(study=study, label="=1+1")
    client.force_login(bench_rows.create_staff())
    assert sheet(client, study)[1][0]["participant"] == "'=1+1"


# --- a study like another -------------------------------------------------------------------------------------


def test_a_copy_has_the_plan_and_nobody_in_it(client, study):
    rows.participant(study)
    CompletionCode.objects.create(study=study, outcome=Outcome.FINISHED, code="ALL-DONE")
    rows.arm(study, "B", method="open_loop", k=4)
    Question.objects.create(study=study, text="Why?", answers="a\nb", correct=2)
    TrialPlan.objects.create(study=study, attention=2)
    client.force_login(bench_rows.create_staff())
    fields = {"action": "copy_studies", "_selected_action": [study.pk]}
    html = text(client.post(reverse("admin:studies_study_changelist"), fields, follow=True))
    made = Study.objects.get(title=f"Copy of {study.title}")
    assert made.title in html and made.status == Study.Status.DRAFT and not made.recruiting
    study.refresh_from_db()
    assert made.open_link != study.open_link and made.consent_text == study.consent_text
    assert [(arm.name, arm.method, arm.k) for arm in made.arms.all()] == [("A", "icpl", 6), ("B", "open_loop", 4)]
    assert made.questions.get().correct == 2 and made.trial_plan.attention == 2
    assert not made.participants.exists() and not made.codes.exists()
    assert (study.arms.count(), study.questions.count(), study.participants.count()) == (2, 1, 1)
    assert Entry.objects.filter(action="copied study", target_id=str(made.pk)).exists()


def test_the_page_leads_to_links_sheet_and_preview(client, study):
    rows.participant(study)
    client.force_login(bench_rows.create_staff())
    Study.objects.update(parameter_required=True)
    html = text(client.get(reverse("bench:study", args=[study.pk])))
    for name, key in (("take", study.open_link), ("link_sheet", study.pk), ("preview_first", study.pk)):
        assert reverse(name, args=[key]) in html
    assert "?PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;STUDY_ID={{%STUDY_ID%}}" in html


def test_staff_are_told_that_an_address_must_be_secure(study):
    code = CompletionCode(study=study, code="C1", url="http://example.org/")
    with pytest.raises(ValidationError, match="begins with https"):
        code.full_clean()
    CompletionCode(study=study, code="C1", url="https://example.org/?cc=C1").full_clean()
