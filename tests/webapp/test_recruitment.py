"""The open link, completion codes and debriefing: how people get in, and what they leave with."""

from datetime import timedelta
from unittest.mock import patch

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from tests.webapp.enrolments import CAME, PID, agree, look, text
from webapp.archive import erasure
from webapp.experiments.models import Event, Experiment
from webapp.review.models import Vote
from webapp.studies import enrolment, limits
from webapp.studies.models import CompletionCode, Outcome, Participant, Recruit, Study
from webapp.studio import open_link

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def study():
    return rows.study(recruiting=True)


@pytest.mark.slow
def test_no_label_is_given_again(study):
    for _ in range(2):
        agree(Client(), study)
    erasure.erase(Participant.objects.get(label="R02"))
    agree(Client(), study)
    assert Participant.objects.latest("pk").label == "R03"
    assert enrolment.invite(study, 2) == ["P01", "P02"]
    erasure.erase(Participant.objects.get(label="P02"))
    assert enrolment.invite(study, 1) == ["P03"]


@pytest.mark.slow
def test_a_form_sent_twice_makes_one_person_of_one_browser(study):
    """The second press is on its way before the first has brought a session."""
    address = reverse("take", args=[study.open_link])
    for secret, people in (("a" * 32, 1), ("a" * 32, 1), ("b" * 32, 2)):
        browser = Client()
        browser.cookies["csrftoken"] = secret
        assert agree(browser, study).status_code == 200
        assert Participant.objects.count() == people
        shown = text(browser.get(address, follow=True))
        assert "Agree and begin" not in shown
    assert Experiment.objects.count() == 2
    assert secret not in Participant.objects.latest("pk").token


# --- from a recruitment site ----------------------------------------------------------------------------------


def test_looking_enrols_nobody(client, study):
    html = text(look(client, study, **CAME))
    assert "Purpose. We want to know" in html and "Agree and begin" in html
    assert not Participant.objects.exists() and not Recruit.objects.exists()


def test_agreeing_makes_a_participant_with_a_key(client, study):
    response = agree(client, study, CAME)
    person = Participant.objects.get()
    assert response.redirect_chain == [(person.get_absolute_url(), 302)]
    assert (person.source, person.label, bool(person.consented_at)) == (Participant.Source.RECRUITMENT, "R01", True)
    recruit = Recruit.objects.get()
    assert (recruit.participant, recruit.external_id, recruit.parameters) == (person, PID, CAME)


def test_the_id_is_in_the_key_table_and_nowhere_else(client, study):
    response = agree(client, study, CAME)
    person = Participant.objects.get()
    assert PID not in person.get_absolute_url() and PID not in text(response)
    assert PID not in str([(event.text, event.payload) for event in Event.objects.all()])
    assert PID not in str(list(Participant.objects.values())) and PID not in person.experiment.name


def test_the_same_id_is_the_same_person_on_any_device(client, study):
    agree(client, study, CAME)
    person = Participant.objects.get()
    for other, session in ((client, "another"), (Client(), CAME["SESSION_ID"])):
        response = look(other, study, **{**CAME, "SESSION_ID": session})
        assert response.status_code == 302 and response.url == person.get_absolute_url()
    agree(Client(), study, CAME)
    assert Participant.objects.count() == 1


@pytest.mark.parametrize("query", [{"PROLIFIC_PID": PID}, {**CAME, "SESSION_ID": "guessed"}])
def test_an_id_alone_opens_nothing_in_another_browser(study, query):
    """Researchers, and people they share tables with, know the ids of a site."""
    agree(Client(), study, CAME)
    person = Participant.objects.get()
    stranger = Client()
    for response in (look(stranger, study, **query), agree(stranger, study, query)):
        assert response.status_code == 403 and "begun already, somewhere else" in text(response)
        assert person.token not in text(response)
    assert Participant.objects.count() == Recruit.objects.count() == 1


def test_an_id_without_a_session_is_its_browsers(study):
    browser, bare = Client(), {"PROLIFIC_PID": PID}
    browser.cookies["csrftoken"] = "a" * 32  # which outlives a session
    agree(browser, study, bare)
    del browser.cookies["sessionid"]
    assert look(browser, study, **bare).url == Participant.objects.get().get_absolute_url()
    with patch.object(limits, "WRONG_LINKS", 1):
        assert [look(Client(), study, **bare).status_code for _ in range(2)] == [403, 429]


def test_the_same_id_in_another_study_is_another_person(client, study):
    second = rows.study(title="Second", recruiting=True)
    agree(client, study, CAME)
    agree(client, second, CAME)
    assert Participant.objects.count() == 2


def test_somebody_who_began_goes_on_when_nobody_new_may(client, study):
    agree(client, study, CAME)
    Study.objects.update(recruiting=False, ethics_expires_on="2020-01-01", quota=1)
    assert look(client, study, **CAME).url == Participant.objects.get().get_absolute_url()


@pytest.mark.parametrize("value", ["a b", "x" * 101, "{{%PROLIFIC_PID%}}", SCRIPT, "ann@example.org", "a/b"])
def test_a_bad_id_gets_a_page_that_says_so(client, study, value):
    response = look(client, study, PROLIFIC_PID=value)
    assert response.status_code == 400 and "A part of this link is not right" in text(response)
    assert "PROLIFIC_PID" in text(response) and SCRIPT not in text(response)
    assert agree(client, study, {"PROLIFIC_PID": "a%20b"}).status_code == 400
    assert not Participant.objects.exists()


def test_an_id_given_twice(client, study):
    address = reverse("take", args=[study.open_link])
    assert client.get(f"{address}?PROLIFIC_PID=a&PROLIFIC_PID=b").status_code == 400


@pytest.mark.parametrize("query", [{"STUDY_ID": "s"}, {"PROLIFIC_PID": "", "SESSION_ID": "s"}])
def test_a_missing_id_gets_a_page_that_says_so(client, study, query):
    response = look(client, study, **query)
    assert response.status_code == 400 and "Something is missing in this link" in text(response)


def test_a_study_that_demands_an_id_takes_nobody_without(client, study):
    Study.objects.update(parameter_required=True)
    assert "Something is missing in this link" in text(look(client, study))
    assert agree(client, study).status_code == 400 and not Participant.objects.exists()
    agree(client, study, CAME)
    assert Recruit.objects.exists()


def test_an_oversize_parameter(client, study):
    assert look(client, study, PROLIFIC_PID=PID, SESSION_ID="x" * 201).status_code == 400
    assert look(client, study, PROLIFIC_PID=PID, other="x" * 5000).status_code == 200


def test_parameters_have_the_names_that_the_study_says(client):
    study = rows.study(recruiting=True, parameter_person="workerId", parameter_session="assignmentId")
    agree(client, study, {"workerId": "w-1", "assignmentId": "a1", "PROLIFIC_PID": "ignored", "more": "x"})
    assert Recruit.objects.get().parameters == {"workerId": "w-1", "assignmentId": "a1"}


# --- without a recruitment site -------------------------------------------------------------------------------


def test_without_parameters_a_browser_is_a_person(client, study):
    agree(client, study)
    person = Participant.objects.get()
    assert person.source == Participant.Source.OPEN and not Recruit.objects.exists()
    assert look(client, study).url == person.get_absolute_url()
    assert look(Client(), study).status_code == 200
    agree(Client(), study)
    assert [one.label for one in Participant.objects.order_by("pk")] == ["R01", "R02"]


def test_a_browser_that_was_somebody_from_a_site_is_not_taken_for_them(client, study):
    agree(client, study, CAME)
    assert look(client, study).status_code == 200  # the consent page: without the id it is not known


def test_an_address_has_so_many_starts_an_hour(client, study):
    with patch.object(limits, "JOINS", 2):
        for _ in range(2):
            agree(Client(), study)
        refused = agree(Client(), study)
    assert refused.status_code == 429 and "Too many people at once" in text(refused)
    assert Participant.objects.count() == 2


# --- consent --------------------------------------------------------------------------------------------------


def test_without_the_tick_or_with_an_old_text_nobody_is_enrolled(client, study):
    assert "tick the box" in text(agree(client, study, agree=""))
    assert "changed while you were reading" in text(agree(client, study, hash="old"))
    assert not Participant.objects.exists()


def test_declining_leaves_no_trace_and_gives_its_code(client, study):
    CompletionCode.objects.create(study=study, outcome=Outcome.NOT_ELIGIBLE, code="NO-THANKS")
    assert "NO-THANKS" not in text(look(client, study, **CAME))
    html = text(agree(client, study, CAME, decline="yes"))
    assert "You are not taking part" in html and "NO-THANKS" in html
    assert not Participant.objects.exists() and not Recruit.objects.exists()


# --- when nobody may get in -----------------------------------------------------------------------------------

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"status": Study.Status.DRAFT}, "has not opened yet"),
        ({"status": Study.Status.CLOSED}, "This study is closed"),
        ({"recruiting": False}, "takes nobody new at the moment"),
        ({"opens_at": timezone.now() + HOUR}, "has not opened yet"),
        ({"closes_at": timezone.now() - HOUR}, "The time for starting is over"),
        ({"ethics_expires_on": "2020-01-01"}, "ethics approval"),
        ({"ethics_expires_on": None}, "ethics approval"),
        ({"quota": 1}, "This study is full"),
    ],
)
def test_it_says_why_nobody_may_get_in(client, study, values, words):
    rows.participant(study)
    Study.objects.filter(pk=study.pk).update(**values)
    study.refresh_from_db()
    for response in (look(client, study, **CAME), agree(client, study, CAME)):
        html = text(response)
        assert words in html and "Agree and begin" not in html and "ada@example.org" in html
    assert Participant.objects.count() == 1 and not Recruit.objects.exists()


def test_the_last_place_taken_meanwhile_leaves_nothing_behind(client, study):
    rows.participant(study)
    Study.objects.update(quota=1)
    with patch.object(open_link, "find_closed_reason", return_value=""):
        html = text(agree(client, study, CAME))
    assert "This study is full" in html
    assert Participant.objects.count() == 1 and not Recruit.objects.exists()


def test_a_link_that_leads_nowhere(client, study):
    for link in ("nonsense", study.open_link[:-1], study.open_link + "x", "%00"):
        assert client.get(f"/take/{link}/").status_code == 404


# --- codes and debriefing -------------------------------------------------------------------------------------


@pytest.fixture
def ended(study):
    for outcome in Outcome.values:
        CompletionCode.objects.create(study=study, outcome=outcome, code=f"CODE-{outcome}")
    Study.objects.update(debriefing=f"We compared {SCRIPT}.", thanks_text="Bye.")
    person = rows.participant(study)
    rows.create_round(person)
    rows.open_judgement(person)
    Participant.objects.update(source=Participant.Source.RECRUITMENT)
    return Participant.objects.get()


def page(client, person):
    return text(client.get(person.get_absolute_url()))


@pytest.mark.slow
def test_debriefing_comes_before_thanks_and_its_code(client, ended):
    assert "CODE-" not in page(client, ended)
    rows.finish_experiment(ended)
    html = page(client, ended)
    assert "What this study was about" in html and "&lt;script&gt;" in html and SCRIPT not in html
    assert "CODE-" not in html and "Bye." not in html
    html = text(client.post(reverse("debriefed", args=[ended.token]), follow=True))
    assert "CODE-finished" in html and "Bye." in html and html.count("CODE-") == 2  # the code, and its button
    ended.refresh_from_db()
    assert ended.debriefed_at and ended.outcome == Outcome.FINISHED
    assert "CODE-finished" in page(Client(), ended)


def test_the_code_is_there_when_another_process_notes_the_end_meanwhile(client, ended):
    rows.finish_experiment(ended)
    Participant.objects.update(debriefed_at=timezone.now())

    def noted_by_the_reaper(alone):
        alone.update(outcome=Outcome.FINISHED, finished_at=timezone.now())
        return 0

    with patch("webapp.studies.enrolment.finish_due", noted_by_the_reaper):
        assert "CODE-finished" in page(client, ended)


def test_debriefing_cannot_be_skipped_to(client, ended):
    html = text(client.post(reverse("debriefed", args=[ended.token]), follow=True))
    assert "CODE-" not in html
    ended.refresh_from_db()
    assert ended.debriefed_at is None


def test_people_who_leave_get_their_own_code(client, ended):
    html = text(client.post(reverse("leave", args=[ended.token]), follow=True))
    assert "CODE-withdrawn" in html and "CODE-finished" not in html and "We compared" in html


@pytest.mark.parametrize(
    ("url", "shown"),
    [("https://app.example.com/done?cc=1", True), ("http://example.com/", False), ("javascript:alert(1)", False)],
)
def test_only_secure_addresses_lead_back(client, ended, url, shown):
    CompletionCode.objects.filter(outcome=Outcome.WITHDRAWN).update(url=url)
    html = text(client.post(reverse("leave", args=[ended.token]), follow=True))
    assert "CODE-withdrawn" in html and (url in html) == shown and ("enter the code there" in html) == shown
    assert not shown or 'rel="noreferrer noopener">Return to app.example.com' in html


def test_a_study_without_them_ends_as_before(client):
    person = rows.participant()
    rows.create_round(person)
    rows.finish_experiment(person)
    html = page(client, person)
    assert "You have finished" in html and "Your completion code" not in html


# --- what else arrives ----------------------------------------------------------------------------------------


def test_posts_that_are_too_large_are_refused(client, study, ended):
    for address in (reverse("take", args=[study.open_link]), reverse("vote", args=[ended.token])):
        response = client.post(address, {"reason": "x" * 3_000_000})
        assert response.status_code == 400
    assert not Vote.objects.exists()


@pytest.mark.slow
def test_somebody_elses_link_shows_nothing_of_mine(client, study):
    agree(client, study, CAME)
    mine = Participant.objects.get()
    stranger = rows.participant(study, label="P77")
    assert mine.token not in page(client, stranger)
    altered = mine.token[:-1] + ("A" if mine.token[-1] != "A" else "B")
    assert client.get(reverse("studio", args=[altered])).status_code == 404
