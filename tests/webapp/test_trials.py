"""Trials: sets judged while the robots practise, checked and flagged, never given to the loop."""

from collections import Counter
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from webapp.experiments.models import Candidate, Experiment, Iteration, Request
from webapp.review import ballot, panels, quality, trials
from webapp.review.ballot import Choice
from webapp.review.models import ClipTicket, GoldSet, Screening, Trial, TrialPlan, Vote
from webapp.review.screenings import find_letters, find_screening, make_tiles
from webapp.studies import assigning
from webapp.studies.models import Assignment

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def planned(study, **counts):
    return TrialPlan.objects.create(study=study, **counts)


def judged(person, number=1, best=0, worst=1):
    """A round that this person has judged for good: the best and the worst as places in the order shown."""
    rows.create_round(person, number)
    screening = find_screening(rows.open_judgement(person, number), person)
    letters = "ABCDEF"
    vote = ballot.cast_vote(person, screening.token, Choice(best=letters[best], worst=letters[worst])).vote
    Screening.objects.filter(pk=screening.pk).update(opened_at=timezone.now() - timedelta(minutes=2))
    Vote.objects.filter(pk=vote.pk).update(created_at=timezone.now() - timedelta(minutes=1))
    assert ballot.lock_due_votes() == 1
    return screening


def waits(person, number):
    """The next round's robots practise."""
    Iteration.objects.get_or_create(experiment=person.experiment, number=number)
    rows.create_round(person, number, percent=30)
    return rows.open_training(person, number)


def page(client, person):
    return client.get(person.get_absolute_url()).content.decode()


def answer(client, person, trial, /, **fields):
    data = {"screening": trial.token, **fields}
    return client.post(reverse("vote", args=[person.token]), data, follow=True).content.decode()


def letters_for(trial, best, worst):
    return dict(zip(("best", "worst"), find_letters(trial, [best, worst]), strict=False))


@pytest.fixture
def person():
    """One whose single trials are drawn for the first wait that there is for them."""
    return rows.participant(label="P39")


# --- the plan -------------------------------------------------------------------------------------------------


def test_without_a_plan_people_just_wait(client, person):
    judged(person)
    waits(person, 2)
    assert "practising" in page(client, person) and not Trial.objects.exists()


def test_a_plan_is_drawn_once_and_spread_over_the_waits(person):
    plan = planned(person.study, attention=2, gold=3, repeated=2)
    drawn = trials.plan_trials(plan, person, rounds=4)
    assert drawn == trials.plan_trials(plan, person, rounds=4)
    assert Counter(one.kind for one in drawn) == {"attention": 2, "gold": 3, "repeated": 2}
    assert all(one.round >= (1 if one.kind == "gold" else 2) for one in drawn)
    assert max(Counter(one.round for one in drawn).values()) == 2, "seven over four waits"
    others = [trials.plan_trials(plan, rows.participant(person.study, label=name), 4) for name in "abc"]
    assert any(other != drawn for other in others)


def test_one_round_leaves_no_room_for_what_needs_an_earlier_one(person):
    plan = planned(person.study, attention=1, gold=1, repeated=1)
    assert [one.kind for one in trials.plan_trials(plan, person, rounds=1)] == ["gold"]


def test_nothing_is_begun_while_a_round_can_be_judged(client, person):
    planned(person.study, attention=1)
    judged(person)
    rows.create_round(person, 2)
    rows.open_judgement(person, 2)
    assert "Which of these six" in page(client, person) and not Trial.objects.exists()


# --- attention ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reads", [True, False])
def test_an_attention_trial(client, person, reads):
    planned(person.study, attention=1)
    judged(person)
    waits(person, 2)
    html = page(client, person)
    trial = Trial.objects.get()
    best, worst = trials.find_required_letters(trial)
    assert f"please choose video {best} as the best and video {worst} as the worst" in html
    picked = {"best": best, "worst": worst} if reads else {"best": worst, "worst": best}
    html = answer(client, person, trial, **picked)
    assert "Saved, thank you." in html and "practising" in html, "one was planned, one was shown"
    found = quality.assess_study(person.study)[person]
    assert found.attention == (reads,)
    assert found.flags == (() if reads else ("failed 1 of 1 attention trials",))


def test_a_person_who_cannot_judge_an_attention_trial_did_not_read_it(client, person):
    planned(person.study, attention=1)
    judged(person)
    waits(person, 2)
    page(client, person)
    answer(client, person, Trial.objects.get(), cannot_tell="yes")
    assert quality.assess_study(person.study)[person].attention == (False,)


# --- gold -----------------------------------------------------------------------------------------------------


def gold_set(study, **values):
    """A round of somebody else's experiment, ranked by an experimenter."""
    other = rows.participant(rows.study(title="Earlier"), label="earlier")
    made = list(rows.create_round(other).candidates.order_by("index"))
    return GoldSet.objects.create(study=study, best=made[0], worst=made[5], **values)


def test_a_gold_pair_is_judged_in_the_first_wait(client, person):
    gold = gold_set(person.study)
    planned(person.study, gold=1)
    waits(person, 1)
    html = page(client, person)
    trial = Trial.objects.get()
    assert "Which one does it better?" in html and "While the next robots practise" in html
    assert sorted(trial.order) == sorted([gold.best_id, gold.worst_id])
    answer(client, person, trial, **letters_for(trial, gold.best_id, None))
    assert quality.assess_study(person.study)[person].gold == (True,)


@pytest.mark.parametrize(("places", "passed"), [((0, 5), True), ((0, 4), False), ((5, 0), False)])
def test_a_gold_round(client, person, places, passed):
    gold = gold_set(person.study, whole_round=True)
    planned(person.study, gold=1)
    waits(person, 1)
    assert "Which of these six" in page(client, person)
    trial, made = Trial.objects.get(), list(gold.best.iteration.candidates.order_by("index"))
    answer(client, person, trial, **letters_for(trial, *(made[place].pk for place in places)))
    assert quality.assess_study(person.study)[person].gold == (passed,)


def test_a_gold_set_of_another_task_is_for_another_arm(client, person):
    gold = gold_set(person.study)
    type(person.experiment).objects.filter(pk=gold.best.iteration.experiment_id).update(task="Humanoid")
    planned(person.study, gold=1)
    waits(person, 1)
    assert "practising" in page(client, person) and not Trial.objects.exists()


def test_no_clip_of_another_task_is_shown_when_a_person_has_gone_on(client, person):
    """Neither a trial that was begun, nor a round of the experiment before: the page asks about another robot."""
    planned(person.study, attention=2, repeated=2)  # two in each wait
    judged(person)
    waits(person, 2)
    page(client, person)
    begun = Trial.objects.get()
    rows.finish_experiment(person)
    place = Assignment(participant=person, arm=rows.arm(person.study, "B", task="Humanoid"), position=2)
    place.experiment = assigning.create_experiment(place)
    place.save()
    Experiment.objects.filter(pk=place.experiment.pk).update(status="running")
    assert person.experiment.task == "Humanoid"
    training = Request.objects.filter(pk=waits(person, 2).pk)
    assert begun.token not in page(client, person) and Trial.objects.get() == begun
    training.update(status="done")
    judged(person)
    training.update(status="open")
    assert "While the next robots practise" in page(client, person)
    shown = Candidate.objects.filter(pk__in=Trial.objects.exclude(pk=begun.pk).get().order)
    assert set(shown.values_list("iteration__experiment__task", flat=True)) == {"Humanoid"}


def test_a_gold_set_is_of_one_task(admin_client, person):
    other = gold_set(person.study)
    GoldSet.objects.all().delete()
    data, page = {"best": other.best_id, "worst": other.worst_id}, reverse("bench:study_gold", args=[person.study.pk])
    assert admin_client.post(page, data).status_code == 302
    assert GoldSet.objects.get().best_id == other.best_id
    person.study.arms.update(task="Humanoid")
    refused = admin_client.post(page, data)
    assert "Both must be of one task" in str(refused.context["form"].errors) and GoldSet.objects.count() == 1


def test_a_gold_set_is_shown_once_and_none_is_no_trap(client, person):
    gold_set(person.study)
    planned(person.study, gold=2)
    waits(person, 1)
    page(client, person)
    html = answer(client, person, Trial.objects.get(), best="A")
    assert "practising" in html and Trial.objects.count() == 1


def test_something_wrong_with_the_videos_is_no_failure(client, person):
    gold_set(person.study)
    planned(person.study, gold=1)
    waits(person, 1)
    page(client, person)
    answer(client, person, Trial.objects.get(), broken="yes")
    found = quality.assess_study(person.study)[person]
    assert found.gold == () and found.undecided == 1 and found.flags == ()


# --- repeated -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("again", "consistency", "flagged"), [((0, 1), 1.0, False), ((0, 2), 0.5, False), ((3, 4), 0.0, True)]
)
def test_a_repeated_round(client, person, again, consistency, flagged):
    planned(person.study, repeated=1)
    first = judged(person)
    waits(person, 2)
    html = page(client, person)
    trial = Trial.objects.get()
    assert "Which of these six" in html and trial.repeats == first
    assert sorted(trial.order) == sorted(first.order)
    answer(client, person, trial, **letters_for(trial, *(first.order[place] for place in again)))
    found = quality.assess_study(person.study)[person]
    assert found.consistency == consistency and found.chance == pytest.approx(1 / 6)
    assert bool(found.flags) == flagged
    assert quality.assess_study(person.study) == {person: found}


def test_a_round_again_has_new_addresses(client, person):
    """Comparing addresses does not reveal that it was shown before."""
    planned(person.study, repeated=1)
    first = judged(person)
    before = {tile.video for tile in make_tiles(first)}
    waits(person, 2)
    page(client, person)
    again = {tile.video for tile in make_tiles(Trial.objects.get())}
    assert len(again) == 6 and not before & again
    assert ClipTicket.objects.filter(participant=person).values("token").distinct().count() == 12


# --- what they never do ---------------------------------------------------------------------------------------


def test_a_trial_is_never_an_answer(client, person):
    planned(person.study, attention=4)
    judged(person)
    request = waits(person, 2)
    votes = Vote.objects.count()
    while "While the next robots practise" in page(client, person):
        trial = Trial.objects.get(answered_at=None)
        assert "Saved" in answer(client, person, trial, best="A", worst="B")
    assert Trial.objects.count() == 2 and Vote.objects.count() == votes
    request.refresh_from_db()
    assert request.status == Request.Status.OPEN and Screening.objects.count() == 1


def test_a_trial_that_was_begun_is_finished_before_the_round_that_came(client, person):
    planned(person.study, attention=1)
    judged(person)
    waiting = waits(person, 2)
    page(client, person)
    Request.objects.filter(pk=waiting.pk).update(status="done")
    rows.create_round(person, 2)
    rows.open_judgement(person, 2)
    assert "This set is a check" in page(client, person)
    assert "Which of these six" in answer(client, person, Trial.objects.get(), best="A", worst="B")


def test_a_second_answer_changes_nothing(client, person):
    planned(person.study, attention=1)
    judged(person)
    waits(person, 2)
    page(client, person)
    trial = Trial.objects.get()
    answer(client, person, trial, best="A", worst="B", client='{"plays": 3}')
    answer(client, person, trial, best="C", worst="D")
    trial.refresh_from_db()
    assert (trial.best_id, trial.worst_id) == tuple(trial.order[:2]) and trial.client == {"plays": 3}


def test_a_choice_that_makes_no_sense(client, person):
    planned(person.study, attention=1)
    judged(person)
    waits(person, 2)
    page(client, person)
    trial = Trial.objects.get()
    assert "Best and worst were the same video" in answer(client, person, trial, best="A", worst="A")
    assert "Choose the best and the worst" in answer(client, person, trial, best="Z", worst="A")
    trial.refresh_from_db()
    assert trial.answered_at is None


def test_somebody_elses_trial(client, person):
    planned(person.study, attention=1)
    judged(person)
    waits(person, 2)
    page(client, person)
    other = rows.participant(person.study, label="P08")
    assert "out of date" in answer(client, other, Trial.objects.get(), best="A", worst="B")
    assert Trial.objects.get().answered_at is None


def test_videos_that_are_gone_are_no_trap(client, person):
    planned(person.study, attention=1)
    judged(person)
    waits(person, 2)
    page(client, person)
    rows.Clip.objects.filter(percent=100).update(status="failed")
    assert "practising" in page(client, person)


# --- votes ----------------------------------------------------------------------------------------------------


def test_votes_that_were_cast_too_fast_or_unwatched_are_flagged(client, person):
    rows.create_round(person)
    screening = find_screening(rows.open_judgement(person), person)
    fields = {"screening": screening.token, "best": "A", "worst": "B", "client": '{"enough": 0}'}
    client.post(reverse("vote", args=[person.token]), fields)
    found = quality.assess_study(person.study)[person]
    assert (found.votes, found.hasty, found.unwatched) == (1, 1, 1) and len(found.flags) == 2


def test_a_comparison_with_wrong_videos_is_skipped(person):
    request = Request(kind="Compare", payload={"candidates": ["1-1", "1-2"]})
    best = Candidate(iteration=Iteration(number=1), index=1)
    assert panels.make_result(Vote(request=request, best=best, cannot_tell=True, broken=True)) == "skip"
