"""Several people judge one experiment: it waits for each of them, and takes one answer from all."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from llm.judges import panel
from llm.records import Pick, result_from_json
from tests.webapp import bench_rows, fake_workers, rows
from webapp import reaper
from webapp.experiments import loop
from webapp.experiments.models import Candidate, Clip, Event, Experiment, Request
from webapp.review import ballot, panels
from webapp.review.models import Vote
from webapp.review.screenings import LETTERS, find_screening
from webapp.studies import enrolment
from webapp.studies.models import Participant

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def study(panel=3, **plan):
    return rows.study(**{"panel": panel, "task": "Cartpole", "k": 3, "n": 1, **plan})


def joined(of, count, first=1):
    people = [Participant.objects.create(study=of, label=f"P{number:02}") for number in range(first, first + count)]
    for person in people:
        assert enrolment.accept_consent(person) == ""
        enrolment.mark_instructed(person)
    return people


def filmed(experiment):
    """Let the robots be trained and filmed, as far as somebody must choose."""
    fake_workers.do_work(experiment)
    for candidate in Candidate.objects.filter(iteration__experiment=experiment, clips=None, status="trained"):
        Clip.objects.create(candidate=candidate, percent=100, status=Clip.Status.READY)


def asked(experiment):
    request = loop.find_waiting_request(Experiment.objects.get(pk=experiment.pk))
    assert request is not None
    return request


def letter(screening, key):
    return LETTERS[[Candidate.objects.get(pk=pk).key for pk in screening.order].index(key)]


def vote(person, best="", worst="", **choice):
    request = asked(person.experiment)
    screening = find_screening(request, person)
    letters = {name: letter(screening, key) for name, key in (("best", best), ("worst", worst)) if key}
    return ballot.cast_vote(person, screening.token, ballot.Choice(**letters, **choice))


def time_passes():
    """Nobody can take anything back any more, and the reaper looks."""
    Vote.objects.filter(locked_at=None).update(created_at=timezone.now() - timedelta(seconds=60))
    reaper.tick()


def page(client, person):
    return client.get(person.get_absolute_url()).content.decode()


@pytest.fixture
def people():
    three = joined(study(), 3)
    filmed(three[0].experiment)
    return three


@pytest.fixture
def experiment(people):
    return people[0].experiment


# --- gathering ------------------------------------------------------------------------------------------------


def test_a_panel_begins_when_it_is_complete(client):
    of = study()
    [first, second] = joined(of, 2)
    assert first.experiment == second.experiment and first.experiment.status == "draft"
    assert "Waiting for one other person" in page(client, first)
    [third] = joined(of, 1, first=3)
    assert third.experiment == first.experiment and third.experiment.status == "running"
    assert Event.objects.filter(kind="started").count() == 1


def test_the_fourth_begins_the_next_panel(client):
    people = joined(study(), 4)
    assert people[3].experiment != people[0].experiment and people[3].experiment.status == "draft"
    assert people[3].experiment.seed == people[0].experiment.seed + 1
    assert "Waiting for two other people" in page(client, people[3])


KEPT_OUT = [
    ("nobody", {}, {}, 0),
    ("a close", {"status": "closed"}, {}, 1),
    ("a full study", {"quota": 2}, {}, 1),
    ("a full arm", {}, {"quota": 2}, 1),
    ("its time", {"closes_at": timezone.now() - timedelta(days=1)}, {}, 1),
    ("its protocol", {"ethics_expires_on": "2020-01-01"}, {}, 1),
    ("its beginning", {"opens_at": timezone.now() + timedelta(days=1)}, {}, 0),
]


@pytest.mark.parametrize(("what", "values", "plan", "panels"), KEPT_OUT)
def test_who_waits_for_people_that_are_kept_out_is_told(what, values, plan, panels, client):
    of = study()
    joined(of, 2)
    type(of).objects.update(**values)
    of.arms.update(**plan)
    client.force_login(bench_rows.create_staff())
    told = client.get(reverse("bench:study", args=[of.pk])).content.decode()
    assert ("1 panel waits for people who may not come any more" in told) == bool(panels), what


def test_the_seat_of_somebody_who_left_is_free():
    of = study()
    [first, second] = joined(of, 2)
    enrolment.withdraw(first)
    third, fourth = joined(of, 2, first=3)
    assert second.experiment == third.experiment == fourth.experiment
    assert second.experiment.status == "running"


def test_nobody_joins_a_panel_that_all_have_left():
    of = study()
    [alone] = joined(of, 1)
    enrolment.withdraw(alone)
    [next_one] = joined(of, 1, first=2)
    assert next_one.experiment != alone.experiment


def test_an_experimenter_can_begin_with_fewer(client):
    [first, second] = joined(study(), 2)
    client.force_login(bench_rows.create_staff())
    client.post(reverse("bench:act", args=[first.experiment.public_id, "start"]))
    assert first.experiment.status == "running"
    filmed(first.experiment)
    vote(first, "1-1", "1-3")
    vote(second, "1-1", "1-3")
    time_passes()
    assert Request.objects.get(kind="Judge").result["best"] == "1-1"


# --- a round --------------------------------------------------------------------------------------------------


def test_the_round_waits_for_everybody(client, people, experiment):
    vote(people[0], "1-1", "1-3")
    time_passes()
    assert "Two others are still choosing" in page(client, people[0])
    assert 'id="ballot"' in page(client, people[1])
    vote(people[1], "1-2", "1-3")
    time_passes()
    assert "One other person is still choosing" in page(client, people[0])
    assert asked(experiment).kind == "Judge"
    vote(people[2], "1-1", "1-2")
    assert asked(experiment).kind == "Judge", "the last choice can still be taken back"
    time_passes()
    assert Request.objects.get(kind="Judge").status == "done"


def test_all_choices_are_pooled_into_one(people, experiment):
    for person, best, worst in zip(people, ("1-2", "1-2", "1-1"), ("1-3", "1-1", "1-3"), strict=True):
        vote(person, best, worst, reason=f"because of {best}", tags=("best: moves fast", "worst: falls over"))
    time_passes()
    request = Request.objects.get(kind="Judge")
    assert (request.result["best"], request.result["worst"]) == ("1-2", "1-3")
    assert request.result["reason"] == f"because of 1-2\nbecause of 1-2\n{panel.DISSENT} because of 1-1"
    assert request.result["tags"] == ["best: moves fast"] * 2 + ["worst: falls over"] * 2
    assert request.pooled["people"] == 3
    assert request.pooled["score"]["1-2"][0] == pytest.approx(2 / 3)
    assert request.pooled["score"]["1-1"][0] == 0 and request.pooled["score"]["1-3"][0] == pytest.approx(-2 / 3)
    value, low, high = request.pooled["strength"]["1-2"]
    assert low < value < high
    shown = ["1-1", "1-2", "1-3"]
    picks = [(Pick("1-2", "1-3"), shown), (Pick("1-2", "1-1"), shown), (Pick("1-1", "1-3"), shown)]
    pairs = [pair for pick, names in picks for pair in panel.list_comparisons(pick, names)]
    assert value == pytest.approx(panel.bradley_terry(pairs)["1-2"].value)
    fake_workers.advance(experiment)
    iteration = experiment.iterations.get()
    assert (iteration.best.key, iteration.worst.key) == ("1-2", "1-3")
    assert iteration.tags == ["best: moves fast", "worst: falls over"]


def test_one_person_alone_is_pooled_with_nobody():
    [alone] = joined(study(panel=1), 1)
    filmed(alone.experiment)
    vote(alone, "1-3", "1-1")
    time_passes()
    request = Request.objects.get(kind="Judge")
    assert (request.result["best"], request.result["worst"], request.pooled) == ("1-3", "1-1", None)


def test_everybody_has_an_order_and_a_vote_of_their_own(people):
    shown = [find_screening(asked(person.experiment), person) for person in people]
    assert len({screening.seed for screening in shown}) == 3
    first = vote(people[0], "1-1", "1-3").vote
    assert ballot.undo_vote(first) and vote(people[0], "1-2", "1-3").vote.pk != first.pk
    assert vote(people[1], "1-1", "1-3").vote.best.key == "1-1"
    assert Vote.objects.filter(undone_at=None).count() == 2


def test_who_cannot_tell_is_left_out(people):
    vote(people[0], cannot_tell=True)
    vote(people[1], cannot_tell=True)
    vote(people[2], "1-2", "1-1")
    time_passes()
    request = Request.objects.get(kind="Judge")
    assert (request.result["best"], request.result["worst"]) == ("1-2", "1-1")
    assert (request.pooled["people"], request.pooled["undecided"]) == (3, 2)
    assert "undecided" not in request.result


def test_what_could_not_be_filmed_is_said_to_have_been_seen_by_nobody(people):
    Clip.objects.filter(candidate__index=3, percent=100).update(status="failed")
    for person in people:
        vote(person, "1-2", "1-1")
    time_passes()
    result = Request.objects.get(kind="Judge").result
    assert result["unseen"] == ["1-3"]
    assert result_from_json("Judge", result).list_seen(["1-1", "1-2", "1-3"]) == ["1-1", "1-2"]


def test_where_nobody_can_tell_what_was_drawn_stands(people):
    for person in people:
        vote(person, cannot_tell=True)
    time_passes()
    drawn = {key for one in Vote.objects.all() for key in (one.best.key, one.worst.key)}
    result = Request.objects.get(kind="Judge").result
    assert {result["best"], result["worst"]} <= drawn and result["best"] != result["worst"]
    assert result["undecided"] == "equal"


def test_the_winner_of_winners_is_chosen_by_all(client):
    people = joined(study(n=2), 3)
    experiment = people[0].experiment
    for number in (1, 2):
        filmed(experiment)
        for person in people:
            vote(person, f"{number}-1", f"{number}-2")
        time_passes()
    filmed(experiment)
    for person, best in zip(people, ("1-1", "2-1", "2-1"), strict=True):
        vote(person, best)
    time_passes()
    fake_workers.advance(experiment)
    assert experiment.status == "finished" and experiment.winner.key == "2-1"
    reaper.tick()
    assert {person.outcome for person in Participant.objects.all()} == {"finished"}
    assert "The robot that all of you chose" in page(client, people[0])


@pytest.mark.parametrize(
    "answers, result",
    [(("first", "first", "second"), "first"), (("first", "second", "equal"), "equal"), (("skip",) * 3, "skip")],
)
def test_two_are_compared_by_all(people, experiment, answers, result):
    Request.objects.filter(kind="Judge").update(kind="Compare", payload={"iteration": 1, "candidates": ["1-1", "1-2"]})
    for person, answer in zip(people, answers, strict=True):
        if answer in ("first", "second"):
            vote(person, "1-1" if answer == "first" else "1-2")
        else:
            vote(person, cannot_tell=answer == "equal", broken=answer == "skip")
    time_passes()
    assert Request.objects.get(kind="Compare").result == result


# --- people who leave -----------------------------------------------------------------------------------------


def test_a_panel_goes_on_without_somebody_who_left(people, experiment):
    vote(people[0], "1-1", "1-3")
    vote(people[1], "1-1", "1-3")
    time_passes()
    enrolment.withdraw(people[2])
    request = Request.objects.get(kind="Judge")
    assert request.status == "done" and request.pooled["people"] == 2
    assert Experiment.objects.get(pk=experiment.pk).status == "running"


def test_the_choice_of_somebody_who_left_does_not_count(people):
    vote(people[0], "1-3", "1-1")
    vote(people[1], "1-1", "1-3")
    time_passes()
    enrolment.withdraw(people[0])
    vote(people[2], "1-1", "1-2")
    time_passes()
    request = Request.objects.get(kind="Judge")
    assert (request.result["best"], request.pooled["people"]) == ("1-1", 2)


def test_an_experiment_that_all_have_left_ends(people, experiment):
    for person in people:
        enrolment.withdraw(person)
    assert Experiment.objects.get(pk=experiment.pk).status == "cancelled"


# --- early ----------------------------------------------------------------------------------------------------


def close(client, experiment):
    client.force_login(bench_rows.create_staff())
    return client.post(reverse("bench:act", args=[experiment.public_id, "close"]), follow=True).content.decode()


def test_a_round_is_closed_with_the_choices_that_are_there(client, people, experiment):
    vote(people[0], "1-1", "1-3")
    vote(people[1], "1-1", "1-2")
    late = find_screening(asked(experiment), people[2])
    assert "Decided with the choices that were there" in close(client, experiment)
    request = Request.objects.get(kind="Judge")
    assert (request.result["best"], request.pooled["people"]) == ("1-1", 2)
    cast = ballot.cast_vote(people[2], late.token, ballot.Choice("A", "B"))
    assert cast.vote is None and "already over" in cast.message
    assert not ballot.undo_vote(Vote.objects.first())


def test_a_round_without_choices_is_not_closed(client, people, experiment):
    assert "Nobody has chosen yet" in close(client, experiment)
    assert asked(experiment).status == "open"


def test_the_bench_says_who_has_chosen_and_how_it_was_decided(staff, people, experiment):
    address = reverse("bench:experiment", args=[experiment.public_id])
    vote(people[0], "1-1", "1-3")
    html = staff.get(address).content.decode()
    assert "1 of 3 have chosen" in html and "Decide with these" in html
    for person in people[1:]:
        vote(person, "1-1", "1-3")
    time_passes()
    html = staff.get(address).content.decode()
    assert "How 3 people decided" in html and "Decide with these" not in html


# --- nothing is lost, nothing counts twice --------------------------------------------------------------------


def test_a_failure_in_the_middle_leaves_the_vote_to_be_counted(people, monkeypatch):
    for person in people:
        vote(person, "1-1", "1-3")
    Vote.objects.update(created_at=timezone.now() - timedelta(seconds=60))

    def lost(*_):
        raise ConnectionError("the power went")

    with monkeypatch.context() as broken:
        broken.setattr(loop, "answer", lost)
        with pytest.raises(ConnectionError):
            reaper.tick()
    assert Request.objects.get(kind="Judge").status == "open"
    reaper.tick()
    assert Request.objects.get(kind="Judge").result["best"] == "1-1"


def test_a_round_that_failed_meanwhile_is_answered_when_it_goes_on(people, experiment):
    for person in people[:2]:
        vote(person, "1-1", "1-3")
    time_passes()
    Experiment.objects.update(status=Experiment.Status.FAILED)
    enrolment.withdraw(people[2])
    assert Request.objects.get(kind="Judge").status == "open"
    assert loop.retry(experiment)
    fake_workers.advance(experiment)
    time_passes()
    assert Request.objects.get(kind="Judge").status == "done"


def test_a_round_is_answered_once(people, experiment):
    for person in people:
        vote(person, "1-1", "1-3")
    for _ in range(3):
        time_passes()
    assert not panels.close_round(experiment)
    assert experiment.events.filter(kind="picked").count() == 1


def test_a_round_in_which_somebody_still_chooses_is_not_locked(client, people, monkeypatch):
    """The reaper looks each second, and pages ask often: neither keeps a vote of the others waiting."""
    for person in people[:2]:
        vote(person, "1-1", "1-3")
    monkeypatch.setattr(loop, "lock", lambda pk: pytest.fail("locked"))
    assert "Take it back" in page(client, people[0])
    Vote.objects.update(locked_at=timezone.now())
    reaper.tick()
    assert Request.objects.get(kind="Judge").status == "open"
