"""People go on with their next experiment while a policy trains, and come back when it asks again."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import questionnaire_rows, rows
from tests.webapp.pair_answers import answer_all, send
from webapp.experiments.models import Experiment, PairSession, Request
from webapp.review import pairs
from webapp.review.models import PairScreening, Trial
from webapp.studies import assigning
from webapp.studies.models import Assignment, Participant, Response, Study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_undo"), pytest.mark.slow]
PLAN = {"task": "Cartpole", "method": "prefppo", "k": 1, "n": 1}


def start(interleaved: bool = True) -> Participant:
    """Somebody whose first experiment asks about pairs, and whose second is one of rounds that has not begun."""
    study = rows.study(**PLAN)
    Study.objects.filter(pk=study.pk).update(interleaved=interleaved, experiments_each=2)
    rows.arm(study, "ICPL", task="Cartpole", method="icpl", k=6, n=5)
    person = rows.participant(study)
    Assignment.objects.create(participant=person, arm=study.arms.get(name="ICPL"), position=2)
    return Participant.objects.get(pk=person.pk)


def find_second(person: Participant) -> Experiment | None:
    return Assignment.objects.get(participant=person, position=2).experiment


def attend(person: Participant, position: int) -> tuple[Participant, Experiment]:
    """The person as their page has turned to one of their experiments, which is begun if it was not."""
    place = Assignment.objects.select_related("arm__study", "participant").get(participant=person, position=position)
    experiment = place.experiment or assigning.begin_experiment(place)
    Assignment.objects.filter(pk=place.pk).update(attended_at=timezone.now())
    return Participant.objects.get(pk=person.pk), experiment


def look(client: Client, person: Participant) -> str:
    page = client.get(person.get_absolute_url())
    assert page.status_code == 200
    return str(page.context["page"].name)


def answer_first_set(client: Client, person: Participant) -> PairSession:
    session = rows.open_pairs(person, pairs=2)
    assert look(client, person) == "pairs"
    answer_all(person)
    return session


def test_the_next_experiment_begins_once_the_first_set_is_answered(client: Client) -> None:
    person = start()
    assert look(client, person) == "waiting" and find_second(person) is None, "before its first set nothing else begins"
    answer_first_set(client, person)
    assert look(client, person) == "waiting"
    second = find_second(person)
    assert second is not None and second.status == Experiment.Status.RUNNING
    for _ in range(2):
        look(client, person)
    assert Experiment.objects.filter(assignments__participant=person).count() == 2


def test_a_study_that_is_not_interleaved_keeps_its_order(client: Client) -> None:
    person = start(interleaved=False)
    answer_first_set(client, person)
    assert look(client, person) == "waiting" and find_second(person) is None


def test_they_judge_a_round_of_it_meanwhile_undisturbed_and_come_back(client: Client) -> None:
    person = start()
    first = person.experiment
    answer_first_set(client, person)
    look(client, person)
    there, _ = attend(person, 2)
    rows.create_round(there)
    request = rows.open_judgement(there)
    attend(person, 1)
    assert look(client, person) == "review"
    rounds = client.get(person.get_absolute_url()).content.decode()
    rows.open_pairs(attend(person, 1)[0], pairs=2, session=2)
    attend(person, 2)
    assert look(client, person) == "review", "a person who chooses is not interrupted"
    Request.objects.filter(pk=request.pk).update(status=Request.Status.DONE)
    assert look(client, person) == "pairs"
    assert Participant.objects.get(pk=person.pk).experiment == first
    asked = client.get(reverse("live", args=[person.token]), {"version": "x"}, headers={"HX-Request": "true"})
    assert 'data-kind="videos"' in rounds and 'data-kind="pairs"' in asked.content.decode(), "so the page loads itself"


def test_an_answer_that_comes_late_reaches_the_experiment_that_it_is_about(client: Client) -> None:
    person = start()
    session = rows.open_pairs(person, pairs=2)
    told = send(person)
    tokens = [pair["token"] for pair in told["pairs"]]
    person, _ = attend(person, 2)
    assert send(person, (tokens[0], "left"), (tokens[1], "equal")) == {"over": True, "pairs": []}
    assert set(PairScreening.objects.filter(pair__session=session).values_list("answer", flat=True)) >= {"equal"}
    assert not PairScreening.objects.filter(answer="").exists()
    assert pairs.settle_due_sessions() == 1


def test_both_end_before_the_person_is_done(client: Client) -> None:
    person, experiment = attend(start(), 2)
    rows.create_round(person)
    rows.finish_experiment(person)
    assert look(client, person) == "waiting", "the first one goes on"
    first = Assignment.objects.get(participant=person, position=1).experiment
    assert Participant.objects.get(pk=person.pk).experiment == first and experiment != first
    rows.create_round(Participant.objects.get(pk=person.pk))
    rows.finish_experiment(Participant.objects.get(pk=person.pk))
    assert look(client, person) in ("thanks", "debriefing")
    assert Participant.objects.get(pk=person.pk).outcome == "finished"


def test_the_words_say_in_turns(client: Client) -> None:
    person = start()
    Participant.objects.filter(pk=person.pk).update(consented_at=None)
    Assignment.objects.filter(participant=person).update(experiment=None)
    page = client.get(reverse("studio", args=[person.token])).content.decode()
    assert "two times; while one robot practises, you go on with the next." in page


def test_each_experiment_that_ends_has_its_questionnaire_whichever_ends_first(client: Client) -> None:
    person = start()
    asked = questionnaire_rows.questionnaire(person.study, placement="experiment")
    questionnaire_rows.item(asked, "load", "short")
    seen = []
    for position in (2, 1):
        person, experiment = attend(person, position)
        Experiment.objects.filter(pk=experiment.pk).update(status=Experiment.Status.FINISHED)
    for _ in range(2):
        assert look(client, person) == "questionnaire"
        seen.append(Response.objects.get(participant=person, sent_at=None).experiment_id)
        Response.objects.filter(sent_at=None).update(sent_at=timezone.now())
    ended = Experiment.objects.filter(assignments__participant=person)
    assert sorted(seen) == sorted(ended.values_list("pk", flat=True)) and len(seen) == 2
    assert look(client, person) == "thanks"


def test_one_further_experiment_begins_at_a_time(client: Client) -> None:
    person = start()
    Study.objects.filter(pk=person.study_id).update(experiments_each=4)
    for position in (3, 4):
        Assignment.objects.create(participant=person, arm=person.study.arms.get(name="ICPL"), position=position)
    look(client, person)
    answer_first_set(client, person)
    for _ in range(4):
        look(client, person)
    begun = Assignment.objects.filter(participant=person).exclude(experiment=None)
    assert sorted(begun.values_list("position", flat=True)) == [1, 2]


def test_nobody_is_taken_away_from_a_trial(client: Client) -> None:
    person = start()
    answer_first_set(client, person)
    person, _ = attend(person, 2)
    shown = rows.create_round(person, 1).candidates.all()
    order = [candidate.pk for candidate in shown]
    Trial.objects.create(participant=person, kind="gold", number=0, round=1, seed=1, order=order[:2])
    assert look(client, person) == "review"
    person, _ = attend(person, 1)
    rows.open_pairs(person, pairs=2, session=2)
    person, _ = attend(person, 2)
    assert look(client, person) == "review"


def test_somebody_who_has_answered_pairs_is_not_sent_to_practise(client: Client) -> None:
    person = start(interleaved=False)
    rows.open_pairs(person, pairs=2)
    assert look(client, person) == "pairs"
    answer_all(person)
    Study.objects.filter(pk=person.study_id).update(practice=True)
    assert look(client, person) == "waiting"
