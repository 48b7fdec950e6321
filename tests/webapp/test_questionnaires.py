"""Questionnaires: when they are asked, what is taken as an answer, and what stays of it."""

import pytest
from django.core.exceptions import ValidationError
from django.db.models import RestrictedError
from django.http import QueryDict
from django.urls import reverse

from tests.webapp import questionnaire_rows, rows
from tests.webapp.questionnaire_rows import COMPLETE, every_kind, fields, item, questionnaire
from webapp.archive import erasure
from webapp.experiments.models import Experiment, Iteration
from webapp.review import ballot
from webapp.review.ballot import Choice
from webapp.review.models import Vote
from webapp.review.screenings import find_screening
from webapp.studies import copying, enrolment, opening
from webapp.studies.models import Answer, Item, Participant, Questionnaire, Response
from webapp.studies.questionnaires import answering, editing, moments
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.questionnaires.scores import SCORES
from webapp.studio.pages import find_page

pytestmark = pytest.mark.django_db
FREE = "sentinel of free text"


@pytest.fixture
def study():
    return rows.study(task="Cartpole", k=3, n=3)


@pytest.fixture
def person(study):
    return rows.participant(study)


def state(person):
    return find_page(Participant.objects.get(pk=person.pk)).name


def send(client, person, of, **answers):
    """Open the page and send the form."""
    client.get(person.get_absolute_url())
    return client.post(reverse("questionnaire", args=[person.token]), fields(person, of, **answers))


def judge_round(person, number, over=True):
    rows.create_round(person, number)
    request = rows.open_judgement(person, number)
    screening = find_screening(request, person)
    vote = ballot.cast_vote(person, screening.token, Choice("A", "C")).vote
    Vote.objects.filter(pk=vote.pk).update(locked_at=vote.created_at)
    request.status = "done"
    request.save()
    if over:
        Iteration.objects.filter(experiment=person.experiment, number=number).update(finished_at=vote.created_at)


class TestMoments:
    def test_before_the_rounds_once(self, client, person):
        made = every_kind(person.study)
        assert state(person) == "questionnaire"
        send(client, person, made, **COMPLETE)
        assert state(person) == "waiting"
        judge_round(person, 1)
        Questionnaire.objects.create(study=person.study, title="Late", placement="before")
        item(Questionnaire.objects.get(title="Late"), "late", "short")
        assert state(person) == "waiting"  # it came after the person's first round

    @pytest.mark.slow
    def test_after_every_second_round_when_the_round_is_over(self, client, person):
        made = questionnaire(person.study, placement="rounds", every=2)
        item(made, "load", "scale", low_label="low", high_label="high")
        judge_round(person, 1)
        assert state(person) == "waiting"
        judge_round(person, 2, over=False)
        assert state(person) == "waiting"
        person.experiment.iterations.update(finished_at=person.consented_at)
        assert state(person) == "questionnaire"
        send(client, person, made, load=3)
        assert state(person) == "waiting"
        response = Response.objects.get()
        assert (response.experiment, response.round) == (person.experiment, 2)

    def test_after_chosen_rounds(self, study):
        made = Questionnaire(study=study, rounds="1, 3")
        assert [number for number in range(1, 5) if made.follows_round(number)] == [1, 3]

    def test_a_choice_that_can_be_taken_back_is_not_over(self, person):
        item(questionnaire(person.study, placement="rounds"), "load", "short")
        judge_round(person, 1)
        Vote.objects.update(locked_at=None)
        assert state(person) != "questionnaire"

    @pytest.mark.slow
    def test_at_the_end_before_debriefing_and_code(self, client, person):
        item(first := questionnaire(person.study, placement="experiment"), "load", "short", required=False)
        item(last := questionnaire(person.study, "The end", placement="after"), "wish", "short", required=False)
        rows.create_round(person)
        rows.finish_experiment(person)
        enrolment.finish_due()
        assert b"What about load?" in client.get(person.get_absolute_url()).content
        send(client, person, first)
        assert b"What about wish?" in client.get(person.get_absolute_url()).content
        send(client, person, last)
        assert state(person) == "thanks"
        assert Response.objects.exclude(sent_at=None).count() == 2 and not Answer.objects.exists()

    def test_for_some_arms_alone(self, person):
        other = rows.arm(person.study, "B", task="Cartpole")
        made = every_kind(person.study, arms=[other.pk])
        assert state(person) == "waiting"
        made.arms = [person.study.arms.first().pk]
        made.save()
        assert state(person) == "questionnaire"

    def test_not_when_switched_off_or_empty(self, person):
        every_kind(person.study, active=False)
        questionnaire(person.study, "Empty")
        assert state(person) == "waiting"

    def test_minutes_count_rounds(self, study):
        item(questionnaire(study, placement="rounds"), "remark", "long")
        assert moments.estimate_minutes(study) == 3 * 45 / 60


class TestAnswers:
    def test_are_stored_as_their_kinds_say(self, client, person):
        made = every_kind(person.study)
        given = {**COMPLETE, "job": 3, "job_text": " Pilot \0", "seen": [1, 3], "remark": FREE}
        send(client, person, made, **given)
        assert dict(Answer.objects.values_list("item__variable", "value")) == {
            "age": 31, "job": 3, "job_text": "Pilot", "seen": [1, 3], "trust": 4, "calm": {"1": 2, "2": 5},
            "remark": FREE,
        }  # fmt: skip
        response = Response.objects.get()
        assert response.order == [one.variable for one in made.items.all()] and response.seconds is not None

    def test_missing_and_impossible_ones_are_named_at_the_item(self, client, person):
        made = every_kind(person.study)
        page = send(client, person, made, age="12", trust=9, calm_1=2, remark=FREE).content.decode()
        assert "Please give a number of at least 16." in page and "Please answer every row." in page
        assert page.count("Please answer this question.") == 2  # job, and a step that does not exist
        assert "4 answers are missing" in page and FREE in page and page.partition("</form>")[0].count("autofocus") == 1
        assert not Answer.objects.exists() and Response.objects.get().sent_at is None
        assert "Please give a number in digits." in send(client, person, made, age="old").content.decode()

    def test_a_question_that_an_answer_brings_up_is_asked_without_a_script(self, client, person):
        made = every_kind(person.study)
        page = send(client, person, made, **{**COMPLETE, "job": 3}).content.decode()
        assert "Please answer this question." in page and not Answer.objects.exists()
        Item.objects.filter(variable="job_text").update(required=False)
        page = send(client, person, made, **{**COMPLETE, "job": 3}).content.decode()
        assert "brought up another question" in page and not Answer.objects.exists()

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["single", "multiple"])
    def test_the_last_option_is_completed_in_own_words(self, client, person, kind):
        made = questionnaire(person.study)
        job = item(made, "job", kind, options="Student\nResearcher", other_label="Something else")
        later = {"shown_when": job, "shown_codes": [3], "required": False}
        item(made, "since", "number", **later)
        page = client.get(person.get_absolute_url()).content.decode()
        assert "Something else" in page and f'name="item-{job.pk}-other"' in page
        page = send(client, person, made, job=[1, 3] if kind == "multiple" else 3).content.decode()
        assert "Please write what you mean" in page and not Answer.objects.exists()
        page = send(client, person, made, job_other=" Pilot \0").content.decode()
        assert "brought up another question" in page, "who writes has chosen, with a script or without one"
        fields_ = fields(person, made, job=[1, 3] if kind == "multiple" else 3, job_other=" Pilot \0")
        fields_["shown"] = [one.pk for one in made.items.all()]
        client.post(reverse("questionnaire", args=[person.token]), fields_)
        value = Answer.objects.get().value
        assert value == {"codes": [1, 3] if kind == "multiple" else 3, "text": "Pilot"}
        names = [column.name for column in KINDS[kind].list_columns(job)]
        cells = dict(zip(names, KINDS[kind].list_cells(job, value), strict=True))
        assert cells["job_other"] == "Pilot" and (cells.get("job") == 3 or (cells["job_1"], cells["job_2"]) == (1, 0))
        [bars] = KINDS[kind].count(job, [value, 1 if kind == "single" else [1]])
        assert bars.labels[2] == "Something else" and bars.counts == ((1, 0, 1) if kind == "single" else (2, 0, 1))
        assert KINDS[kind].list_texts(job, [value]) == ["Pilot"]

    def test_own_words_belong_to_their_option_alone(self, client, person):
        made = questionnaire(person.study)
        job = item(made, "job", "single", options="Student\nResearcher", other_label="Other")
        send(client, person, made, job=1, job_other="typed before the choice")
        assert Answer.objects.get().value == 1
        job.options = "Other\nStudent"
        assert "is there twice" in KINDS["single"].find_faults(job)["options"]

    def test_what_is_hidden_counts_nowhere(self, client, person):
        made = every_kind(person.study)
        send(client, person, made, **{**COMPLETE, "job_text": "never asked"})
        assert not Answer.objects.filter(item__variable="job_text").exists()
        assert state(person) == "waiting"

    def test_a_condition_on_an_earlier_questionnaire(self, client, person):
        first = every_kind(person.study)
        later = questionnaire(person.study, "Later", placement="rounds")
        job = first.items.get(variable="job")
        item(later, "which", "short", shown_when=job, shown_codes=[1], required=False)
        item(later, "other", "short", shown_when=job, shown_codes=[2, 3], required=False)
        send(client, person, first, **COMPLETE)
        judge_round(person, 1)
        shown = {one.item.variable: one.visible for one in find_page(person).context["items"]}
        assert shown == {"which": True, "other": False}

    @pytest.mark.slow
    def test_twice_sent_counts_once(self, client, person):
        made = every_kind(person.study)
        client.get(person.get_absolute_url())
        form = fields(person, made, **COMPLETE)
        for given in (form, form, {**form, "response": 999_999}):
            assert client.post(reverse("questionnaire", args=[person.token]), given).status_code == 302
        assert Answer.objects.count() == 4 and Response.objects.count() == 1

    def test_changed_questions_are_not_answered_by_accident(self, client, person):
        made = every_kind(person.study)
        client.get(person.get_absolute_url())
        form = fields(person, made, **COMPLETE)
        made.items.filter(variable="trust").update(high_label="never")
        page = client.post(reverse("questionnaire", args=[person.token]), form, follow=True).content.decode()
        assert "The questions were changed" in page and not Answer.objects.exists()

    def test_nothing_after_leaving(self, client, person):
        made = every_kind(person.study)
        client.get(person.get_absolute_url())
        form = fields(person, made, **COMPLETE)
        enrolment.withdraw(person)
        client.post(reverse("questionnaire", args=[person.token]), form)
        assert not Answer.objects.exists()

    def test_are_erased_with_the_person(self, client, person):
        send(client, person, every_kind(person.study), **COMPLETE, remark=FREE)
        erasure.erase(person)
        assert not Answer.objects.exists() and not Response.objects.exists() and Item.objects.count() == 8

    def test_each_person_has_an_order_of_their_own_with_texts_in_place(self, study):
        made = every_kind(study, shuffle=True)
        items = list(made.items.all())
        orders = set()
        for number in range(12):
            someone = Participant(study=study, label=f"P{number}")
            order = [one.variable for one in answering.order_items(someone, made, items)]
            assert order == [one.variable for one in answering.order_items(someone, made, items)]
            assert order[0] == "welcome" and order[order.index("job") + 1] == "job_text"
            orders.add(tuple(order))
        assert len(orders) > 6
        assert (
            len({tuple(answering.order_rows(Participant(study=study, label=str(n)), items[6])) for n in range(9)}) == 2
        )


class TestScores:
    def test_sus(self, study):
        made = questionnaire(study, score="sus")
        grid = item(made, "sus", "grid", statements="\n".join("abcdefghij"), steps=5, low_label="no", high_label="yes")
        best = {str(row): 5 if row % 2 else 1 for row in range(1, 11)}
        for given, score in ((best, 100), (dict.fromkeys(best, 3), 50), ({**best, "1": 4}, 97.5)):
            assert SCORES["sus"].compute([grid], {grid.pk: given}) == score
        assert SCORES["sus"].compute([grid], {grid.pk: {"1": 5}}) is None
        assert list(editing.find_faults(made)) == []
        grid.steps = 7
        grid.save()
        assert "ten rows in five steps" in " ".join(editing.find_faults(made))

    def test_tlx(self, study):
        made = questionnaire(study, score="tlx")
        items = [item(made, f"t{n}", "scale", steps=21, low_label="low", high_label="high") for n in range(6)]
        assert SCORES["tlx"].compute(items, {one.pk: 21 for one in items}) == 100
        assert SCORES["tlx"].compute(items, {one.pk: place for place, one in enumerate(items, 1)}) == 12.5
        assert SCORES["tlx"].compute(items, {items[0].pk: 3}) is None

    def test_reversed_rows_are_turned_round_in_the_mean_and_exported_as_given(self, study):
        made = questionnaire(study, score="mean")
        rows_ = {"steps": 7, "low_label": "no", "high_label": "yes"}
        grid = item(made, "calm", "grid", statements="It was calm.\nIt was hectic.", reversed_rows="2", **rows_)
        sure = item(made, "sure", "scale", **rows_)
        assert SCORES["mean"].compute([grid, sure], {grid.pk: {"1": 6, "2": 1}, sure.pk: 5}) == 6
        assert SCORES["mean"].compute([grid, sure], {grid.pk: {"1": 6, "2": 1}}) is None
        assert SCORES["mean"].find_range([grid, sure]) == (1, 7) and not list(editing.find_faults(made))
        assert KINDS["grid"].list_cells(grid, {"1": 6, "2": 1}) == [6, 1]
        assert [column.reversed for column in KINDS["grid"].list_columns(grid)] == [False, True]
        grid.reversed_rows = "2, 3"
        assert KINDS["grid"].find_faults(grid)["reversed_rows"] == "There is no row 3."
        item(made, "short_one", "scale", steps=5, low_label="no", high_label="yes")
        assert "same number of steps" in " ".join(editing.find_faults(made))


class TestEditing:
    def test_answered_questions_are_fixed_and_a_pilots_answers_go(self, client, person):
        made = every_kind(person.study)
        Participant.objects.update(pilot=True)
        send(client, person, made, **COMPLETE)
        assert not made.answered
        editing.lock(made)
        assert not Answer.objects.exists()
        Participant.objects.update(pilot=False)
        send(client, person, made, **COMPLETE)
        with pytest.raises(editing.Fixed, match="Somebody has answered"):
            editing.lock(made)
        assert Answer.objects.count() == 4

    def test_a_copy_has_names_of_its_own_and_its_own_conditions(self, study):
        made = every_kind(study)
        copy = editing.duplicate(made)
        assert not copy.active and [one.variable for one in copy.items.all()][1] == "age_2"
        assert copy.items.get(variable="job_text_2").shown_when == copy.items.get(variable="job_2")

    def test_a_copied_study_has_copies(self, study):
        first = every_kind(study, arms=[study.arms.get().pk])
        later = questionnaire(study, "Later", placement="after")
        item(later, "which", "short", shown_when=first.items.get(variable="job"), shown_codes=[1])
        copy = copying.copy_study(study)
        assert [one.arms for one in copy.questionnaires.all()] == [[copy.arms.get().pk], []]
        copied = Item.objects.filter(questionnaire__study=copy)
        assert copied.get(variable="which").shown_when == copied.get(variable="job")
        assert Item.objects.count() == 18

    def test_what_others_depend_on_is_not_deleted(self, study):
        made = every_kind(study)
        with pytest.raises(RestrictedError):
            made.items.get(variable="job").delete()
        made.delete()  # all of it goes
        assert not Item.objects.exists()

    def test_faults_keep_a_study_closed(self, study):
        made = questionnaire(study)
        assert "It has no questions yet." in "".join(opening.find_problems(study))
        late = item(made, "late", "single", options="yes\nno")
        item(made, "early", "short", shown_when=late, shown_codes=[1], position=0)
        late.position = 5
        late.options = "one"
        late.save()
        found = "".join(opening.find_problems(study))
        assert "Give at least two options" in found and "is asked later" in found

    def test_two_columns_of_one_name_keep_a_study_closed(self, study):
        made = questionnaire(study)
        item(made, "job", "single", options="Student\nResearcher", other_label="Other")
        assert editing.find_equal_columns(study) == []
        item(questionnaire(study, "Later"), "job_other", "short")
        assert "the column “job_other”" in "".join(opening.find_problems(study))

    def test_names(self):
        assert editing.suggest_variable("How old are you now?", {"how_old_are"}) == "how_old_are_2"
        assert editing.suggest_variable("2 or 3?", set()) == "q_2_or_3"
        with pytest.raises(ValidationError):
            questionnaire_rows.Item(variable="1st").clean_fields(exclude=["questionnaire", "kind", "text"])


def test_every_kind_reads_nothing_from_an_empty_form_and_explains_its_columns(study):
    made = every_kind(study)
    for one in made.items.all():
        kind = KINDS[one.kind]
        assert kind.read(one, "item", QueryDict("")) is None
        assert (
            len(kind.list_cells(one, None))
            == len(kind.list_columns(one))
            == bool(kind.asks) * max(1, {"multiple": 3, "grid": 2}.get(one.kind, 1))
        )
        assert not any(kind.list_cells(one, None)) and kind.find_faults(one) == {}


def test_a_finished_experiment_asks_after_its_last_round(person):
    item(questionnaire(person.study, placement="rounds"), "load", "short")
    judge_round(person, 3, over=False)
    Experiment.objects.update(status="finished")
    assert state(person) == "questionnaire"
