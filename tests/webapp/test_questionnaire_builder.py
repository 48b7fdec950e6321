"""Staff build questionnaires in the browser, and see what was answered."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.webapp import rows
from tests.webapp.questionnaire_rows import every_kind, item, questionnaire
from webapp.audit.models import Entry
from webapp.studies.models import Answer, Item, Questionnaire, Response
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.questionnaires.ready_made import READY_MADE, add_ready_made
from webapp.studies.questionnaires.scores import SCORES

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def study():
    return rows.study(task="Cartpole", k=3, n=3)


def answered(made):
    person = rows.participant(made.study)
    return Response.objects.create(questionnaire=made, participant=person, sent_at=person.consented_at)


def post(client, name, *args, **fields):
    return client.post(reverse(f"bench:{name}", args=args), fields, follow=True).content.decode()


def item_fields(one, **changes):
    fields = {name: getattr(one, name) for name in ("text", "variable", *KINDS[one.kind].settings)}
    return {name: value for name, value in fields.items() if value is not None} | {"kind": one.kind} | changes


@pytest.mark.parametrize("name", READY_MADE)
def test_a_ready_made_one_is_whole_and_added_twice_with_other_names(staff, study, name):
    page = post(staff, "add_questionnaire", study.pk, ready_made=name)
    made = Questionnaire.objects.get()
    assert made.title in page and "needs" not in page
    again = add_ready_made(study, name)
    first, second = (set(one.items.values_list("variable", flat=True)) for one in (made, again))
    assert first and not first & second
    for one in Item.objects.filter(questionnaire__study=study):
        assert KINDS[one.kind].find_faults(one) == {} and len(one.variable) <= 40
        assert one.shown_when is None or one.shown_when.questionnaire == one.questionnaire
    if made.score:
        assert SCORES[made.score].find_fault(list(made.items.all())) == ""


def test_a_question_is_added_changed_and_moved(staff, study):
    page = post(staff, "add_questionnaire", study.pk)
    made = Questionnaire.objects.get()
    for kind in KINDS:
        assert (
            staff.get(reverse("bench:questionnaire_item", args=[study.pk, made.pk, 0]), {"kind": kind}).status_code
            == 200
        )
    page = post(staff, "questionnaire_item", study.pk, made.pk, 0, kind="single", text="Do you drive?", options="Yes")
    assert "Give at least two options" in page and not Item.objects.exists()
    post(staff, "questionnaire_item", study.pk, made.pk, 0, kind="single", text="Do you drive?", options="Yes\nNo")
    drive = Item.objects.get()
    assert drive.variable == "do_you_drive" and not drive.required
    condition = [f"{drive.pk}:1"]
    post(
        staff,
        "questionnaire_item",
        study.pk,
        made.pk,
        0,
        kind="number",
        text="How far?",
        required="on",
        condition=condition,
    )
    far = Item.objects.get(variable="how_far")
    assert (far.shown_when, far.shown_codes, far.required) == (drive, [1], True)
    page = post(staff, "act_on_item", study.pk, made.pk, far.pk, "up")
    assert [one.variable for one in made.items.all()] == ["how_far", "do_you_drive"]
    assert "which is asked later: it is never shown" in page
    page = post(staff, "act_on_item", study.pk, made.pk, drive.pk, "delete")
    assert "Change that one first" in page and Item.objects.count() == 2
    post(staff, "act_on_item", study.pk, made.pk, drive.pk, "duplicate")
    page = post(staff, "questionnaire_item", study.pk, made.pk, far.pk, **item_fields(far, variable="do_you_drive"))
    assert "Another question of this study has this name." in page
    page = post(staff, "questionnaire_item", study.pk, made.pk, far.pk, **item_fields(far, lowest=9, highest=2))
    assert "must be larger than the smallest" in page
    assert Entry.objects.filter(action__contains="questionnaire").exists()


def test_settings(staff, study):
    other = rows.arm(study, "B", task="Cartpole")
    made = every_kind(study)
    given = {"title": "Now", "placement": "rounds", "every": 2, "rounds": "", "arms": [other.pk], "score": ""}
    post(staff, "questionnaire", study.pk, made.pk, **given)
    made.refresh_from_db()
    assert (made.title, made.every, made.arms) == ("Now", 2, [other.pk])
    assert (
        "After every 2 rounds, only arm B"
        in staff.get(reverse("bench:questionnaires", args=[study.pk])).content.decode()
    )
    assert "ten rows in five steps" in post(staff, "questionnaire", study.pk, made.pk, **{**given, "score": "sus"})
    assert "Give round numbers" in post(staff, "questionnaire", study.pk, made.pk, **{**given, "rounds": "one"})


def test_what_was_answered_is_fixed(staff, study):
    made = every_kind(study)
    answered(made)
    first = made.items.first()
    for name, args in (
        ("questionnaire_item", (first.pk,)), ("questionnaire_item", (0,)), ("act_on_item", (first.pk, "delete")),
        ("act_on_item", (first.pk, "up")), ("act_on_item", (first.pk, "duplicate")),
        ("act_on_questionnaire", ("delete",)), ("questionnaire", ()),
    ):  # fmt: skip
        assert "Somebody has answered" in post(staff, name, study.pk, made.pk, *args, **item_fields(first)), name
    assert made.items.count() == 8
    post(staff, "act_on_questionnaire", study.pk, made.pk, "off")
    post(staff, "act_on_questionnaire", study.pk, made.pk, "duplicate")
    assert list(Questionnaire.objects.values_list("active", flat=True)) == [False, False]


def test_the_order_and_the_end_of_a_questionnaire(staff, study):
    first, second = questionnaire(study, "First"), questionnaire(study, "Second")
    post(staff, "act_on_questionnaire", study.pk, second.pk, "up")
    assert list(study.questionnaires.all()) == [second, first]
    post(staff, "act_on_questionnaire", study.pk, first.pk, "delete")
    assert list(study.questionnaires.all()) == [second]


def test_what_was_deleted_comes_back_as_it_was(staff, study):
    made = every_kind(study)
    job = made.items.get(variable="job_text")
    before = list(Item.objects.values())
    page = post(staff, "act_on_item", study.pk, made.pk, job.pk, "delete")
    assert "“job_text” is deleted." in page and Item.objects.count() == 7
    page = post(staff, "undo_questionnaire", study.pk)
    assert "“job_text” is back." in page and "How a participant sees it" in page, "on the page that it was deleted on"
    assert sorted(Item.objects.values(), key=lambda row: row["id"]) == before
    page = post(staff, "act_on_questionnaire", study.pk, made.pk, "delete")
    assert "“About you” is deleted." in page and not Item.objects.exists()
    item(questionnaire(study, "Other"), "age", "number")  # its name was free meanwhile
    page = post(staff, "undo_questionnaire", study.pk)
    assert "“About you” is back." in page and ">Undo<" not in page
    assert study.questionnaires.get(pk=made.pk).items.count() == 8
    assert made.items.get(pk=job.pk).shown_when.variable == "job" and made.items.filter(variable="age_2").exists()


def test_a_deletion_is_undone_where_it_was_done_alone(staff, study):
    made = every_kind(study)
    post(staff, "act_on_item", study.pk, made.pk, made.items.get(variable="age").pk, "delete")
    other = rows.study(title="Another")
    post(staff, "undo_questionnaire", other.pk)
    assert "is deleted" not in staff.get(reverse("bench:questionnaires", args=[other.pk])).content.decode()
    answered(made)
    assert "Somebody has answered" in post(staff, "undo_questionnaire", study.pk)
    Response.objects.all().delete()
    assert "“age” is back." in post(staff, "undo_questionnaire", study.pk), "a refused undo stays possible"
    post(staff, "act_on_item", study.pk, made.pk, made.items.get(variable="age").pk, "delete")
    made.delete()
    assert "a questionnaire that is gone" in post(staff, "undo_questionnaire", study.pk)


def test_the_preview_shows_what_is_being_written_and_leaves_no_trace(staff, study):
    made = every_kind(study, active=False)
    page = staff.get(reverse("preview_page", args=[study.pk, f"questionnaire-{made.pk}"])).content.decode()
    assert all(one.text in page for one in made.items.all())
    entries = Entry.objects.count()
    fields = {"kind": "grid", "text": "How was it?", "statements": "Fast\nSlow", "steps": "5", "low_label": "no"}
    page = staff.post(reverse("preview_item", args=[study.pk, made.pk]), fields).content.decode()
    assert "How was it?" in page and "Slow" in page and page.count("5 of 5") == 2
    for name in KINDS:
        staff.post(reverse("preview_item", args=[study.pk, made.pk]), {"kind": name, "lowest": "nan", "steps": "999"})
    assert Item.objects.count() == 8 and Entry.objects.count() == entries and not Response.objects.exists()


def test_viewers_and_visitors_change_nothing(client, study):
    made = every_kind(study)
    address = reverse("bench:act_on_questionnaire", args=[study.pk, made.pk, "delete"])
    assert client.post(address).status_code == 302
    client.force_login(User.objects.create(username="viewer", is_staff=True))
    assert client.get(reverse("bench:questionnaires", args=[study.pk])).status_code == 200
    assert client.post(address).status_code == 403 and made.items.exists()


def test_answers_are_drawn_without_pilots(staff, study):
    made = every_kind(study)
    response = answered(made)
    values = {"age": 31, "job": 3, "job_text": "<b>Pilot", "seen": [1, 3], "trust": 4, "calm": {"1": 2, "2": 5}}
    for variable, value in values.items():
        Answer.objects.create(response=response, item=made.items.get(variable=variable), value=value)
    address = reverse("bench:questionnaire_results", args=[study.pk])
    page = staff.get(address).content.decode()
    assert "answered 1 time" in page and "&lt;b&gt;Pilot" in page and page.count("<figure") == 6
    assert page.count("Before the first round") == 2  # one of two with the same title is told by it
    drawn = staff.get(reverse("bench:questionnaire_figure", args=[study.pk, "job", "csv"])).content.decode()
    assert "Other" in drawn
    response.participant.pilot = True
    response.participant.save()
    assert "answered 0 times" in staff.get(address).content.decode()


def test_an_item_can_depend_on_earlier_questions_alone(staff, study):
    made = every_kind(study)
    later = questionnaire(study, "Later", placement="after")
    last = item(later, "last", "short")
    address = reverse("bench:questionnaire_item", args=[study.pk, made.pk, made.items.get(variable="age").pk])
    assert "Shown only after" not in staff.get(address).content.decode()
    page = staff.get(reverse("bench:questionnaire_item", args=[study.pk, later.pk, last.pk])).content.decode()
    assert "Researcher" in page and "Factories" in page
    both = [f"{made.items.get(variable=name).pk}:1" for name in ("job", "seen")]
    page = post(staff, "questionnaire_item", study.pk, later.pk, last.pk, **item_fields(last, condition=both))
    assert "Tick answers of one question only." in page
