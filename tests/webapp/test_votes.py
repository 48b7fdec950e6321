"""A/B votes: the rows. Opening fixes, sides balance, one vote each, N is exactly N."""

import csv
import hashlib
import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from tests.webapp import poll_rows
from tests.webapp.test_votes_results import voted
from webapp.archive import orphan_files
from webapp.archive.derived_files import summarize_results
from webapp.base.charts import to_svg
from webapp.base.local_store import LocalStore
from webapp.experiments.models import Clip, Experiment
from webapp.votes import figures, film_copies, lifecycle, poll_ballot, poll_enrolment, poll_results
from webapp.votes.film_copies import FilmCopies
from webapp.votes.models import Evaluator, Pair, Poll, Showing, Vote
from webapp.votes.poll_ballot import Answer, cast_vote, find_current_showing

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_undo")]

# --- opening --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_opening_fixes_the_plan():
    poll = poll_rows.poll(pairs=3, alpha=0.01)
    assert poll.status == "open" and poll.opened_at
    for words in ("ICPL against OpenLoop", "at most 0.01", "Holm", "20 evaluators", "sentinel_hypothesis", "99%"):
        assert words in poll.plan, words
    assert "Bradley-Terry" in poll.plan and "Bradley-Terry" not in poll_rows.poll().plan
    assert lifecycle.open_poll(poll) == ["It was opened before."]


@pytest.mark.parametrize(
    ("pairs", "own", "names"),
    [
        ([{}], (), ["ICPL against OpenLoop"]),
        ([{}, {"task": "Cartpole"}], (), ["ICPL against OpenLoop, Ant", "ICPL against OpenLoop, Cartpole"]),
        ([{"seed": 3}, {"seed": 4}], (), ["ICPL against OpenLoop, seed 3", "ICPL against OpenLoop, seed 4"]),
        ([{}, {}], (), ["ICPL against OpenLoop, pair 1", "ICPL against OpenLoop, pair 2"]),
        ([{}, {}], ("Gait",), ["Gait", "ICPL against OpenLoop"]),
        ([{}, {}], ("ICPL against OpenLoop",), ["ICPL against OpenLoop", "ICPL against OpenLoop, pair 2"]),
    ],
)
def test_every_pair_has_a_name_of_its_own(pairs, own, names):
    poll = poll_rows.poll_of_equal_arms(*pairs, names=own)
    planned = lifecycle.write_plan(poll)
    assert lifecycle.open_poll(poll) == []
    poll.refresh_from_db()
    assert poll.plan == planned and [pair.name for pair in poll.pairs.all()] == names
    lines = [f"  {n}. {name}{': ICPL against OpenLoop' * (name == 'Gait')}" for n, name in enumerate(names, 1)]
    assert "\n".join(lines) in poll.plan


def test_names_are_in_every_result():
    poll = poll_rows.poll_of_equal_arms({}, {"task": "Cartpole"}, {}, names=("", "", "Gait"), evaluators_wanted=1)
    assert lifecycle.open_poll(poll) == []
    voted(poll, {"ICPL": 1})
    names = ["ICPL against OpenLoop, Ant", "ICPL against OpenLoop, Cartpole", "Gait"]
    found = poll_results.compute_results(poll)
    assert [pair.sentence for pair in found.pairs] == [
        f"{name}: ICPL 1, OpenLoop 0; no significant preference." for name in names
    ]
    chart, *_ = figures.build_charts(found)
    assert list(chart.categories) == [*names[:2], "Gait: ICPL against OpenLoop"]
    drawn = to_svg(replace(chart, categories=tuple(f"Revolve (automatic) against {name}" for name in names)))
    assert "Ant</text>" in drawn and "Cartpole</text>" in drawn  # a long name is cut elsewhere
    table = list(csv.DictReader(poll_results.write_csv(poll).splitlines()))
    assert {row["pair"]: row["pair_name"] for row in table} == dict(zip("123", names, strict=True))
    later = ["counted", "pair_name", "purpose", "again", "check_right", "taken_back", "left_out", "rating", "reasoning"]
    assert list(table[0])[14:] == later
    assert [pair["name"] for pair in summarize_results(found)["pairs"]] == names


def test_two_pairs_of_one_name_are_refused():
    poll = poll_rows.poll_of_equal_arms({}, {}, names=("Gait", "Gait"))
    assert lifecycle.open_poll(poll) == ["2 pairs are called “Gait”: choose another name."]


def test_a_vote_that_an_earlier_version_opened_keeps_its_plan_and_gets_names():
    poll = poll_rows.poll_of_equal_arms({"seed": 3}, {"seed": 4})
    assert lifecycle.open_poll(poll) == []
    plan = "Pairs:\n  1. ICPL against OpenLoop\n  2. ICPL against OpenLoop"
    Poll.objects.update(plan=plan)
    Pair.objects.update(name="")
    poll = Poll.objects.get()
    Experiment.objects.all().delete()  # a name comes from the copy of the facts
    assert [pair.name for pair in poll_results.compute_results(poll).pairs] == [
        "ICPL against OpenLoop, seed 3",
        "ICPL against OpenLoop, seed 4",
    ]
    lifecycle.close_poll(poll)
    poll.refresh_from_db()
    assert poll.plan == plan and poll.plan_hash == hashlib.sha256(plan.encode()).hexdigest()


def files(pair, ending):
    return [
        settings.DATA_DIR / "media" / film_copies.make_copy_name(file, ending)
        for file in (pair.first_file, pair.second_file)
    ]


@pytest.mark.slow
def test_the_copies_of_a_pair_are_equal_in_size_and_still_play():
    import imageio_ffmpeg

    pair = poll_rows.poll().pairs.get()
    originals = [settings.DATA_DIR / "media" / clip.video for clip in (pair.first, pair.second)]
    assert originals[0].stat().st_size != originals[1].stat().st_size
    for ending in ("mp4", "jpg"):
        sizes = {file.stat().st_size for file in files(pair, ending)}
        assert len(sizes) == 1 and sizes.pop() % 4096 == 0
    for original, copy in zip(originals, files(pair, "mp4"), strict=True):
        assert copy.read_bytes().startswith(original.read_bytes())
        assert imageio_ffmpeg.count_frames_and_secs(str(copy)) == imageio_ffmpeg.count_frames_and_secs(str(original))


def copies_on_disk():
    return sorted(path.name for path in (settings.DATA_DIR / "media" / "votes").glob("*"))


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_nobody_waits_for_the_copies_and_a_crash_between_them_leaves_a_draft_to_be_opened(monkeypatch):
    poll, before, really = poll_rows.poll(pairs=2, opened=False), copies_on_disk(), LocalStore.publish

    def publish(store, key, content):
        assert not connection.in_atomic_block
        if len(copies_on_disk()) - len(before) == crash_at:
            raise KeyboardInterrupt
        really(store, key, content)

    monkeypatch.setattr(LocalStore, "publish", publish)
    crash_at = 3
    with pytest.raises(KeyboardInterrupt):
        lifecycle.open_poll(poll)
    left = set(copies_on_disk()) - set(before)
    assert len(left) == 3 and Poll.objects.get().status == "draft"
    crash_at = None
    assert lifecycle.open_poll(poll) == []
    shown = [file for pair in poll.pairs.all() for ending in ("mp4", "jpg") for file in files(pair, ending)]
    assert len(shown) == 8 and all(file.is_file() and file.name not in left for file in shown)
    monkeypatch.setattr(orphan_files, "OLD_COPY_SECONDS", -1)
    assert left <= {name.removeprefix("votes/") for name in orphan_files.delete_orphans()}
    assert not left & set(copies_on_disk()) and all(file.is_file() for file in shown)


@pytest.mark.parametrize(
    ("change", "words"),
    [("another clip", "were changed"), ("deleted", "was deleted"), ("opened by somebody else", "opened before")],
)
def test_what_changed_during_the_copies_is_refused_and_leaves_none(monkeypatch, change, words):
    poll, other = poll_rows.poll(opened=False), poll_rows.winner("OpenLoop", 5)
    before, really = copies_on_disk(), FilmCopies.make

    def make(copies):
        really(copies)
        if change == "another clip":
            Pair.objects.update(second=other)
        elif change == "deleted":
            Experiment.objects.filter(method="icpl").delete()
        else:
            Poll.objects.update(status=Poll.Status.OPEN)

    monkeypatch.setattr(FilmCopies, "make", make)
    (said,) = lifecycle.open_poll(poll)
    assert words in said and copies_on_disk() == before


def test_a_film_that_is_gone_before_it_is_copied_is_refused(monkeypatch):
    poll, before = poll_rows.poll(opened=False), copies_on_disk()
    gone = settings.DATA_DIR / "media" / poll.pairs.get().second.poster
    make = FilmCopies.make
    monkeypatch.setattr(FilmCopies, "make", lambda copies: (gone.unlink(), make(copies)))
    assert lifecycle.open_poll(poll) == [lifecycle.CHANGED] and copies_on_disk() == before
    monkeypatch.undo()
    (found,) = lifecycle.open_poll(poll)
    assert "a clip is not ready" in found, "looking tells why"


def test_a_deleted_experiment_leaves_the_vote_as_it_was():
    poll = poll_rows.poll()
    poll_rows.evaluator(poll)
    Experiment.objects.all().delete()
    pair = poll.pairs.get()
    assert pair.first is None and pair.origin["first"]["method"] == "icpl"
    assert all(file.is_file() for file in files(pair, "mp4"))


def _words(poll, **changes):
    Poll.objects.filter(pk=poll.pk).update(**changes)
    poll.refresh_from_db()
    return " ".join(lifecycle.find_problems(poll))


def test_what_stands_against_opening_is_said():
    poll = poll_rows.poll(opened=False)
    assert lifecycle.find_problems(poll) == []
    assert "would read “ICPL”" in _words(poll, title="icpl or not")
    pair = poll.pairs.get()
    Clip.objects.filter(pk=pair.first.pk).update(status="failed")
    assert "not ready" in _words(poll, title="x")
    Pair.objects.filter(pk=pair.pk).update(first=pair.second)
    assert "both clips are the same" in _words(poll)
    other = poll_rows.winner("Eureka", task="Humanoid")
    Pair.objects.filter(pk=pair.pk).update(first=other)
    assert "different tasks" in _words(poll)
    Pair.objects.filter(pk=pair.pk).update(second_arm="")
    assert "name what each side stands for" in _words(poll)
    Pair.objects.filter(pk=pair.pk).update(first=None)
    assert "was deleted" in _words(poll)
    pair.delete()
    assert "at least one pair" in _words(poll)
    assert lifecycle.open_poll(poll) and Poll.objects.get(pk=poll.pk).status == "draft"


# --- sides and orders -----------------------------------------------------------------------------------------


def test_sides_are_balanced_and_orders_differ():
    poll = poll_rows.poll(pairs=3)
    people = [poll_rows.evaluator(poll) for _ in range(20)]
    for pair in poll.pairs.all():
        sides = Showing.objects.filter(pair=pair).order_by("evaluator__slot").values_list("first_left", flat=True)
        assert Counter(sides) == {True: 10, False: 10}
        assert all(first != second for first, second in zip(sides[::2], sides[1::2], strict=True))
    orders = {tuple(person.showings.values_list("pair__position", flat=True)) for person in people}
    assert len(orders) > 2 and all(sorted(order) == [1, 2, 3] for order in orders)


def test_sides_can_be_drawn_again_from_the_seed_and_pairs_are_independent():
    poll = poll_rows.poll(pairs=3, seed=7)
    for _ in range(12):
        poll_rows.evaluator(poll)
    for showing in Showing.objects.select_related("pair", "evaluator"):
        assert showing.first_left == poll_enrolment.draw_first_left(7, showing.pair.position, showing.evaluator.slot)
    drawn = [[poll_enrolment.draw_first_left(seed, pair, 0) for pair in (1, 2)] for seed in range(400)]
    for which in (0, 1):
        assert 140 < sum(sides[which] for sides in drawn) < 260
    assert 140 < sum(one == other for one, other in drawn) < 260


def test_the_place_of_somebody_who_left_goes_to_the_next():
    poll = poll_rows.poll()
    first, second, third = (poll_rows.evaluator(poll) for _ in range(3))
    assert [person.slot for person in (first, second, third)] == [0, 1, 2]
    poll_enrolment.withdraw(second)
    Evaluator.objects.filter(pk=first.pk).update(consented_at=timezone.now() - timedelta(hours=3))
    assert [poll_rows.evaluator(poll).slot for _ in range(3)] == [0, 1, 3]


def test_agreeing_twice_draws_nothing_twice():
    poll = poll_rows.poll(pairs=2)
    person = poll_rows.evaluator(poll)
    before = list(person.showings.values_list("token", flat=True))
    poll_enrolment.accept_consent(person)
    assert list(person.showings.values_list("token", flat=True)) == before and len(before) == 2


# --- voting ---------------------------------------------------------------------------------------------------


def test_one_vote_each_in_order():
    poll = poll_rows.poll(pairs=2)
    person, other = poll_rows.evaluator(poll), poll_rows.evaluator(poll)
    first, second = person.showings.all()
    assert cast_vote(person, second.token, Answer("left")) == poll_ballot.OUT_OF_DATE  # out of order
    assert cast_vote(other, first.token, Answer("left")) == poll_ballot.OUT_OF_DATE  # for somebody else
    assert cast_vote(person, "altered", Answer("left")) == poll_ballot.OUT_OF_DATE
    assert cast_vote(person, first.token, Answer("left")) == ""
    assert cast_vote(person, first.token, Answer("left")) == ""  # a double click
    assert "first answer stands" in cast_vote(person, first.token, Answer("right"))  # a replay
    assert Vote.objects.get().choice == "left" and find_current_showing(person) == second
    with pytest.raises(IntegrityError), transaction.atomic():
        Vote.objects.create(showing=first, choice="right")


@pytest.mark.parametrize("choice", ["", "same", "first", "A", "<script>"])
def test_only_what_was_asked_is_an_answer(choice):
    person = poll_rows.evaluator(poll_rows.poll())
    assert "Choose one" in cast_vote(person, find_current_showing(person).token, Answer(choice))
    assert not Vote.objects.exists()


def test_no_difference_and_how_much_better():
    poll = poll_rows.poll(pairs=2, allow_tie=True, ask_strength=True)
    person = poll_rows.evaluator(poll)
    for strength in ("", "0", "4", "much"):
        assert "how much better" in cast_vote(person, find_current_showing(person).token, Answer("left", strength))
    assert cast_vote(person, find_current_showing(person).token, Answer("left", "3", {"decide_ms": 5, "name": 1})) == ""
    assert cast_vote(person, find_current_showing(person).token, Answer("same", "3")) == ""
    one, other = Vote.objects.order_by("pk")
    assert (one.strength, one.client, other.strength, other.answer) == (3, {"decide_ms": 5}, None, "equal")


def test_the_answer_does_not_depend_on_the_side():
    poll = poll_rows.poll()
    for _ in range(4):
        poll_rows.vote_for(poll_rows.evaluator(poll), "OpenLoop")
    votes = Vote.objects.select_related("showing")
    assert {vote.answer for vote in votes} == {"second"}
    assert Counter(vote.choice for vote in votes) == {"left": 2, "right": 2}


def test_it_stops_at_n_and_a_late_answer_is_not_counted():
    poll = poll_rows.poll(pairs=2, evaluators_wanted=2)
    late, *others = (poll_rows.evaluator(poll) for _ in range(3))
    assert poll_rows.vote_for(late, "ICPL") == ""
    for person in others:
        assert poll_rows.vote_for(person, "ICPL") == poll_rows.vote_for(person, "ICPL") == ""
    poll.refresh_from_db()
    assert (poll.status, poll.closed_by) == ("closed", "")
    assert poll_rows.vote_for(late, "ICPL") == poll_ballot.TOO_LATE
    assert Vote.objects.count() == 5 and len(poll_results.find_counted_votes(poll)) == 4
    assert poll_results.compute_results(poll).left_out == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_many_at_once_are_exactly_n():
    """Eight people give their last answer at the same moment, twice each; five are wanted."""
    poll = poll_rows.poll(evaluators_wanted=5)
    people = [poll_rows.evaluator(poll) for _ in range(8)]
    tokens = {person.pk: find_current_showing(person).token for person in people}
    gate, said = threading.Barrier(16), []

    def press(person):
        gate.wait(60)
        said.append(cast_vote(person, tokens[person.pk], Answer("left")))
        connection.close()

    threads = [threading.Thread(target=press, args=[person]) for person in people * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(said) == {"": 10, poll_ballot.TOO_LATE: 6}
    assert Vote.objects.count() == 5 and Poll.objects.get().status == "closed"


def test_leaving_deletes_the_answers_while_it_is_open():
    poll = poll_rows.poll(evaluators_wanted=2)
    person, other = poll_rows.evaluator(poll), poll_rows.evaluator(poll)
    poll_rows.vote_for(person, "ICPL")
    assert poll_enrolment.withdraw(person) and not Vote.objects.exists() and lifecycle.count_complete(poll) == 0
    assert poll_rows.vote_for(person, "ICPL") == poll_ballot.OUT_OF_DATE
    poll_rows.vote_for(other, "ICPL")
    lifecycle.close_poll(poll, "ada")
    assert not poll_enrolment.withdraw(other) and Vote.objects.count() == 1
    assert not lifecycle.close_poll(poll, "eve") and Poll.objects.get().closed_by == "ada"
