"""The wizard of a study: every step saves the draft, errors stand at their field, the last step says what is left."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import bench_rows, fake_workers, rows
from tests.webapp.enrolments import text
from webapp.audit.models import Entry
from webapp.bench.studies.wizard import STEPS
from webapp.experiments.models import LanguageModel, ModelCall
from webapp.studies import consent, duration, pilots, preflight, recruitment
from webapp.studies.models import Outcome, Participant, Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def study(staff):
    form = {"start": "compare", "compare-task": "Cartpole", "compare-method": "icpl", "compare-other": "open_loop"}
    answer = staff.post(reverse("bench:study_new"), form)
    made = Study.objects.get()
    assert answer.url == address(made, "compare")
    return made


def address(study, step):
    return reverse("bench:study_step", args=[study.pk, step])


def read_form(staff, study, step):
    """The values that a browser would send if nobody changed anything."""
    context = staff.get(address(study, step)).context
    values = {}
    for name in ("arms", "notes", "people", "codes", "texts", "spoken", "trials", "questions", "end"):
        form = context.get(name)
        for part in [form.management_form, *form] if hasattr(form, "management_form") else [form] if form else []:
            for field in part:
                value = field.value()
                if value is not None and value is not False:
                    values[field.html_name] = "\n".join(value) if isinstance(value, dict) else value
    return values


def save(staff, study, step, do="next", **changes):
    changes = {name.replace("__", "-"): value for name, value in changes.items()}
    answer = staff.post(address(study, step), read_form(staff, study, step) | changes | {"do": do})
    study.refresh_from_db()
    return answer


def complete(staff, study):
    save(staff, study, "texts", contact="ada@example.org")
    save(staff, study, "end", ethics_protocol="2026-17", ethics_expires_on="2999-12-31")


def test_a_study_goes_from_nothing_to_open(staff, study):
    assert study.status == "draft" and study.practice
    assert [(arm.name, arm.method, arm.k, arm.n) for arm in study.arms.all()] == [
        ("A", "icpl", 6, 5),
        ("B", "open_loop", 6, 5),
    ]
    assert save(staff, study, "compare").url == address(study, "people")
    assert save(staff, study, "people", site="prolific", quota="20").url == address(study, "texts")
    assert (study.recruiting, study.parameter_required, study.quota) == (True, True, 20)
    assert recruitment.make_link_parameters(study).startswith("?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID=")
    save(staff, study, "people", do="codes:prolific")
    codes = {row.outcome: row for row in study.codes.all()}
    assert set(codes) == set(Outcome.values) and len({row.code for row in codes.values()}) == len(codes)
    assert all(row.url == f"https://app.prolific.com/submissions/complete?cc={row.code}" for row in codes.values())
    page = text(staff.get(address(study, "check")))
    assert "Name a contact" in page and "Open the study" not in page and "bench/connection_test.js" in page
    staff.post(reverse("bench:study_status", args=[study.pk]), {"status": "open"})
    study.refresh_from_db()
    assert study.status == "draft"
    complete(staff, study)
    page = text(staff.get(address(study, "check")))
    assert "Everything is there" in page and "attends for about" in page
    staff.post(reverse("bench:study_status", args=[study.pk]), {"status": "open"})
    study.refresh_from_db()
    assert study.status == "draft", "what must be confirmed was not"
    form = {"status": "open", "confirmed": preflight.MUST_CONFIRM}
    assert staff.post(reverse("bench:study_status", args=[study.pk]), form).url == reverse(
        "bench:study", args=[study.pk]
    )
    study.refresh_from_db()
    assert study.status == "open" and study.consent_texts.count() == 1
    page = text(staff.get(reverse("bench:study", args=[study.pk])))
    assert study.open_link in page and "Close the study" in page
    staff.post(reverse("bench:study_invite", args=[study.pk]), {"count": 2})
    assert [person.label for person in study.participants.all()] == ["P01", "P02"]
    save(staff, study, "people", site="")
    assert not study.recruiting
    assert "questions" not in staff.get(address(study, "texts")).context, "an open study asks everybody the same"


def test_the_consent_text_follows_the_facts_until_it_is_changed(staff, study):
    assert "ada@example.org" not in study.consent_text and "for 10 years" in study.consent_text
    complete(staff, study)
    assert "Contact. ada@example.org" in study.consent_text and "protocol 2026-17" in study.consent_text
    save(staff, study, "end", retention_days="90")
    assert "for 90 days" in study.consent_text
    save(staff, study, "texts", do="questions")
    assert study.questions.count() == 3 and study.consent_text == consent.write_consent(study)
    save(staff, study, "texts", consent_text="Our own words. " * 5)
    save(staff, study, "end", retention_days="30")
    assert study.consent_text == ("Our own words. " * 5).strip()
    save(staff, study, "texts", do="consent")
    assert "for 30 days" in study.consent_text


def test_a_consent_text_that_people_have_read_says_why_it_stays(staff, study):
    complete(staff, study)
    Study.objects.filter(pk=study.pk).update(status="open")
    study.publish_consent()
    said = text(staff.get(address(study, "texts")))
    assert "The study is open, and people may have read this text" in said and "another text would follow" not in said
    Participant.objects.create(study=study, label="P01", consented_at=timezone.now(), consent_version="1")
    save(staff, study, "end", retention_days="90")
    assert "for 90 days" not in study.consent_text
    said = text(staff.get(address(study, "texts")))
    assert "You have changed this text" not in said and "1 person has agreed to this text" in said
    assert "read whether this one is still true" in said
    save(staff, study, "texts", do="consent")
    assert "for 90 days" in study.consent_text and study.consent_version == "2"
    assert set(study.consent_texts.values_list("version", flat=True)) == {"1", "2"}
    said = text(staff.get(address(study, "texts")))
    assert "people may have read this text" in said and "another text would follow" not in said


def test_a_refused_step_keeps_what_was_typed_and_saves_nothing(staff, study):
    answer = save(staff, study, "compare", arms__1__name="A", arms__0__k="4", description="A note")
    page = text(answer)
    assert answer.status_code == 200 and "Another arm of this study is called" in page
    assert 'id="id_arms-1-name_error"' in page and "A note" in page
    assert study.arms.first().k == 6 and study.description == ""
    assert save(staff, study, "end", opens_at="2030-02-01T10:00", closes_at="2030-01-01T10:00").status_code == 200
    assert study.closes_at is None


def test_a_draft_is_saved_while_one_types(staff, study):
    answer = save(staff, study, "texts", do="autosave", contact="ada@example.org")
    assert study.contact == "ada@example.org" and answer.status_code == 200
    assert answer.json()["values"] == {"id_title": study.title, "id_consent_text": study.consent_text}
    assert "Contact. ada@example.org" in study.consent_text, "the page takes it over"
    save(staff, study, "texts", do="autosave", contact="ada@example.org, room 5")
    assert Entry.objects.filter(action="changed study").count() == 1, "the log is not flooded"
    answer = save(staff, study, "texts", do="autosave", title=" ", contact="nobody")
    assert answer.status_code == 422 and study.contact == "ada@example.org, room 5"
    assert answer.json() == {
        "errors": [{"name": "title", "id": "id_title", "text": "This field is required."}],
        "others": [],
    }
    answer = save(staff, study, "compare", do="autosave", arms__1__name="A", arms__0__DELETE="on")
    assert [error["id"] for error in answer.json()["errors"]] == ["id_arms-1-name"]
    assert save(staff, study, "compare", do="autosave", arms__0__DELETE="on", arms__0__n="2").status_code == 200
    assert study.arms.count() == 2 and study.arms.first().n == 2, "only a button removes an arm"


def test_what_people_read_is_saved_by_buttons_alone(staff, study):
    complete(staff, study)
    form = {"status": "open", "confirmed": preflight.MUST_CONFIRM}
    staff.post(reverse("bench:study_status", args=[study.pk]), form)
    assert "data-autosave" not in text(staff.get(address(study, "texts")))
    assert save(staff, study, "texts", do="autosave", title="Half a ti").status_code == 403
    assert study.status == "open" and study.title != "Half a ti"


def test_languages_are_offered_and_written_from_the_wizard(staff, study):
    save(staff, study, "texts", do="stay", other_languages=["de", "en", "ja"], instructions="Look at the legs.")
    assert (study.language, study.other_languages) == ("en", ["de", "ja"])
    page = text(staff.get(address(study, "texts")))
    assert "Deutsch: 2 of" in page and "Save and write them in 日本語" in page
    answer = save(staff, study, "texts", do="translate:de")
    assert answer.url == reverse("bench:study_texts", args=[study.pk, "de"])
    assert save(staff, study, "texts", do="translate:fr").url == address(study, "texts"), "it is not offered"
    page = text(staff.get(address(study, "check")))
    assert "Deutsch lacks " in page and "Français lacks " not in page


def test_who_chose_prolific_reads_there_what_to_do_at_prolific(staff, study):
    assert "At Prolific" not in text(staff.get(address(study, "people")))
    save(staff, study, "people", do="codes:prolific", site="prolific", quota="12")
    page = text(staff.get(address(study, "people")))
    assert "At Prolific" in page and "12, as many as this study takes" in page and "NO_CONSENT" in page
    assert "minutes of attention" in page and "%PROLIFIC_PID%" in page


def test_arms_are_added_compared_and_removed(staff, study):
    page = text(staff.get(address(study, "compare")))
    assert "The arms differ in" in page and "<strong>OpenLoop</strong>" in page
    save(staff, study, "compare", do="add_arm")
    assert [arm.name for arm in study.arms.all()] == ["A", "B", "C"]
    assert "same settings" in text(staff.get(address(study, "compare")))
    pilots.add_pilot(study, study.arms.get(name="C"))
    page = text(save(staff, study, "compare", arms__2__DELETE="on"))
    assert "delete the pilot data first" in page and study.arms.count() == 3
    study.participants.all().delete()
    save(staff, study, "compare", arms__2__DELETE="on")
    assert study.arms.count() == 2
    save(staff, study, "compare", arms__0__n="1", arms__1__n="1")
    [warning] = preflight.describe_equal_arms(study)
    assert warning.startswith("Arms A and B are equal here: in 1 round of 6 candidates")


def test_every_start_makes_a_draft(staff, study):
    staff.post(reverse("bench:study_new"), {"start": "one", "one-task": "Ant", "one-method": "icpl"})
    staff.post(reverse("bench:study_new"), {"start": "copy", "copy-study": study.pk})
    copy, one = Study.objects.order_by("-pk")[:2]
    assert one.arms.get().task == "Ant" and copy.arms.count() == 2 and one.title != study.title
    page = staff.post(reverse("bench:study_new"), {"start": "one", "one-task": "Nothing", "one-method": "icpl"})
    assert page.status_code == 200 and Study.objects.count() == 3


def test_a_study_begins_with_methods_that_ask_people_about_pairs(staff):
    """Each arm gets what its method can train with: one policy, and settings of its algorithm."""
    form = {"start": "one", "one-task": "Cartpole", "one-method": "prefppo"}
    assert staff.post(reverse("bench:study_new"), form).status_code == 302
    made = Study.objects.get()
    assert list(made.arms.values_list("method", "k", "n", "preset")) == [("prefppo", 1, 1, "quick")]
    answer = save(staff, made, "compare", arms__0__options="queries = 14", arms__0__panel=3, arms__0__overlap=2)
    assert answer.status_code == 302
    arm = made.arms.get()
    assert (arm.options, arm.panel, arm.overlap) == ({"queries": 14}, 3, 2)
    form = {"start": "compare", "compare-task": "Cartpole", "compare-method": "pebble", "compare-other": "icpl"}
    staff.post(reverse("bench:study_new"), form)
    both = Study.objects.latest("pk").arms.values_list("method", "k", "n", "preset")
    assert list(both) == [("pebble", 1, 1, "quick-sac"), ("icpl", 6, 5, "quick")]
    for arm in Study.objects.latest("pk").arms.all():
        arm.full_clean()


def test_every_step_opens_and_a_viewer_changes_nothing(staff, study):
    for step in STEPS:
        assert staff.get(address(study, step)).status_code == 200
    assert staff.get(reverse("bench:study_gold", args=[study.pk])).status_code == 200
    assert staff.get(address(study, "check"), {"people": "0", "workers": "x"}).status_code == 200
    viewer = Client()
    viewer.force_login(User.objects.create(username="vera", is_staff=True))
    assert viewer.post(address(study, "end"), {"retention_days": 1}).status_code == 403
    assert viewer.post(reverse("bench:study_new"), {"start": "one"}).status_code == 403


def test_long_waits_of_all_arms_are_one_warning(staff, study):
    study.arms.update(task="Ant")
    page = text(staff.get(address(study, "check"), {"people": "500", "workers": "1"}))
    assert page.count("With 500 people at once, each round waits") == 1
    assert "in arm A and about" in page and "in arm B. Fewer people" in page


def test_the_check_names_the_studys_limit_where_no_arm_has_one(staff, study):
    Study.objects.filter(pk=study.pk).update(quota=40)
    said = "“Who comes” limits this study to 40."
    assert said in text(staff.get(address(study, "check")))
    study.arms.update(quota=10)
    page = text(staff.get(address(study, "check")))
    assert "With 10 people in each arm" in page and said not in page


def test_days_are_said_in_years_where_they_are_whole_ones(staff, study):
    def read_pages():
        pages = (address(study, "end"), reverse("archive:index"), reverse("archive:study", args=[study.pk]))
        return [text(staff.get(page)) for page in pages]

    form, listed, page = read_pages()
    assert "3650 days: kept for 10 years." in form
    assert "for 10 years after it closes" in listed and "for 10 years after closing" in page
    save(staff, study, "end", retention_days="90")
    form, listed, page = read_pages()
    assert "days: kept" not in form
    assert "for 90 days after it closes" in listed and "for 90 days after closing" in page


def test_waiting_and_cost_are_estimated(study):
    arm = study.arms.first()
    one = duration.ArmEstimate(arm, 5, round_seconds=100, training_seconds=60, measured=True, judging_seconds=70)
    assert one.find_wait(1, workers=1) == 100, "nobody waits for others"
    assert one.find_wait(10, workers=1) == 10 * 60 - 70
    assert one.find_wait(10, workers=5) == 100
    arm.panel = 5
    assert one.find_wait(10, workers=1) == 100, "two panels are two experiments"
    bench_rows.create_finished_experiment()
    model = rows.arm(study, "C", task="Cartpole").model
    assert model is None and duration.estimate_costs(study) == []


def test_each_model_of_an_arm_is_counted_at_its_own_price(study):
    """ICPL with K=6, N=5: 30 rewards are written, and three differences described."""
    prices = {"writer": (2.0, 10.0), "describer": (0.5, 1.0)}
    models = {
        name: LanguageModel.objects.create(name=name, kind="openai", model=name, price_input=low, price_output=high)
        for name, (low, high) in prices.items()
    }
    row = fake_workers.create_experiment()
    request = row.requests.create(step=0, kind="Write", fingerprint="f", payload={})
    for name, tokens in (("writer", 1000), ("describer", 200)):
        values = {"seed": 0, "data": {}, "prompt_tokens": 2 * tokens, "completion_tokens": tokens}
        ModelCall.objects.create(request=request, model=name, request_hash=name, **values)
    study.arms.all().delete()
    rows.arm(study, "C", task="Cartpole", n=5, model=models["writer"], describer=models["describer"])
    costs = {cost.model.name: cost for cost in duration.estimate_costs(study)}
    assert [costs[name].answers for name in prices] == [30, 3]
    assert costs["writer"].dollars == pytest.approx(30 * (2000 * 2.0 + 1000 * 10.0) / 1e6)
    assert costs["describer"].dollars == pytest.approx(3 * (400 * 0.5 + 200 * 1.0) / 1e6)
