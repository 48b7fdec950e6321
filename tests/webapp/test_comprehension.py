"""The comprehension check: wrong answers explained, a limited number of tries, then a kind end."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp import rows
from webapp.experiments.models import Event, Experiment
from webapp.studies import comprehension
from webapp.studies.models import CompletionCode, Outcome, Participant, Question

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert('x')</script>"


@pytest.fixture
def study():
    made = rows.study(most_attempts=2, debriefing="It was about attention.")
    ask(
        made, "What do you mark?", "The best and the worst\nThe fastest\nNothing", 1, "You mark the best and the worst."
    )
    ask(made, "May you leave?", "Never\nAt any time", 2, "You may leave at any time.")
    CompletionCode.objects.create(
        study=made, outcome=Outcome.FAILED, code="FAILED-77", url="https://example.org/f?cc=1"
    )
    CompletionCode.objects.create(study=made, outcome=Outcome.FINISHED, code="DONE-11")
    return made


@pytest.fixture
def person(study):
    someone = rows.participant(study)
    someone.source = Participant.Source.RECRUITMENT
    someone.save()
    rows.create_round(someone)
    rows.open_judgement(someone)
    return someone


def ask(study, text, answers, correct, explanation=""):
    place = study.questions.count()
    return Question.objects.create(
        study=study, text=text, answers=answers, correct=correct, explanation=explanation, position=place
    )


def page(client, person):
    return client.get(person.get_absolute_url()).content.decode()


def filled(person, right):
    """The form's fields: every question right, or the first one wrong."""
    questions = list(person.study.questions.all())
    fields = {"attempt": person.attempts, "version": comprehension.hash_questions(questions)}
    for number, question in enumerate(questions):
        answers = comprehension.shuffle_answers(person, question)
        wanted = question.correct_answer
        place = answers.index(wanted)
        fields[f"question-{question.pk}"] = place if right or number else (place + 1) % len(answers)
    return fields


def send(client, person, right=True, **more):
    person.refresh_from_db()
    fields = {**filled(person, right), **more}
    return client.post(reverse("check", args=[person.token]), fields, follow=True).content.decode()


def test_it_comes_before_the_first_round(client, person):
    html = page(client, person)
    assert "Is it clear?" in html and "Two questions" in html and "What do you mark?" in html
    assert "Round 1" not in html and html.count('<input type="radio"') == 5 and "You mark the best" not in html


def test_right_answers_lead_on(client, person):
    assert "Round 1 of 3" in send(client, person)
    person.refresh_from_db()
    assert person.understood_at and person.attempts == 1 and person.outcome == ""
    assert "Round 1 of 3" in page(Client(), person)


@pytest.mark.slow
def test_a_wrong_answer_is_explained_and_asked_again(client, person):
    html = send(client, person, right=False)
    assert "Please try once more" in html and "One answer was not right" in html and "This is the last try" in html
    assert html.count("Not quite.") == 1 and "You mark the best and the worst." in html
    assert "You may leave at any time." not in html and html.count(" required checked>") == 1  # the right one is kept
    assert "Please try once more" in page(client, person)  # a reload shows the same
    assert "This is the last try" in page(Client(), person)  # another device knows the tries, not the answers
    assert "Round 1 of 3" in send(client, person)


@pytest.mark.slow
def test_after_the_last_try_it_ends_kindly_with_its_code(client, person):
    send(client, person, right=False)
    html = send(client, person, right=False)
    assert "Thank you for your interest" in html and "It was about attention." in html
    assert "FAILED-77" in html and "https://example.org/f?cc=1" in html and "DONE-11" not in html
    person.refresh_from_db()
    assert person.outcome == Outcome.FAILED and person.understood_at is None
    assert Experiment.objects.get().status == Experiment.Status.CANCELLED
    assert "Thank you for your interest" in send(client, person)  # right answers come too late
    assert person.attempts == 2


def test_the_code_is_not_on_the_pages_before(client, person):
    assert "FAILED-77" not in page(client, person)
    assert "FAILED-77" not in send(client, person, right=False)


def test_a_try_sent_twice_counts_once(client, person):
    fields = filled(person, right=False)
    for _ in range(2):
        html = client.post(reverse("check", args=[person.token]), fields, follow=True).content.decode()
    assert "out of date" in html
    person.refresh_from_db()
    assert person.attempts == 1 and person.outcome == ""


@pytest.mark.parametrize("change", [{"text": "What do you not mark?"}, {"answers": "Nothing\nThe best and the worst"}])
def test_questions_changed_while_somebody_reads_cost_no_try(client, person, change):
    fields = filled(person, right=True)
    person.study.questions.filter(position=0).update(**change)
    html = client.post(reverse("check", args=[person.token]), fields, follow=True).content.decode()
    assert "The questions were changed while you were reading" in html
    person.refresh_from_db()
    assert person.attempts == 0 and person.understood_at is None


@pytest.mark.parametrize("place", ["", "3", "-1", "99999", "x", "\0", "²"])
def test_what_is_no_answer_counts_as_none(client, person, place):
    first = person.study.questions.first()
    html = send(client, person, **{f"question-{first.pk}": place})
    assert "Please answer every question" in html
    person.refresh_from_db()
    assert person.attempts == 0


def test_every_try_is_in_the_log(client, person):
    send(client, person, right=False)
    send(client, person)
    tries = [event.payload for event in Event.objects.filter(kind="checked").order_by("pk")]
    first = person.study.questions.first()
    assert [one["attempt"] for one in tries] == [1, 2]
    assert tries[0]["wrong"] == [first.pk] and tries[1]["wrong"] == []
    assert tries[1]["given"][str(first.pk)] == "The best and the worst"


def test_the_order_of_answers_is_the_persons_own_and_stays(study):
    question = ask(study, "Which?", "1\n2\n3\n4\n5", 1)
    people = [rows.participant(study, label=f"P{i}") for i in range(8)]
    orders = [tuple(comprehension.shuffle_answers(one, question)) for one in people]
    assert [tuple(comprehension.shuffle_answers(one, question)) for one in people] == orders
    assert len(set(orders)) > 4 and all(sorted(order) == list("12345") for order in orders)


@pytest.mark.slow
def test_where_the_right_answer_is_cannot_be_read_from_the_page(client, study):
    places = set()
    for number in range(10):
        html = page(client, rows.participant(study, label=f"Q{number}"))
        fieldset = html.split("What do you mark?")[1].split("</fieldset>")[0]
        values = re.findall(r'value="(\d)" required><span>([^<]+)', fieldset)
        assert [value for value, _ in values] == ["0", "1", "2"]
        places.add([text for _, text in values].index("The best and the worst"))
    assert len(places) > 1


def test_people_are_asked_what_fits_their_arm(client, study):
    study.questions.filter(position=0).update(asked_of="rounds")
    study.questions.filter(position=1).update(asked_of="pairs")
    html = page(client, rows.participant(study))
    assert "One question" in html and "What do you mark?" in html and "May you leave?" not in html
    other = rows.participant(study, label="P08")
    study.questions.filter(position=0).update(asked_of="pairs")
    assert "Is it clear?" not in page(client, other)


def test_scripts_in_questions_are_text(client, person):
    ask(person.study, f"Is {SCRIPT} a question?", f"{SCRIPT}\nno", 2, f"Because {SCRIPT}")
    html = page(client, person) + send(client, person, right=False)
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html


def test_a_question_added_later_stops_nobody_who_is_through(client, person):
    send(client, person)
    ask(person.study, "One more?", "yes\nno", 1)
    assert "Round 1 of 3" in page(client, person)


def test_for_others_and_elsewhere_it_does_nothing(client, person):
    other = rows.participant(rows.study(title="Another"), label="P09")
    assert client.post(reverse("check", args=[other.token]), filled(person, True)).status_code == 302
    other.refresh_from_db()
    assert other.understood_at is None and other.attempts == 0
    assert client.get(reverse("check", args=[person.token])).status_code == 405
    assert client.post(reverse("check", args=["nonsense"])).status_code == 404
