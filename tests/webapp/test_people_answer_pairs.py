"""People answer the pairs of a policy in training: who gets which, what counts, what an erasure takes out."""

from __future__ import annotations

import csv
from contextlib import nullcontext
from dataclasses import asdict
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from llm.replay import read_record, replay
from simulation import catalog
from tests.webapp import bench_rows, rows
from tests.webapp.dashboard_pages import html
from tests.webapp.fake_workers import do_work, find_open_requests
from tests.webapp.pair_answers import answer_all, send
from trainer.preferences import exchange
from trainer.preferences.algorithms import Preferences
from webapp import reaper
from webapp.archive import erasure
from webapp.base.store import store
from webapp.experiments import headless, loop, repeating, run_folder
from webapp.experiments import pair_sessions as session_pairs
from webapp.experiments.execute.train import build_job, find_candidates, wait_for_answers
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Job, PairSession, Segment, SegmentPair
from webapp.notices import notifier
from webapp.notices.models import Address, Notice
from webapp.review import pairs
from webapp.review.models import PairScreening
from webapp.studies import assigning, consent, duration, enrolment
from webapp.studies.models import Assignment, Participant, Study
from webapp.studio.presentations import make_lead

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
TINY = {"iterations": 12, "worlds": 16}
PLAN = {"task": "Cartpole", "method": "prefppo", "k": 1, "n": 1}


def start_person(**options: Any) -> Participant:
    return rows.participant(rows.study(**PLAN, options=options))


def add_member(person: Participant, number: int, overlap: int = 1) -> Participant:
    """Another person of the same experiment."""
    arm = person.study.arms.get()
    arm.panel, arm.overlap = 9, overlap
    arm.save()
    now = timezone.now()
    other = Participant.objects.create(study=person.study, label=f"P1{number}", consented_at=now, instructed_at=now)
    Assignment.objects.create(participant=other, arm=arm, experiment=person.experiment)
    return other


def list_tokens(told: dict[str, Any]) -> list[str]:
    return [pair["token"] for pair in told["pairs"]]


def list_answers(session: PairSession) -> list[str]:
    return list(SegmentPair.objects.filter(session=session).values_list("answer", flat=True))


def test_a_training_that_people_answer_stops_for_them_and_has_segments_in_seconds() -> None:
    row = start_person(queries=150, seconds=1.0, truth="metric").experiment
    assert row is not None
    Experiment.objects.filter(pk=row.pk).update(status=Experiment.Status.DRAFT)
    row.refresh_from_db()
    row.full_clean()
    loop.start(row)
    do_work(row, until="Train")
    (request,) = find_open_requests(row)
    job = build_job(row, request, find_candidates(request))
    assert job.sources == (catalog.read_reference_reward("Cartpole"),)
    assert job.preferences == (Preferences("prefppo", 150, "reward", 60, "disagreement", outside=True),)


class TestOnePerson:
    def test_every_pair_is_answered_once_and_the_training_goes_on(self, without_undo: None) -> None:
        person = start_person()
        session = rows.open_pairs(person, pairs=6)
        told = send(person)
        assert (len(told["pairs"]), told["done"], told["total"]) == (pairs.AHEAD, 0, 6)
        assert len(answer_all(person)) == 6
        assert pairs.settle_due_sessions() == 1
        session.refresh_from_db()
        assert session.status == PairSession.Status.ANSWERED
        for pair in session.pairs.all():
            screening = pair.screenings.get()
            assert pair.answer == ("second" if screening.swapped else "first"), "the left one, on whichever side it was"
        job = Job.objects.get(kind=Job.Kind.TRAIN)
        assert job.status == Job.Status.QUEUED and job.experiment.status == Experiment.Status.RUNNING
        assert pairs.settle_due_sessions() == 0
        assert send(person) == {"over": True, "pairs": []}

    def test_a_repeated_or_late_change_changes_nothing(self) -> None:
        person = start_person()
        rows.open_pairs(person)
        token = list_tokens(send(person))[0]
        send(person, (token, "equal"), sequence=100)
        send(person, (token, "equal"), sequence=100)
        send(person, (token, "left"), sequence=99)
        row = PairScreening.objects.get(token=token)
        assert (row.answer, row.changes) == ("equal", 0)

    def test_answers_are_taken_back_until_the_session_is_over(self, settings: Any) -> None:
        settings.UNDO_SECONDS = 60
        person = start_person()
        session = rows.open_pairs(person, pairs=2)
        tokens = answer_all(person, "right")
        assert pairs.settle_due_sessions() == 0, "the last one may still be taken back"
        told = send(person, (tokens[1], ""))
        assert (list_tokens(told), told["done"]) == ([tokens[1]], 1)
        send(person, (tokens[1], "skip"))
        PairScreening.objects.update(answered_at=timezone.now() - timedelta(seconds=61))
        reaper.tick()
        answers = list_answers(session)
        assert sorted(answers)[-1] == "skip" and "" not in answers
        assert PairScreening.objects.get(token=tokens[1]).changes == 1
        send(person, (tokens[0], ""))
        assert list_answers(session) == answers, "too late"

    def test_the_log_counts_one_pair_and_several(self, settings: Any) -> None:
        settings.UNDO_SECONDS = 0
        person = start_person()
        for number, count in ((1, 1), (2, 2)):
            rows.open_pairs(person, pairs=count, session=number)
            answer_all(person)
            pairs.settle_due_sessions()
        said = list(person.experiment.events.filter(kind="answered").order_by("pk").values_list("text", flat=True))
        assert [text.split(", ")[0] for text in said] == ["Session 1: 1 pair", "Session 2: 2 pairs"]

    def test_a_page_that_is_loaded_again_is_told_which_answers_can_be_taken_back(self) -> None:
        person = start_person()
        session = rows.open_pairs(person, pairs=7)
        assert send(person)["given"] == []
        tokens = answer_all(person)
        assert [pair["token"] for pair in send(person)["given"]] == tokens[-4:]
        told = send(person, (tokens[-1], ""), (tokens[-2], ""), (tokens[-2], "left"))
        assert [pair["token"] for pair in told["given"]] == [*tokens[2:5], tokens[-2]]
        PairScreening.objects.filter(pair__session=session, token=tokens[-2]).update(released_at=timezone.now())
        assert tokens[-2] not in [pair["token"] for pair in send(person)["given"]], "others answer it"

    def test_the_time_left_follows_from_the_persons_own_pace(self) -> None:
        person = start_person()
        rows.open_pairs(person, pairs=40)
        told = send(person)
        assert told["left"] == "", "nobody knows yet"
        for _ in range(3):
            told = send(person, (list_tokens(told)[0], "left"))
        assert told["left"] == "about two minutes left", "37 pairs of 2.5 s"

    @pytest.mark.parametrize("state", [{"paused": True}, {"status": Experiment.Status.FAILED}])
    def test_an_answer_that_arrives_in_a_break_is_kept(self, state: dict[str, Any]) -> None:
        person = start_person()
        rows.open_pairs(person)
        tokens = list_tokens(send(person))
        Experiment.objects.update(**state)
        assert send(person, (tokens[0], "left"))["over"]
        Experiment.objects.update(paused=False, status=Experiment.Status.WAITING)
        told = send(person)
        assert told["done"] == 1 and tokens[0] not in list_tokens(told)

    def test_nonsense_is_refused(self) -> None:
        person, stranger = start_person(), "0" * 20
        rows.open_pairs(person)
        address = reverse("pairs", args=[person.token])
        for body in ("", "{}", '{"changes": [{"token": 3}]}', '{"changes": 7}', "\0"):
            assert Client().post(address, body, content_type="application/json").status_code == 400
        told = send(person, (stranger, "left"), (list_tokens(send(person))[0], "up"))
        assert told["done"] == 0

    def test_the_page_shows_the_task_and_nothing_about_what_made_it(self) -> None:
        person = start_person()
        rows.open_pairs(person)
        page = Client().get(person.get_absolute_url()).content.decode()
        assert "Which one does it better?" in page and "A is better" in page
        for word in ("prefppo", "PrefPPO", "reward", "policy", "Round 1"):
            assert word not in page

    def test_both_sides_of_a_pair_are_sent_at_equal_length_and_to_nobody_else(self) -> None:
        person = start_person()
        rows.open_pairs(person, pairs=1)
        (pair,) = send(person)["pairs"]
        sizes = {side: Client().head(pair[side])["Content-Length"] for side in ("left", "right")}
        assert sizes["left"] == sizes["right"]
        assert Client().get(pair["left_still"])["Content-Type"] == "image/jpeg"
        assert Client().get(pair["left"].replace("left", "up")).status_code == 404
        enrolment.withdraw(person)
        assert Client().get(pair["left"]).status_code == 404


class TestSeveralPeople:
    def test_they_share_the_pairs(self, without_undo: None) -> None:
        first = start_person()
        session = rows.open_pairs(first, pairs=10)
        people = [first, *(add_member(first, number) for number in range(2))]
        held = [list_tokens(send(person)) for person in people]
        assert [len(tokens) for tokens in held] == [4, 4, 2] and len(set(sum(held, []))) == 10
        assert PairScreening.objects.values("pair").distinct().count() == 10
        for person, tokens in zip(people, held, strict=True):
            told = send(person, *((token, "left") for token in tokens))
            assert told["pairs"] == []
        assert pairs.settle_due_sessions() == 1 and "" not in list_answers(session)

    def test_with_overlap_each_pair_has_that_many_answers_and_the_majority_counts(self, without_undo: None) -> None:
        first = start_person()
        session = rows.open_pairs(first, pairs=2)
        people = [first, *(add_member(first, number, overlap=3) for number in range(3))]
        given = ["first", "second", "second", ""]
        for person, wanted in zip(people, given, strict=True):
            told = send(person)
            assert len(told["pairs"]) == (2 if wanted else 0), "three are enough"
            for pair in told["pairs"]:
                swapped = PairScreening.objects.get(token=pair["token"]).swapped
                side = "left" if (wanted == "first") != swapped else "right"
                send(person, (pair["token"], side))
        assert pairs.settle_due_sessions() == 1
        assert list_answers(session) == ["second", "second"]

    def test_pairs_of_a_silent_page_go_to_somebody_else_and_come_back_if_nobody_answered(self) -> None:
        first = start_person()
        rows.open_pairs(first, pairs=2)
        other = add_member(first, 1)
        mine = list_tokens(send(first))
        assert list_tokens(send(other)) == []
        PairScreening.objects.update(offered_at=timezone.now() - timedelta(seconds=pairs.HELD_SECONDS + 1))
        theirs = list_tokens(send(other))
        assert len(theirs) == 2 and not set(mine) & set(theirs)
        send(other, (theirs[0], "left"))
        told = send(first, (mine[0], "left"), (mine[1], "right"))
        assert told["done"] == 2, "one of each: the first answer to a pair counts"
        counted = PairScreening.objects.exclude(answer="").filter(released_at=None)
        assert sorted(counted.values_list("token", flat=True)) == sorted([theirs[0], mine[1]])

    def test_who_leaves_frees_their_pairs(self) -> None:
        first = start_person()
        rows.open_pairs(first, pairs=2)
        other = add_member(first, 1)
        send(first)
        enrolment.withdraw(first)
        assert len(send(other)["pairs"]) == 2

    def test_answers_of_an_erased_person_leave_the_next_sessions(self, without_undo: None) -> None:
        first = start_person()
        session = rows.open_pairs(first, pairs=2)
        other = add_member(first, 1)
        tokens = list_tokens(send(first))
        send(first, (tokens[0], "left"))
        PairScreening.objects.filter(token=tokens[1]).update(released_at=timezone.now())
        send(other, (list_tokens(send(other))[0], "equal"))
        assert pairs.settle_due_sessions() == 1
        kept = SegmentPair.objects.get(answer="equal")
        erasure.erase(first)
        assert dict(SegmentPair.objects.filter(session=session).values_list("pk", "answer")) == {
            pair.pk: "equal" if pair == kept else "skip" for pair in session.pairs.all()
        }
        assert not PairScreening.objects.filter(participant=first).exists()

    def test_erased_answers_of_an_open_session_are_asked_again(self) -> None:
        first = start_person()
        rows.open_pairs(first, pairs=1)
        other = add_member(first, 1)
        answer_all(first)
        erasure.erase(first)
        assert len(send(other)["pairs"]) == 1


def test_people_are_told_of_each_session_while_it_lacks_answers(without_undo: None) -> None:
    person = start_person()
    Study.objects.update(notify_email=True)
    Address.objects.create(participant=person, email="ada@example.org")
    rows.open_pairs(person, pairs=1)
    for _ in range(2):
        notifier.plan_notices()
    assert list(Notice.objects.values_list("session", "kind").order_by("kind")) == [(1, "ready"), (1, "reminder")]
    answer_all(person)
    reminder = Notice.objects.get(kind="reminder")
    assert notifier.find_drop_reason(reminder) == "answered already"
    assert pairs.settle_due_sessions() == 1
    rows.open_pairs(person, pairs=1, session=2)
    notifier.plan_notices()
    assert Notice.objects.filter(session=2, kind="ready").count() == 1


def test_a_training_asks_again_and_goes_on_with_all_answers(folders: None, without_undo: None) -> None:
    """Its files without the training."""
    person = start_person()
    first = rows.open_pairs(person, pairs=2)
    request, experiment = first.request, first.request.experiment
    folder = run_folder.get_folder(request)
    folder.mkdir(parents=True)
    asked = [exchange.Queries(number, 4, ((0, 1), (2, 3)), f"digest of session {number}") for number in (1, 2)]
    for queries in asked:
        exchange.write_queries(folder, 0, queries)
    answer_all(person)
    assert pairs.settle_due_sessions() == 1
    lease: Any = SimpleNamespace(settle=lambda: nullcontext(experiment))
    wait_for_answers(lease, request, [])
    second = PairSession.objects.get(number=2)
    session_pairs.open_session(experiment, second)
    assert list_answers(second) == ["", ""]
    second.pairs.update(answer="equal")
    assert session_pairs.end_session(experiment, second)
    session_pairs.write_answers(request, folder)
    written = [exchange.read_answers(folder, 0, queries) for queries in asked]
    assert written == [list_answers(first), ["equal", "equal"]]


def test_the_experiments_page_says_that_people_answer(client: Client) -> None:
    person = start_person(queries=150)
    rows.open_pairs(person)
    client.force_login(bench_rows.create_staff())
    page = html(client.get(reverse("bench:experiment", args=[person.experiment.public_id])))
    assert "150 answers about pairs of segments of 2 s" in page and "people answer, in sessions" in page
    assert "waiting for people to answer pairs" in page and "simulated teacher" not in page


def test_staff_see_the_films_of_the_pairs_that_were_asked(client: Client) -> None:
    person = start_person()
    experiment, asked = person.experiment, rows.open_pairs(person, pairs=2)
    asked.pairs.filter(number=0).update(answer="second")
    first = Iteration.objects.get_or_create(experiment=experiment, number=1)[0]
    Candidate.objects.update_or_create(
        iteration=first, index=1, defaults={"sessions": [asdict(one) for one in bench_rows.SESSIONS]}
    )
    client.force_login(bench_rows.create_staff())
    address = reverse("bench:asked_pairs", args=[experiment.public_id, 1])
    for name, args in (("bench:experiment", []), ("bench:candidate", ["1-1"])):
        page = html(client.get(reverse(name, args=[experiment.public_id, *args])))
        assert page.count(f'href="{address}"') == 1 and "Its number leads to the films of its pairs" in page
    page = html(client.get(address))
    assert "Pair 1: the second is better" in page and "Pair 2: not answered yet" in page
    for segment in asked.segments.all():
        assert (
            reverse("bench:clip", args=[segment.name]) in page and reverse("bench:poster", args=[segment.name]) in page
        )
    assert client.get(reverse("bench:asked_pairs", args=[experiment.public_id, 2])).status_code == 404
    PairSession.objects.update(status=PairSession.Status.FILMING)
    assert client.get(address).status_code == 404


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("short_trainings", "without_undo")
@pytest.mark.parametrize("queries", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_answers_train_a_policy_session_by_session(queries: int) -> None:
    study = rows.study(**PLAN, options={"queries": queries, "seconds": 1.0})
    person = Participant.objects.create(study=study, label="P01")
    enrolment.accept_consent(person)
    enrolment.mark_instructed(person)
    person.refresh_from_db()
    row = person.experiment
    assert row is not None
    Experiment.objects.filter(pk=row.pk).update(overrides=TINY)
    sessions = 0
    while True:
        headless.run_to_end(row, lambda said: None)
        row.refresh_from_db()
        assert row.error == ""
        if row.status != Experiment.Status.WAITING:
            break
        sessions += 1
        assert answer_all(person)
        assert pairs.settle_due_sessions() == 1
    assert row.status == Experiment.Status.FINISHED and sessions == queries
    winner = row.winner
    assert winner is not None and winner.rts is not None
    assert [one["labels"] for one in winner.sessions] == [*range(1, queries + 1)]
    assert replay(read_record(headless.save_record(row))).candidate == winner.key
    assert Clip.objects.get(candidate=winner, percent=100).status == Clip.Status.READY
    assert not any(request.calls.exists() for request in row.requests.all()), "a language model was asked"
    assert repeating.explain_retraining_refusal(row).startswith("Its policy learned its reward from answers")
    segments = Segment.objects.all()
    assert {segment.status for segment in segments} == {Clip.Status.READY}
    assert all(store.size(segment.video) and store.size(segment.poster) for segment in segments)
    run_key = row.requests.get(kind="Train").run_key
    with store.open(f"{run_key}/preferences/0.csv") as file:
        saved = list(csv.DictReader(file.read().decode().splitlines()))
    assert [int(line["asked"]) for line in saved] == [one["asked"] for one in winner.sessions]
    assert not [key for key in store.keys(run_key) if "answers" in key], "no erasure would reach them"
    assert Study.objects.get() == study and assigning.find_members(row).count() == 1
    row.delete()
    assert not [name for name in store.names("clips")]


def test_the_words_before_consent_speak_of_pairs() -> None:
    study = rows.study(**PLAN, panel=7)
    text = consent.write_consent(study)
    assert "two at a time" in text and "There are about 7 pairs." in text
    assert "best and the worst" not in text and "language model" not in text
    assert "two at a time" in make_lead(study.arms.all(), 1)
    assert duration.estimate_judging(study) == [7 * duration.SECONDS_PER_PAIR]


@pytest.mark.parametrize(
    ("answers", "pooled"),
    [
        (["equal", "equal", "first"], "equal"),
        (["first", "second", "second"], "second"),
        (["first", "second", "equal"], "equal"),
        (["skip", "first", "skip"], "first"),
        (["skip", "skip"], "skip"),
        ([], "skip"),
    ],
)
def test_several_answers_become_the_most_frequent(answers: list[str], pooled: str) -> None:
    assert pairs.pool(answers) == pooled
