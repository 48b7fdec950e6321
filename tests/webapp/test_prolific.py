"""Prolific's list of submissions beside the participants here; codes and time per person for it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from tests.webapp.enrolments import agree, text
from webapp.archive import key_file
from webapp.audit.models import Entry
from webapp.experiments.models import Experiment
from webapp.studies import prolific
from webapp.studies.models import CompletionCode, Outcome, Participant

pytestmark = pytest.mark.django_db

LIST = """\ufeffSubmission id,Participant id,Status,Started at,Completion code
s1,back1,RETURNED,2026-05-01,
s2,late2,TIMED-OUT,2026-05-01,
s3,here3,APPROVED,2026-05-01,GOOD
s4,open4,AWAITING REVIEW,2026-05-01,GOOD
s5,ghost5,APPROVED,2026-05-01,GOOD
s6,wrong6,APPROVED,2026-05-01,OTHERS
"""


@pytest.fixture
def study():
    """Nobody is in it yet."""
    study = rows.study(recruiting=True, quota=6)
    CompletionCode.objects.create(study=study, outcome=Outcome.FINISHED, code="GOOD")
    CompletionCode.objects.create(study=study, outcome=Outcome.WITHDRAWN, code="LEFT")
    return study


@pytest.fixture
def full_study(study):
    """Six people from Prolific; four have not finished."""
    for name in ("back1", "late2", "here3", "open4", "wrong6", "unlisted7"):
        agree(Client(), study, {"PROLIFIC_PID": name, "SESSION_ID": f"{name}s"})
    begun = timezone.now() - timedelta(minutes=30)
    done = Participant.objects.filter(recruit__external_id__in=("here3", "wrong6"))
    done.update(outcome="finished", consented_at=begun, finished_at=begun + timedelta(minutes=20))
    done.filter(recruit__external_id="wrong6").update(outcome="withdrawn", finished_at=None, withdrawn_at=begun)
    return study


@pytest.mark.slow
def test_prolifics_list_beside_who_is_here(full_study):
    submissions = prolific.read_submissions(LIST)
    found = {row.submission.external_id: row for row in prolific.compare_submissions(full_study, submissions)}
    assert [name for name, row in found.items() if row.ends] == ["back1", "late2"] == list(found)[:2]
    assert not found["here3"].finding and "unfinished here" in found["open4"].finding
    assert "nobody with this id" in found["ghost5"].finding and "none of this study" in found["wrong6"].finding
    assert [person.recruit.external_id for person in prolific.list_unlisted(full_study, submissions)] == ["unlisted7"]


@pytest.mark.parametrize(
    ("status", "ends"),
    [("RETURNED", True), ("TIMED-OUT", True), ("REJECTED", True), ("SCREENED OUT", True), ("RESERVED", False),
     ("ACTIVE", False), ("AWAITING REVIEW", False), ("APPROVED", False), ("PARTIALLY APPROVED", False),
     ("PROCESSING", False)],
)  # fmt: skip
def test_every_state_of_a_submission_in_prolifics_documentation_is_read(study, status, ends):
    agree(Client(), study, {"PROLIFIC_PID": "back1", "SESSION_ID": "back1s"})
    [submission] = prolific.read_submissions(f"Submission id,Participant id,Status\ns1,back1,{status}")
    [found] = prolific.compare_submissions(study, [submission])
    assert found.ends == ends, "the place is given to somebody else there"


@pytest.mark.slow
def test_a_rejection_after_the_end_is_no_lost_code(full_study):
    text_ = "Submission id,Participant id,Status\ns1,here3,REJECTED\ns2,here3,RETURNED"
    rejected, returned = prolific.compare_submissions(full_study, prolific.read_submissions(text_))
    findings = {row.submission.status: row.finding for row in (rejected, returned)}
    assert findings["REJECTED"] == "" and "code was not handed in" in findings["RETURNED"]


def test_ids_alone_are_of_people_who_returned():
    assert prolific.read_submissions("back1\nlate2,\n") == [
        prolific.Submission("back1", "RETURNED"),
        prolific.Submission("late2", "RETURNED"),
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "Nothing was pasted"),
        ("Submission id,Participant id\ns1,back1", "no column Status"),
        ("Participant id,Status\nback1,VANISHED", "Line 2: the status “VANISHED”"),
        ("<script>", "is no id"),
    ],
)
def test_a_list_that_cannot_be_read_is_kept_and_explained(admin_client, study, given, said):
    shown = text(admin_client.post(reverse("bench:study_prolific", args=[study.pk]), {"text": given}))
    assert said in shown and "<script>" not in shown.partition("<main")[2].replace("<script src", "")
    assert "<textarea" in shown and given.partition("\n")[2] in shown


@pytest.mark.slow
@pytest.mark.parametrize(("data", "outcome"), [("keep", "stopped"), ("withdraw", "withdrawn")])
def test_a_returned_persons_place_is_free_again(admin_client, full_study, data, outcome):
    address = reverse("bench:study_prolific", args=[full_study.pk])
    shown = admin_client.post(address, {"text": LIST})
    assert shown["Cache-Control"] == "no-store" and "back1" in text(shown)
    newcomer = {"PROLIFIC_PID": "new8", "SESSION_ID": "new8s"}
    back = Participant.objects.get(recruit__external_id="back1")
    sent = {"do": "end", "people": ["back1", "here3"], "data": data}
    assert back.label in text(admin_client.post(address, sent, follow=True))
    back.refresh_from_db()
    assert back.outcome == outcome
    told = "It ended at the site that sent you here" in text(Client().get(back.get_absolute_url()))
    assert told == (outcome == "stopped")
    assert back.assignments.get().experiment.status == Experiment.Status.CANCELLED
    assert Participant.objects.get(recruit__external_id="here3").outcome == "finished", "who finished stays so"
    agree(Client(), full_study, newcomer)
    assert Participant.objects.filter(recruit__external_id="new8").exists()
    assert not Entry.objects.filter(detail__icontains="back1").exists(), "the log holds no recruitment ids"


def test_who_may_not_see_ids_sees_no_list(client, study):
    client.force_login(User.objects.create_user("viewer", is_staff=True))
    assert client.get(reverse("bench:study_prolific", args=[study.pk])).status_code == 403


@pytest.mark.slow
def test_the_time_per_person_is_on_the_page_and_in_the_key_table(admin_client, full_study):
    assert prolific.read_pay(full_study) == prolific.Pay(1, 20.0, 20.0, 20.0)
    shown = text(admin_client.get(reverse("bench:study", args=[full_study.pk])))
    assert "20 minutes" in shown and "NO_CONSENT" not in shown and "COMPLETED" in shown
    lines = key_file.to_csv(full_study).decode().splitlines()
    assert lines[0].endswith(",minutes") and [line.rpartition(",")[2] for line in lines if "here3" in line] == ["20.0"]


def test_personal_links_lead_to_no_code_of_the_site(client, study):
    person = rows.participant(study, label="P09")
    rows.finish_experiment(person)
    assert "GOOD" in text(client.get(person.get_absolute_url()))
    study.codes.update(url="https://app.prolific.com/submissions/complete?cc=GOOD")
    shown = text(client.get(person.get_absolute_url()))
    assert "GOOD" not in shown and "prolific" not in shown.lower()
    study.recruiting = False  # then codes are for those who were invited by hand
    study.save()
    assert "GOOD" in text(client.get(person.get_absolute_url()))


def test_every_end_has_a_name_at_prolific():
    assert set(prolific.CODE_TYPES) == set(Outcome)
    known = {"COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE"}
    known |= {"NO_CONSENT", "OTHER", "FIXED_SCREENOUT"}  # those of Prolific's API
    assert {one.name for one in prolific.CODE_TYPES.values()} <= known
