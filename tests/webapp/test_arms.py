"""Arms, places and sequence: who gets what, in which order, how many, and when nobody new may come."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp import fake_workers, rows
from webapp import reaper
from webapp.experiments.models import Candidate, Experiment
from webapp.studies import assigning, enrolment, opening
from webapp.studies.models import Assignment, ConsentText, Participant, Question, Study

pytestmark = pytest.mark.django_db


def study(arms="A", quotas=(), **values):
    made = rows.study(**values)
    made.arms.all().delete()
    for number, name in enumerate(arms):
        quota = quotas[number] if number < len(quotas) else None
        rows.arm(made, name, task="Cartpole", k=3, n=1, quota=quota)
    return made


def come(of, count, prefix="P"):
    """This many people agree one after another; returns each one's message."""
    first = of.participants.count() + 1
    made = [Participant.objects.create(study=of, label=f"{prefix}{first + n:02}") for n in range(count)]
    return {person: enrolment.accept_consent(person) for person in made}


def arms_of(person):
    return "".join(place.arm.name for place in person.assignments.all())


def spread(of, place=1):
    return Counter(Assignment.objects.filter(arm__study=of, position=place).values_list("arm__name", flat=True))


def end(experiment):
    """Play it to its end, always taking the first."""
    Experiment.objects.filter(pk=experiment.pk).update(judge="proxy")
    experiment.refresh_from_db()
    fake_workers.do_work(experiment)
    assert experiment.status == "finished"


def page(client, person):
    return client.get(person.get_absolute_url()).content.decode()


# --- who gets which arm ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_balanced_arms_never_differ_by_more_than_one():
    of = study("ABC")
    for count in range(1, 11):
        come(of, 1)
        sizes = [spread(of)[name] for name in "ABC"]
        assert sum(sizes) == count and max(sizes) - min(sizes) <= 1


@pytest.mark.slow
def test_ties_are_drawn_from_the_seed_and_nothing_else():
    drawn = ["".join(arms_of(p) for p in come(study("ABC", seed=seed), 9)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_who_left_makes_room_in_the_balance():
    of = study("AB")
    people = list(come(of, 4))
    leaver = next(person for person in people if arms_of(person) == "A")
    enrolment.withdraw(leaver)
    [newcomer] = come(of, 1)
    assert arms_of(newcomer) == "A"


@pytest.mark.slow
def test_seeded_arms_depend_on_the_label_alone():
    one, other = study("ABCD", assignment="seeded", seed=7), study("ABCD", assignment="seeded", seed=7)
    come(one, 12)
    for label in ("P12", "P05"):  # in another order, and without the others
        person = Participant.objects.create(study=other, label=label)
        enrolment.accept_consent(person)
        assert arms_of(person) == arms_of(one.participants.get(label=label))
    assert len(spread(one)) > 1


def test_places_given_by_hand_are_kept():
    of = study("AB", assignment="by hand")
    person = Participant.objects.create(study=of, label="P01")
    Assignment.objects.create(participant=person, arm=of.arms.get(name="B"))
    assert enrolment.accept_consent(person) == "" and arms_of(person) == "B"
    assert person.experiment.status == "running"


def test_by_hand_nobody_comes_in_without_a_place(client):
    [(person, told)] = come(study(assignment="by hand"), 1).items()
    assert told == "unassigned" and not Experiment.objects.exists()
    person.refresh_from_db()
    assert person.consented_at is None
    assert "Your place is not ready yet" in page(client, person)


def test_an_experiment_is_started_by_its_arms_plan():
    of = study("AB")
    of.arms.filter(name="B").update(method="open_loop", k=4, preset="paper", token_budget=1000)
    for person in come(of, 2):
        place, experiment = person.current, person.experiment
        assert all(getattr(experiment, name) == getattr(place.arm, name) for name in assigning.PLAN)
    assert {e.method for e in Experiment.objects.all()} == {"icpl", "open_loop"}


# --- sequence -------------------------------------------------------------------------------------------------


def test_everybody_has_every_arm_before_one_twice_and_orders_are_balanced():
    of = study("AB", experiments_each=2)
    people = come(of, 8)
    assert {"".join(sorted(arms_of(person))) for person in people} == {"AB"}
    assert spread(of, 1) == spread(of, 2) == {"A": 4, "B": 4}


def test_with_more_experiments_than_arms_they_come_again():
    of = study("AB", experiments_each=4)
    assert all(Counter(arms_of(person)) == {"A": 2, "B": 2} for person in come(of, 3))


@pytest.mark.slow
def test_after_one_winner_the_next_experiment_begins(client):
    of = study("AB", experiments_each=2)
    [person] = come(of, 1)
    enrolment.mark_instructed(person)
    first = person.experiment
    assert Experiment.objects.count() == 1
    end(first)
    reaper.tick()
    second = person.experiment
    assert second != first and second.status == "running" and second.seed == first.seed + 1
    person.refresh_from_db()
    assert person.finished_at is None and "You have finished" not in page(client, person)
    end(second)
    reaper.tick()
    person.refresh_from_db()
    assert person.finished_at and person.outcome == "finished"
    assert "You have finished" in page(client, person)


@pytest.mark.slow
def test_the_next_begins_once_however_often_one_looks(client):
    [person] = come(study("A", experiments_each=2), 1)
    end(person.experiment)
    for _ in range(2):
        page(client, person)
        reaper.tick()
    assert Experiment.objects.count() == 2


@pytest.mark.slow
def test_the_next_begins_in_a_closed_study_but_not_for_somebody_who_left():
    of = study("A", experiments_each=2)
    stays, leaves = come(of, 2)
    for person in (stays, leaves):
        end(person.experiment)
    enrolment.withdraw(leaves)
    opening.close_study(of)
    assert assigning.begin_due() == 1
    assert stays.current.position == 2 and leaves.experiment is None


def test_leaving_ends_what_is_open_and_keeps_what_is_finished():
    [person] = come(study("A", experiments_each=2), 1)
    first = person.experiment
    end(first)
    assigning.begin_due()
    second = person.experiment
    enrolment.withdraw(person)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, second.status) == ("finished", "cancelled")
    person.refresh_from_db()
    assert person.outcome == "withdrawn"


def test_who_does_not_pass_the_check_makes_room_for_others():
    of = study(quota=1)
    [person] = come(of, 1)
    enrolment.fail(person)
    person.refresh_from_db()
    assert (person.outcome, person.experiment.status) == ("failed", "cancelled")
    assert person.withdrawn_at is None
    assert list(come(of, 1).values()) == [""]


# --- quotas ---------------------------------------------------------------------------------------------------


def test_the_study_is_full(client):
    of = study(quota=2)
    told = come(of, 3)
    assert list(told.values()) == ["", "", "full"]
    assert "This study is full" in page(client, list(told)[2])
    enrolment.withdraw(next(iter(told)))
    assert list(come(of, 1).values()) == [""]


def test_an_arm_is_full():
    of = study("AB", quotas=(1, 3))
    assert list(come(of, 5).values()) == [""] * 4 + ["full"]
    assert spread(of) == {"A": 1, "B": 3}


def test_nobody_gets_half_of_a_sequence():
    of = study("AB", quotas=(1,), experiments_each=2)
    assert list(come(of, 2).values()) == ["", "full"]


# --- opening --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, words",
    [
        ({"ethics_protocol": " "}, "Name the ethics protocol"),
        ({"ethics_expires_on": None}, "until when the ethics protocol is valid"),
        ({"ethics_expires_on": "2020-02-01"}, "expired on 1 February 2020"),
        ({"consent_text": "  \n "}, "The consent text is empty"),
        ({"contact": ""}, "Name a contact"),
        ({"quota": 2, "panel": 3}, "does not fill one panel"),
        ({"closes_at": "2020-01-01T00:00Z"}, "The time when it closes has passed"),
        ({"opens_at": "2999-02-01T00:00Z", "closes_at": "2999-01-01T00:00Z"}, "close before it opens"),
        ({"assignment": "by hand", "recruiting": True}, "the open link lets in people"),
        ({"task": "HumanoidJump", "method": "eureka"}, "Arm A: HumanoidJump has no metric"),
        ({"method": "eureka"}, "Arm A: Eureka goes by the hidden metric"),
    ],
)
def test_what_stands_against_opening(values, words):
    of = rows.study(status="draft", **values)
    assert any(words in problem for problem in opening.open_study(of))
    assert Study.objects.get().status == "draft"


def test_a_study_needs_an_arm():
    of = study("", status="draft")
    assert opening.open_study(of) == ["Add at least one arm: what is learnt, by which method."]


@pytest.mark.slow
def test_arms_with_the_same_settings_are_named_and_open_all_the_same(admin_client):
    of = study("ABCD", status="draft")
    of.arms.update(k=6)
    of.arms.filter(name="C").update(k=3)
    of.arms.filter(name="D").update(panel=2)
    words = "Arms A and B have the same settings"
    assert words in admin_client.get(f"/bench/studies/{of.pk}/").text
    of.arms.filter(name="B").update(options={"measures": True})
    assert "the same settings" not in admin_client.get(f"/bench/studies/{of.pk}/").text
    of.arms.filter(name="B").update(options={})
    assert opening.open_study(of) == []


def test_arms_with_less_room_than_the_study():
    assert any("leave room for fewer" in words for words in opening.find_problems(study("AB", quotas=(1, 2), quota=4)))
    assert opening.find_problems(study("AB", quotas=(2, 2), quota=4)) == []


def test_a_question_needs_its_answer():
    of = rows.study()
    Question.objects.create(study=of, text="Is it a robot?", answers="yes\nno", correct=3)
    assert any("Is it a robot?" in words for words in opening.find_problems(of))


def test_a_demonstration_needs_no_protocol():
    of = rows.study(status="draft", demonstration=True, ethics_protocol="", ethics_expires_on=None)
    assert opening.open_study(of) == [] and of.status == "open"
    assert list(come(of, 1).values()) == [""]


# --- dates ----------------------------------------------------------------------------------------------------


def test_nobody_new_after_the_protocol_expired_and_those_inside_go_on(client, monkeypatch):
    moment = timezone.now().replace(hour=12)
    monkeypatch.setattr(timezone, "now", lambda: moment)
    of = study(ethics_expires_on=timezone.localdate())
    [inside] = come(of, 1)
    Study.objects.update(ethics_expires_on=timezone.localdate() - timedelta(days=1))
    of.refresh_from_db()
    [(outside, told)] = come(of, 1).items()
    assert told == "expired" and "takes in nobody new" in page(client, outside)
    enrolment.mark_instructed(inside)
    assert "getting ready" in page(client, inside)


@pytest.mark.parametrize(
    "values, told, says",
    [
        ({"opens_at": timezone.now() + timedelta(days=1)}, "early", "has not opened yet"),
        ({"closes_at": timezone.now() - timedelta(minutes=1)}, "late", "takes in nobody new"),
        ({"status": "closed"}, "closed", "This study is closed"),
        ({"status": "draft"}, "draft", "has not opened yet"),
    ],
)
def test_outside_of_its_time(client, values, told, says):
    [(person, reason)] = come(study(**values), 1).items()
    assert reason == told and says in page(client, person)
    assert not Experiment.objects.exists()


def test_closing_notes_when():
    of = rows.study()
    opening.close_study(of)
    assert of.status == "closed" and of.closed_at
    assert opening.open_study(of) == []
    assert Study.objects.get().closed_at is None


# --- consent texts --------------------------------------------------------------------------------------------


def test_every_text_that_somebody_could_read_is_kept():
    of = study(status="draft")
    opening.open_study(of)
    [first] = come(of, 1)
    old = of.consent_hash
    Study.objects.update(consent_text="We changed our minds. " * 4, consent_version="2")
    of.refresh_from_db()
    [second] = come(of, 1)
    for person, version in ((first, "1"), (second, "2")):
        person.refresh_from_db()
        assert ConsentText.objects.get(study=of, hash=person.consent_hash).version == version
    assert ConsentText.objects.get(hash=old).text.startswith("Purpose.")


def test_no_consent_is_kept_twice():
    of = study()
    come(of, 3)
    assert ConsentText.objects.count() == 1


def test_a_long_title_still_names_its_experiments():
    [person] = come(study(title="T" * 120), 1)
    assert len(person.experiment.name) <= 120 and person.experiment.name.endswith("P01")


@pytest.mark.slow
def test_the_winner_of_somebody_elses_first_experiment_is_nobody_elses(client):
    """Two people in one arm have experiments of their own."""
    first, second = come(study(), 2)
    assert first.experiment != second.experiment
    end(first.experiment)
    assert not Candidate.objects.filter(iteration__experiment=second.experiment).exists()
