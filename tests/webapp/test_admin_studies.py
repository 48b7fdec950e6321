"""Studies: the form with all settings, opening and closing, places in arms."""

import pytest
from django.urls import reverse

from llm.methods import METHODS
from tests.webapp import rows
from tests.webapp.forms import STUDY, study_form
from webapp.audit.models import Entry as AuditEntry
from webapp.bench.admin.studies import FIXED_QUESTIONS
from webapp.experiments.judges import IN_STUDIES, JUDGES
from webapp.experiments.models import LanguageModel
from webapp.studies import enrolment, preflight
from webapp.studies.models import Arm, CompletionCode, Participant, Question, Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_a_study_is_set_up_and_invites_people(staff, monkeypatch):
    monkeypatch.delenv("PREFINE_URL", raising=False)
    staff.post(reverse("admin:studies_study_add"), study_form())
    study = Study.objects.get()
    arm = study.arms.get()
    assert arm.judge == "human" and study.status == "draft"
    staff.post(reverse("bench:study_invite", args=[study.pk]), {"count": 3})
    people = Participant.objects.filter(study=study)
    assert [person.label for person in people.order_by("pk")] == ["P01", "P02", "P03"]
    assert len({person.token for person in people}) == 3
    page = staff.get(reverse("bench:study", args=[study.pk])).content.decode()
    assert all(f'data-copy="http://testserver{person.get_absolute_url()}"' in page for person in people)


@pytest.mark.parametrize(
    "sent",
    [
        {"opens_at": "2027-01-02T03:04:05", "closes_at": "2027-02-03T04:05"},
        {"opens_at_0": "2027-01-02", "opens_at_1": "03:04:05", "closes_at_0": "2027-02-03", "closes_at_1": "04:05:00"},
    ],
    ids=["as now", "as from a page of before the upgrade"],
)
def test_a_study_keeps_its_moments(staff, sent):
    study = rows.study(status="draft")
    address = reverse("admin:studies_study_change", args=[study.pk])
    assert staff.post(address, study_form(study=study, **sent)).status_code == 302
    page = staff.get(address).content.decode()
    assert "Opens at (UTC)" in page and "Closes at (UTC)" in page
    study.refresh_from_db()
    moments = [moment.isoformat() for moment in (study.opens_at, study.closes_at)]
    assert moments == ["2027-01-02T03:04:05+00:00", "2027-02-03T04:05:00+00:00"]
    cleared = {name: "" for name in sent}
    assert staff.post(address, study_form(study=study, **cleared)).status_code == 302
    study.refresh_from_db()
    assert study.opens_at is None and study.closes_at is None


def test_labels_go_on_after_the_highest():
    study = rows.study()
    Participant.objects.create(study=study, label="P09")
    Participant.objects.create(study=study, label="pilot")
    assert enrolment.invite(study, 2) == ["P10", "P11"]


@pytest.mark.parametrize(
    "count, words", [("0", "at least one"), ("201", "at most 200"), ("", "how many"), ("x", "whole")]
)
def test_a_bad_number_of_participants_is_explained(staff, count, words):
    study = rows.study()
    answer = staff.post(reverse("bench:study_invite", args=[study.pk]), {"count": count}, follow=True)
    assert words in answer.content.decode()
    assert not study.participants.exists()


def test_the_questions_of_an_open_study_are_only_read(staff):
    study = rows.study()
    question = Question.objects.create(study=study, text="Is it a robot?", answers="yes\nno")
    address = reverse("admin:studies_study_change", args=[study.pk])
    page = staff.get(address).content.decode()
    assert "Is it a robot?" in page and FIXED_QUESTIONS in page
    assert 'name="questions-0-text"' not in page and 'name="questions-__prefix__-text"' not in page
    forged = {"text": "Another?", "answers": "a\nb", "correct": 1, "explanation": "", "position": 0}
    staff.post(address, study_form(study=study, questions=[forged], title="renamed"))
    study.refresh_from_db()
    assert study.title == "renamed"
    question.refresh_from_db()
    assert question.text == "Is it a robot?"
    Study.objects.update(status="closed")
    page = staff.get(address).content.decode()
    assert "Questions are asked by it, the lowest first." in page
    assert 'name="questions-0-text"' in page and FIXED_QUESTIONS not in page


def test_open_and_close(staff):
    study = rows.study(status="draft")
    address = reverse("bench:study_status", args=[study.pk])
    for status in ("open", "closed"):
        staff.post(address, {"status": status, "confirmed": "writer"})
        study.refresh_from_db()
        assert study.status == status
    staff.post(address, {"status": "nonsense"})
    study.refresh_from_db()
    assert study.status == "closed"


def test_what_must_be_confirmed_before_a_study_opens(staff):
    study = rows.study(status="draft", practice=False, recruiting=True)
    CompletionCode.objects.create(study=study, outcome="finished", code="DONE")
    local = {"headers": {"host": "127.0.0.1:8000"}}
    page = staff.get(reverse("bench:study_step", args=[study.pk, "check"]), **local).content.decode()
    assert "In every arm the offline writer writes the rewards" in page and "leads to this machine" in page
    assert "There is no practice round" in page and "No completion code for “Left the study”" in page
    assert page.count('name="confirmed"') == 2
    address = reverse("bench:study_status", args=[study.pk])
    for confirmed in ([], ["writer"], ["address"], ["writer", "nonsense"]):
        staff.post(address, {"status": "open", "confirmed": confirmed}, **local)
        assert Study.objects.get().status == "draft"
    said = staff.post(address, {"status": "open"}, **local, follow=True).content.decode()
    assert "Confirm this on its page first: In every arm the offline writer" in said
    staff.post(address, {"status": "open", "confirmed": ["writer", "address"]}, **local)
    assert Study.objects.get().status == "open"
    assert AuditEntry.objects.get(action="opened study").detail["confirmed"] == ["writer", "address"]


def test_nobody_writes_in_arms_that_learn_from_pairs():
    study = rows.study(status="draft")
    study.arms.update(method="prefppo", k=1, n=1)
    assert "writer" not in [caution.name for caution in preflight.list_cautions(study, "https://prefine.example.org")]


def test_a_method_that_hears_nobody_and_trains_on_from_what_people_liked_is_named():
    study = rows.study(status="draft")
    for method, start, said in (("open_loop", "best_short", 1), ("open_loop", "random", 0), ("icpl", "best_short", 0)):
        study.arms.update(method=method, n=2, training_start=start)
        names = [caution.name for caution in preflight.list_cautions(study, "https://prefine.example.org")]
        assert names.count("starts") == said


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("http://localhost:8000", ["address"]),
        ("http://[::1]:8000", ["address"]),
        ("http://10.0.0.7", ["network"]),
        ("http://lab-3:8000", ["network"]),
        ("https://prefine.example.org", []),
    ],
)
def test_who_can_open_the_links(address, names):
    model = LanguageModel.objects.create(name="M", kind="openai", base_url="https://example.org", model="m")
    study = rows.study(status="draft")
    study.arms.update(model=model)
    assert [caution.name for caution in preflight.list_cautions(study, address) if caution.name != "practice"] == names
    Study.objects.update(demonstration=True)
    assert preflight.list_cautions(Study.objects.get(), address) == []


def test_closing_tells_of_panels_that_nobody_new_completes(staff):
    study = rows.study(panel=2)
    person = Participant.objects.create(study=study, label="P01")
    assert enrolment.accept_consent(person) == ""
    said = staff.post(reverse("bench:study_status", args=[study.pk]), {"status": "closed"}, follow=True)
    assert "Panels that still wait for people: 1;" in said.content.decode()
    assert "1 panel waits for people who may not come any more: start it with fewer" in said.content.decode()


def test_the_plan_stands_once_somebody_consented(staff):
    study = rows.participant().study
    form = study_form({"k": 9, "name": "renamed"}, study=study, title="renamed", seed=5)
    saved = staff.post(change(study), form)
    study.refresh_from_db()
    assert (study.title, study.seed) == ("renamed", rows.SEED)
    assert saved.url == reverse("bench:study", args=[study.pk])  # from where one came
    assert (study.arms.get().name, study.arms.get().k) == ("renamed", 6)


def change(study):
    return reverse("admin:studies_study_change", args=[study.pk])


def test_a_saved_draft_says_so_and_that_something_is_missing(staff):
    form = study_form(ethics_protocol="", ethics_expires_on="")
    page = staff.post(reverse("admin:studies_study_add"), form, follow=True).content.decode()
    assert "saved as a draft" in page and "This study is a draft" in page
    assert "missing before it can open" in page


def test_a_study_has_arms_questions_and_codes(staff):
    question = {"text": "Is there a right answer?", "answers": "yes\nno", "correct": 2, "explanation": ""}
    code = {"outcome": "finished", "code": "C1ABC", "url": "https://example.org/done?cc=C1ABC"}
    arms = ({"name": "icpl"}, {"name": "open loop", "method": "open_loop", "panel": 3, "position": 1})
    staff.post(
        reverse("admin:studies_study_add"), study_form(*arms, questions=[{**question, "position": 0}], codes=[code])
    )
    study = Study.objects.get()
    assert [(arm.name, arm.method, arm.panel) for arm in study.arms.all()] == [
        ("icpl", "icpl", 1),
        ("open loop", "open_loop", 3),
    ]
    assert study.questions.get().choices == ["yes", "no"] and study.codes.get().code == "C1ABC"


@pytest.mark.parametrize(
    "arms, values, words",
    [
        ([{"method": "eureka"}], {}, "Select a valid choice. eureka is not one of the available choices"),
        ([{"k": 13}], {}, "A person compares at most 12 videos at a time"),
        ([{"task": "FrankaCabinet", "preset": "nonsense"}], {}, "nonsense is not one of the available choices"),
        ([{}], {"parameter_person": "a b"}, "Letters, digits, dots"),
        ([{}], {"experiments_each": 0}, "greater than or equal to 1"),
    ],
)
def test_a_study_that_cannot_be(staff, arms, values, words):
    page = staff.post(reverse("admin:studies_study_add"), study_form(*arms, **values)).content.decode()
    assert words in page
    assert not Study.objects.exists()


def test_new_arms_get_the_letters_that_are_free(staff):
    page = staff.get(reverse("admin:studies_study_add")).content.decode()
    assert 'name="arms-0-name" value="A"' in page and 'name="arms-__prefix__-name" value=' not in page
    arms = [{"name": "", "position": 0}, {"name": "A", "position": 1}, {"name": "", "position": 2}]
    staff.post(reverse("admin:studies_study_add"), study_form(*arms))
    study = Study.objects.get()
    assert [arm.name for arm in study.arms.all()] == ["B", "A", "C"]
    kept = [{"name": name, "position": place} for place, name in enumerate(["B", "A", "C", ""])]
    staff.post(change(study), study_form(*kept, study=study))
    assert [arm.name for arm in study.arms.all()] == ["B", "A", "C", "D"]


def test_the_name_of_another_arm_is_an_error_at_its_field(staff):
    def find_errors(answer):
        return [form.errors.get("name") for form in answer.context["inline_admin_formsets"][0].formset.forms]

    refused = ["Another arm of this study is called “A”: give this one another name."]
    twice = [{"name": "A"}, {"name": "A", "k": 4}]
    assert find_errors(staff.post(reverse("admin:studies_study_add"), study_form(*twice))) == [None, refused]
    staff.post(reverse("admin:studies_study_add"), study_form({"name": "A"}, {"name": "B", "position": 1}))
    study = Study.objects.get()
    swapped = study_form({"name": "B"}, {"name": "A", "position": 1}, study=study)
    assert find_errors(staff.post(change(study), swapped))[1] == refused
    second = {"arms-0-DELETE": "on"}
    staff.post(change(study), study_form({"name": "A"}, {"name": "A", "position": 1}, study=study) | second)
    assert study.arms.get().name == "A"


def test_a_study_without_arms_is_not_saved(staff):
    form = {**STUDY, "arms-TOTAL_FORMS": 0, "arms-INITIAL_FORMS": 0}
    form |= {f"{name}-{what}_FORMS": 0 for name in ("questions", "codes") for what in ("TOTAL", "INITIAL")}
    assert "Please submit at least 1 form" in staff.post(reverse("admin:studies_study_add"), form).content.decode()
    assert not Study.objects.exists()


def test_only_methods_for_people_are_offered(staff):
    page = staff.get(reverse("admin:studies_study_add")).content.decode()
    assert '<option value="icpl"' in page
    for method in METHODS.values():
        offered = f'<option value="{method.name}"' in page
        plan = Arm(task="Cartpole", method=method.name, k=method.k)
        refused = JUDGES[IN_STUDIES].find_refusals(plan, "metric", method)
        assert offered == (method.offered and not refused), method.name


def test_saving_a_study_as_it_is_changes_nothing(staff):
    staff.post(reverse("admin:studies_study_add"), study_form({"options": ""}, consent_text="One line.\r\nAnother."))
    study = Study.objects.get()
    assert study.arms.count() == 1
    form = study_form({"options": ""}, study=study, consent_text="One line.\r\nAnother.")
    form |= {"title": "Only this", "seed": study.seed}
    assert staff.post(change(study), form).status_code == 302
    assert AuditEntry.objects.filter(action="changed").latest("pk").detail["fields"] == ["Title"]


def test_a_changed_consent_text_gets_the_next_version(staff):
    study = rows.participant(rows.study(consent_version="1.9")).study
    study.publish_consent()
    same = study.consent_text.replace("\n", "\r\n")  # as browsers send it
    staff.post(change(study), study_form({}, study=study, consent_version="1.9", consent_text=same, title="Same text"))
    assert Study.objects.get().title == "Same text" and study.consent_texts.count() == 1
    form = study_form({}, study=study, consent_version="1.9", consent_text="Another text. " * 5)
    staff.post(change(study), form)
    assert list(study.consent_texts.values_list("version", flat=True)) == ["1.9", "1.10"]
    study.refresh_from_db()
    page = staff.post(change(study), {**form, "consent_version": "1.9"}).content.decode()
    assert "Version 1.9 is another text, which people have read." in page


def test_places_are_given_by_hand(staff):
    study = rows.study(assignment="by hand", experiments_each=2)
    other = rows.arm(study, "B")
    page = staff.get(reverse("bench:study", args=[study.pk])).content.decode()
    assert 'name="arm_1"' in page and 'name="arm_2"' in page
    address = reverse("bench:study_invite", args=[study.pk])
    first = study.arms.get(name="A")
    assert "Choose an arm" in staff.post(address, {"count": 2, "arm_1": first.pk}, follow=True).content.decode()
    foreign = rows.study(title="Another").arms.get()
    wrong = staff.post(address, {"count": 2, "arm_1": first.pk, "arm_2": foreign.pk}, follow=True).content.decode()
    assert "no arm of this study" in wrong and not study.participants.exists()
    staff.post(address, {"count": 2, "arm_1": other.pk, "arm_2": first.pk})
    places = [[place.arm.name for place in person.assignments.all()] for person in study.participants.all()]
    assert places == [["B", "A"]] * 2


def test_a_place_stands_once_its_person_has_consented(staff):
    study = rows.study(assignment="by hand")
    other = rows.arm(study, "B")
    enrolment.invite(study, 1, [study.arms.get(name="A")])
    person = study.participants.get()
    address = reverse("admin:studies_participant_change", args=[person.pk])
    place = person.assignments.get()
    form = {"label": "P01", "assignments-TOTAL_FORMS": 1, "assignments-INITIAL_FORMS": 1}
    form |= {f"assignments-0-{name}": value for name, value in [("id", place.pk), ("position", 1), ("arm", other.pk)]}
    staff.post(address, {**form, "assignments-0-participant": person.pk})
    place.refresh_from_db()
    assert place.arm == other
    enrolment.accept_consent(person)
    assert staff.post(address, form).status_code == 403
