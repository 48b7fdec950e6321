"""A/B votes: attention checks, pairs shown twice, answers taken back, and the question of a task."""

import csv
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from simulation import catalog
from tests.webapp import poll_rows
from tests.webapp.poll_rows import page
from webapp import reaper
from webapp.votes import lifecycle, poll_ballot, poll_results, questions
from webapp.votes.models import Evaluator, Poll, Showing, Vote

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def opened(poll):
    assert lifecycle.open_poll(poll) == []
    poll.refresh_from_db()
    return poll


def answer_all(poll, *prefers):
    """Each person answers everything: their arm, and an attention check with this answer."""
    for arm, check in prefers:
        person = poll_rows.evaluator(poll)
        while showing := poll_ballot.find_current_showing(person):
            first = check == "first" if showing.pair.is_check else arm == showing.pair.first_arm
            choice = "left" if first == showing.first_left else "right"
            assert poll_ballot.cast_vote(person, showing.token, poll_ballot.Answer(choice)) == ""


# --- attention checks -----------------------------------------------------------------------------------------


def test_who_fails_the_checks_is_left_out_and_both_results_are_there():
    poll = poll_rows.poll(pairs=1, opened=False)
    poll_rows.add_check(poll)
    poll_rows.add_check(poll, name="Fallen")
    poll.checks_to_pass = 1
    poll.save()
    opened(poll)
    assert "Attention checks, which count in no result:\n  2. attention check: the first is plainly better" in poll.plan
    assert "  3. Fallen: the first is plainly better" in poll.plan and "fewer than 1 right of 2" in poll.plan
    answer_all(poll, *[("ICPL", "first")] * 5, *[("OpenLoop", "second")] * 2)
    found = poll_results.compute_results(poll)
    [one] = found.pairs
    assert (one.preference.first, one.preference.second, found.finished, found.counted) == (5, 0, 7, 5)
    assert found.exclusion.failed == ("E06", "E07") and [c.right for c in found.exclusion.checks] == [5, 5]
    [everybody] = found.everybody.pairs
    assert (everybody.preference.first, everybody.preference.second) == (5, 2) and found.sides.trials == 5
    rows = list(csv.DictReader(poll_results.write_csv(poll).splitlines()))
    assert {row["check_right"] for row in rows if row["purpose"] == "asked"} == {""}
    assert {row["left_out"] for row in rows if row["evaluator"] == "E06"} == {"1"}
    assert sum(row["check_right"] == "1" for row in rows) == 10


def test_a_check_on_the_same_clip_needs_no_difference():
    poll = poll_rows.poll(pairs=1, opened=False)
    poll_rows.add_check(poll, "same")
    assert "which this vote does not offer" in " ".join(lifecycle.find_problems(poll))
    poll.allow_tie = True
    poll.save()
    opened(poll)
    person = poll_rows.evaluator(poll)
    while showing := poll_ballot.find_current_showing(person):
        choice = "same" if showing.pair.is_check else "left"
        assert poll_ballot.cast_vote(person, showing.token, poll_ballot.Answer(choice)) == ""
    found = poll_results.compute_results(poll)
    assert found.exclusion.failed == () and found.everybody is None and found.counted == 1


def test_what_cannot_be_a_check_is_said():
    poll = poll_rows.poll(pairs=2, opened=False, checks_to_pass=1, repeats=2)
    said = " ".join(lifecycle.find_problems(poll))
    assert "1 attention checks are to be passed, but there are 0" in said and "Of 2 pairs at most 1" in said
    poll.pairs.update(purpose="same")
    assert "choose the same clip on both sides" in " ".join(lifecycle.find_problems(poll))
    assert "Add at least one pair to compare" in " ".join(lifecycle.find_problems(poll))


# --- pairs shown twice ----------------------------------------------------------------------------------------


def test_repeats_come_last_with_their_sides_exchanged_and_count_once():
    poll = opened(poll_rows.poll(pairs=3, opened=False, repeats=2, evaluators_wanted=8))
    for _ in range(8):
        person = poll_rows.evaluator(poll)
        shown = list(person.showings.select_related("pair"))
        assert [s.again for s in shown] == [False] * 3 + [True] * 2 and len({s.pair for s in shown[3:]}) == 2
        for again in shown[3:]:
            before = next(s for s in shown[:3] if s.pair == again.pair)
            assert before.first_left != again.first_left and again.position - before.position > 1
        while poll_ballot.find_current_showing(person):
            assert poll_rows.vote_for(person, "ICPL") == ""
    found = poll_results.compute_results(poll)
    assert (found.consistency.same, found.consistency.shown) == (16, 16)
    assert [one.preference.trials for one in found.pairs] == [8, 8, 8]


# --- pooled ---------------------------------------------------------------------------------------------------


def test_pairs_of_the_same_arms_are_pooled_whichever_comes_first():
    poll = poll_rows.poll_of_equal_arms({"seed": 1}, {"seed": 2}, {"seed": 3}, evaluators_wanted=6)
    turned = poll.pairs.last()
    turned.first, turned.second = turned.second, turned.first
    turned.first_arm, turned.second_arm = turned.second_arm, turned.first_arm
    turned.save()
    opened(poll)
    assert "Korn-Graubard" in poll.plan and "Korn-Graubard" not in poll_rows.poll(pairs=3).plan
    answer_all(poll, *[("ICPL", "")] * 5, ("OpenLoop", ""))
    [pooled] = poll_results.compute_results(poll).pooled
    assert (pooled.first, pooled.second, pooled.pairs, pooled.evaluators) == (15, 3, 3, 6)
    assert pooled.others.share == pytest.approx(15 / 18) and pooled.these.effective <= 18
    assert pooled.others.interval.low <= pooled.these.interval.low < pooled.others.share


# --- the last answer taken back -------------------------------------------------------------------------------


def test_the_last_answer_is_taken_back_once_until_the_next(client):
    poll = poll_rows.poll(pairs=2)
    person = poll_rows.evaluator(poll)
    first, second = person.showings.all()
    poll_rows.vote_for(person, "ICPL")
    html = page(client, person)
    assert "Take back the last answer" in html and f'value="{first.token}"' in html

    def press(token):
        return client.post(
            reverse("evaluate_undo", args=[person.token]), {"showing": token}, follow=True
        ).content.decode()

    assert "Pair 1 of 2" in press(first.token) and not Vote.objects.exists()
    assert "Pair 1 of 2" in press(first.token)  # a second press of the same button
    poll_rows.vote_for(person, "OpenLoop")
    poll_rows.vote_for(person, "OpenLoop")
    assert "could not be taken back any more" in press(first.token) and Vote.objects.count() == 2
    assert "out of date" in press("altered")
    assert "Take back the last answer" in page(client, person)  # also on the last page
    assert "Pair 2 of 2" in press(second.token)
    assert Evaluator.objects.get(pk=person.pk).finished_at is None
    assert list(Showing.objects.filter(evaluator=person).values_list("taken_back", flat=True)) == [1, 1]
    poll_rows.vote_for(person, "ICPL")
    Vote.objects.update(created_at=timezone.now() - timedelta(seconds=11))
    assert "could not be taken back any more" in press(second.token)
    assert "Take back the last answer" not in page(client, person)


def test_a_full_vote_closes_when_nothing_can_be_taken_back_any_more(client):
    poll = poll_rows.poll(evaluators_wanted=1)
    person, late = poll_rows.evaluator(poll), poll_rows.evaluator(poll)
    showing = person.showings.get()
    poll_rows.vote_for(person, "ICPL")
    reaper.tick()
    poll.refresh_from_db()
    assert poll.status == "open" and list(lifecycle.list_full_polls()) == [poll]
    assert poll_rows.vote_for(late, "ICPL") == poll_ballot.TOO_LATE
    assert "This study is complete" in page(client, late)
    assert poll_ballot.take_back(person, showing.token) == ""
    assert "Pair 1 of 1" in page(client, late)  # the place is free again
    poll_rows.vote_for(person, "ICPL")
    Evaluator.objects.update(finished_at=timezone.now() - timedelta(seconds=11))
    reaper.tick()
    assert Poll.objects.get().status == "closed" and not lifecycle.list_full_polls()
    assert "could not be taken back" in poll_ballot.take_back(person, showing.token)
    assert Vote.objects.count() == 1


# --- the question ---------------------------------------------------------------------------------------------


def test_without_a_question_of_its_own_each_pair_asks_about_its_task(client):
    poll = opened(poll_rows.poll_of_equal_arms({}, {"task": "Cartpole"}, question=""))
    assert "Question: Which robot runs forward faster? / Which cart keeps its pole upright better?" in poll.plan
    person = poll_rows.evaluator(poll)
    shown = person.showings.first()
    assert f'<h1 id="question">{shown.pair.question}</h1>' in page(client, person)
    own = poll_rows.poll(question="Which one limps less?")
    assert "Which one limps less?</h1>" in page(client, poll_rows.evaluator(own)) and own.pairs.get().question == ""


def test_every_task_has_a_question_of_its_own_robot():
    for task in catalog.list_tasks().values():
        assert task.question.startswith("Which ") and task.question.endswith("?"), task.name
    assert (
        questions.write_question(poll_rows.poll_of_equal_arms({"task": "gone"}).pairs.get())
        == questions.OF_UNKNOWN_TASK
    )
