"""What people are told of the plan and of the wait: true for every method, and while others come first."""

from dataclasses import replace

import pytest

from llm.methods import METHODS
from tests.webapp import rows
from webapp.experiments import progress
from webapp.experiments.kinds import compare, judge
from webapp.experiments.models import Experiment, Job
from webapp.studies.models import Participant
from webapp.studio import words
from webapp.studio.presentations import EITHER, answers, films, make_lead


def plan(**values):
    return Experiment(**{"task": "Ant", "k": 6, "n": 5, **values})


@pytest.mark.parametrize("name", [name for name, one in METHODS.items() if one.asks_judge and not one.uses_metric])
def test_a_winner_is_promised_by_those_that_ask_for_one(name):
    said = words.describe_plan(plan(method=name))
    assert said.end == f"After five rounds {'you choose the winner' if METHODS[name].chooses else 'you are done'}."
    assert said.pairs == METHODS[name].compares
    assert (said.winner == "Your winner") == said.chosen == METHODS[name].chooses
    wait = films.describe_last_wait(METHODS[name].chooses)
    assert (wait.path[-1] == ("Your turn", "now")) == METHODS[name].chooses, "a turn that comes"


def test_one_round_has_no_choice_of_a_winner():
    assert words.describe_plan(plan(method="icpl", n=1)).end == "After that round you are done."


@pytest.mark.django_db
@pytest.mark.parametrize("chooses", [True, False])
def test_a_panel_is_told_that_it_chose_only_where_it_did(client, monkeypatch, chooses):
    monkeypatch.setitem(METHODS, "icpl", replace(METHODS["icpl"], chooses=chooses))
    person = rows.participant(rows.study(panel=2, method="icpl"))
    rows.create_round(person)
    rows.finish_experiment(person)
    html = client.get(person.get_absolute_url()).content.decode()
    assert ("The robot that all of you chose" in html) == chooses
    assert ("The robot that came out best" in html) != chooses


def test_two_videos_are_asked_about_as_two():
    assert words.describe_plan(plan(method="icpl", k=2)).mark == words.MARK_OF_TWO
    assert "these two" in films.make_question(judge.JUDGEMENT, 2, 2) and "worst" not in films.make_question(
        compare.JUDGEMENT, 2, 2
    )


def test_where_the_method_decides_how_many_nobody_is_told_a_number():
    assert words.describe_plan(plan(method="rf_agent_judged")).robots == "several robots"


def test_what_is_asked_is_true_for_every_arm():
    alike, fewer = plan(method="icpl"), plan(method="icpl", n=1)
    assert make_lead([alike], 1).endswith("There are five rounds of six robots, one video each.")
    assert make_lead([fewer], 1).endswith("There is one round of six robots, one video each.")
    assert make_lead([alike, plan(method="icpl", k=4)], 1).endswith("There are five rounds.")
    assert make_lead([alike, fewer], 2) == f"{films.LEAD} You do this two times, one after another."
    read = plan(method="scaling_3d", task="a problem of ours")
    assert make_lead([read], 1).startswith(answers.LEAD)
    assert make_lead([alike, read], 1).startswith(EITHER)


@pytest.mark.slow
@pytest.mark.django_db
def test_a_person_in_line_is_told_so(client):
    study = rows.study(k=2)
    first, second = (rows.participant(study, label=label) for label in ("P01", "P02"))
    for person, status in ((first, Job.Status.RUNNING), (second, Job.Status.QUEUED)):
        rows.create_round(person)
        request = rows.open_training(person)
        Job.objects.create(experiment=person.experiment, kind=Job.Kind.TRAIN, request=request, status=status)
    assert [progress.read_progress(row).in_line for row in Experiment.objects.order_by("pk")] == [False, True]
    html = client.get(second.get_absolute_url()).content.decode()
    assert "Your robots wait for a free practice room" in html and "are practising" not in html.split("</h1>")[0]
    assert "Two robots are practising" in client.get(first.get_absolute_url()).content.decode()

    Participant.objects.update(instructed_at=None)
    assert "Yours wait for a free practice room" in client.get(second.get_absolute_url()).content.decode()
    assert "are practising already" in client.get(first.get_absolute_url()).content.decode()

    Job.objects.filter(experiment=first.experiment).update(status=Job.Status.DONE)
    assert not progress.read_progress(Experiment.objects.get(pk=second.experiment.pk)).in_line


def test_while_a_model_looks_at_a_round_nothing_falls_back_and_nobody_is_told():
    now = progress.Progress("asking", 2, 5, 1.0, 70.0)
    wait = films.describe_wait(now, 6)
    assert (wait.headline, wait.percent, wait.left) == ("The videos are almost ready", 99, "about one minute left")
    assert wait.path == films.describe_wait(replace(now, phase="filming"), 6).path
    assert films.describe_progress(now, 6) == "The first videos are almost ready."
    assert answers.describe_wait(now, 6).path == answers.describe_wait(replace(now, phase="training"), 6).path
