"""The loop alone: results come as they would from workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from llm.replay import Saved
from tests.webapp.fake_workers import (
    advance,
    create_experiment,
    do_work,
    find_job,
    find_open_requests,
    finish_request,
    make_pick,
    start_experiment,
)
from webapp import reaper
from webapp.experiments import execute, leases, loop, progress, request_results, revisions
from webapp.experiments.management.commands.run_experiment import format_status
from webapp.experiments.models import Experiment, Job, Request

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def finish_until_asked(row: Experiment) -> None:
    """As workers would, until a model is asked about the first round."""
    while not row.requests.filter(kind="Train", status="done").exists():
        advance(row)
        for request in find_open_requests(row):
            finish_request(row, request)
    advance(row)


class TestPlayed:
    """The loop alone: results come as they would from workers."""

    @pytest.mark.slow
    def test_a_proxy_carries_it_to_the_winner(self) -> None:
        row = start_experiment(n=3)
        do_work(row)
        assert row.status == Experiment.Status.FINISHED
        assert [i.best.key for i in row.iterations.all()] == ["1-3", "2-3", "3-3"]
        assert [i.worst.key for i in row.iterations.all()] == ["1-1", "2-1", "3-1"]
        assert row.winner is not None and row.winner.key == "3-3"
        assert [i.difference != "" for i in row.iterations.all()] == [False, True, False]
        assert row.iterations.get(number=2).candidates.first().parent.key == "1-3"

    def test_prompts_are_read_again_only_where_todays_words_differ(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []
        read = revisions.MeaningReader.read

        def note(reader: revisions.MeaningReader, saved: Saved) -> dict[str, Any]:
            asked.append(saved.kind)
            return read(reader, saved)

        monkeypatch.setattr(revisions.MeaningReader, "read", note)
        row = start_experiment(n=2)
        do_work(row, until="Train")
        assert asked == []
        row.requests.filter(kind="Write").update(fingerprint="of other words")
        advance(row)
        assert asked == ["Write"] and row.status == Experiment.Status.RUNNING

    def test_starting_twice_starts_once(self) -> None:
        row = create_experiment()
        assert loop.start(row)
        assert not loop.start(row)
        assert row.jobs.count() == row.events.filter(kind="started").count() == 1

    def test_advancing_again_changes_nothing(self) -> None:
        row = start_experiment()
        advance(row)
        before = list(row.requests.values()), list(row.jobs.values("id", "kind", "status"))
        advance(row)
        advance(row)
        assert (list(row.requests.values()), list(row.jobs.values("id", "kind", "status"))) == before

    @pytest.mark.slow
    def test_an_open_request_of_an_earlier_version_learns_what_its_prompt_can_do_without(self) -> None:
        row = start_experiment(n=3)
        do_work(row, until="Write")
        for _ in range(2):
            finish_request(row, *find_open_requests(row))
            do_work(row, until="Write")
        [write] = find_open_requests(row)
        kept = write.payload.pop("optional")
        write.save()
        advance(row)
        write.refresh_from_db()
        assert write.payload["optional"] == kept and len(kept) == 1

    @pytest.mark.slow
    def test_a_person_is_waited_for(self) -> None:
        row = start_experiment(judge="human")
        do_work(row)
        request = loop.find_waiting_request(row)
        assert row.status == Experiment.Status.WAITING
        assert (
            request is not None and request.kind == "Judge" and request.payload["candidates"] == ["1-1", "1-2", "1-3"]
        )
        assert progress.read_progress(row).phase == "judging"
        assert loop.answer(request.pk, make_pick("1-2", "1-3", "it stands still"))
        do_work(row)
        assert row.iterations.get(number=1).reason == "it stands still"
        assert "it stands still" in str(row.requests.filter(kind="Write").last().payload["messages"])
        assert loop.answer(loop.find_waiting_request(row).pk, make_pick("2-1", "2-2"))
        do_work(row)
        final = loop.find_waiting_request(row)
        assert final.kind == "Choose" and final.payload["candidates"] == ["1-2", "2-1"]
        assert progress.read_progress(row).phase == "choosing"
        assert loop.answer(final.pk, "1-2")
        do_work(row)
        assert (row.status, row.winner.key, loop.find_waiting_request(row)) == ("finished", "1-2", None)

    @pytest.mark.slow
    def test_a_judge_is_heard_once(self) -> None:
        row = start_experiment(judge="human")
        do_work(row)
        request = loop.find_waiting_request(row)

        def attempt(number: int) -> bool:
            try:
                return loop.answer(request.pk, make_pick(f"1-{number % 3 + 1}", None))
            finally:
                connection.close()

        with ThreadPoolExecutor(6) as pool:
            heard = list(pool.map(attempt, range(12)))
        assert sum(heard) == 1
        request.refresh_from_db()
        assert request.result["best"] == f"1-{heard.index(True) % 3 + 1}"
        assert not loop.answer(request.pk, make_pick("1-1", "1-2"))

    def test_an_answer_names_what_was_shown(self) -> None:
        row = start_experiment(judge="human")
        do_work(row, failed=(1,))
        request = loop.find_waiting_request(row)
        with pytest.raises(ValueError, match="'1-2' was not shown"):
            loop.answer(request.pk, make_pick("1-2", "1-1"))
        with pytest.raises(ValueError, match="does not answer a Train"):
            loop.answer(row.requests.get(kind="Train").pk, [])
        request.refresh_from_db()
        assert request.status == Request.Status.OPEN

    def test_nobody_is_asked_where_there_is_no_choice(self) -> None:
        row = start_experiment(judge="human", k=2, n=1)
        do_work(row, failed=(0,))
        assert row.status == Experiment.Status.FINISHED
        assert (row.winner.key, row.iterations.get().worst) == ("1-2", None)

    def test_a_round_without_a_policy_stops_with_its_reason(self) -> None:
        row = start_experiment()
        do_work(row, failed=(0, 1, 2))
        assert row.status == Experiment.Status.FAILED
        assert "none of the 3 candidates could be trained" in row.error and "it produced NaN" in row.error

    @pytest.mark.slow
    def test_a_task_without_metric_needs_a_person(self) -> None:
        row = start_experiment(task="HumanoidJump", judge="proxy")
        do_work(row)
        if row.status == Experiment.Status.RUNNING:  # the player gave it scores: take them away as the trainer would
            pytest.fail("the proxy judged")
        assert row.task_info.metric is None

    @pytest.mark.slow
    def test_changed_settings_stop_it_instead_of_going_on_wrongly(self) -> None:
        row = start_experiment()
        do_work(row, until="Train")
        Experiment.objects.filter(pk=row.pk).update(k=4)
        row.refresh_from_db()
        advance(row)
        assert row.status == Experiment.Status.FAILED
        assert "step 0 (Write): the method now asks something else than was saved: count 4, saved 3" in row.error
        assert row.requests.get(kind="Write").status == Request.Status.DONE
        Experiment.objects.filter(pk=row.pk).update(k=3)
        assert loop.retry(row)
        do_work(row)
        assert row.status == Experiment.Status.FINISHED

    def test_an_open_request_is_compared_too(self) -> None:
        row = start_experiment()
        advance(row)
        Experiment.objects.filter(pk=row.pk).update(k=4)
        row.refresh_from_db()
        advance(row)
        assert "the method asks for Write, but the open request is Write: count 4, saved 3" in row.error

    def test_an_unknown_method_stops_it_naming_the_known(self) -> None:
        row = start_experiment(method="magic")
        advance(row)
        assert row.status == Experiment.Status.FAILED
        assert "unknown method 'magic'; known: eureka, icpl" in row.error

    def test_an_unknown_task_stops_it_naming_the_known(self) -> None:
        row = start_experiment(task="Unicycle")
        advance(row)
        assert "unknown task 'Unicycle'; robots: " in row.error


class TestControls:
    def test_pause_and_resume(self) -> None:
        row = start_experiment()
        assert loop.pause(row) and not loop.pause(row)
        assert row.paused and progress.read_progress(row).phase == "paused"
        assert not execute.run_job(find_job(row, "advance").pk)
        reaper.tick()
        assert row.jobs.count() == 1
        assert loop.resume(row) and not loop.resume(row)
        assert execute.run_job(find_job(row, "advance").pk)

    @pytest.mark.slow
    def test_a_person_may_answer_during_a_pause(self) -> None:
        row = start_experiment(judge="human")
        do_work(row)
        loop.pause(row)
        assert loop.answer(loop.find_waiting_request(row).pk, make_pick("1-1", "1-2"))
        loop.resume(row)
        do_work(row)
        assert row.iterations.count() == 2

    def test_cancel_is_for_good(self) -> None:
        row = start_experiment(judge="human")
        do_work(row)
        request = loop.find_waiting_request(row)
        assert loop.cancel(row) and not loop.cancel(row)
        assert not loop.answer(request.pk, make_pick("1-1", "1-2"))
        assert loop.find_waiting_request(row) is None
        assert not loop.retry(row) and not loop.pause(row) and not loop.start(row)
        assert progress.read_progress(row).phase == "cancelled"
        assert not row.jobs.filter(status__in=("queued", "running")).exists()

    def test_only_a_failure_can_be_retried(self) -> None:
        assert not loop.retry(start_experiment())

    def test_what_stands_still_is_set_going(self) -> None:
        row = start_experiment()
        row.jobs.all().delete()
        reaper.tick()
        reaper.tick()
        assert [j.kind for j in row.jobs.all()] == ["advance"]

    def test_what_is_deleted_meanwhile_stops_no_reaper(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gone, other = start_experiment(), start_experiment()
        held = find_job(gone, "advance")
        other.jobs.all().delete()
        seen = [gone, *loop.find_idle()]
        with monkeypatch.context() as patched:
            patched.setattr(loop, "find_idle", lambda: seen)
            gone.delete()
            reaper.tick()
        leases.count_strike(held, "the worker disappeared")
        reaper.tick()
        assert [j.kind for j in other.jobs.all()] == ["advance"]


class TestProgress:
    @pytest.mark.slow
    def test_it_names_each_phase(self) -> None:
        row = create_experiment(k=2, n=1)
        phases = [progress.read_progress(row).phase]
        loop.start(row)
        advance(row)
        phases.append(progress.read_progress(row).phase)
        finish_request(row, find_open_requests(row)[0])
        advance(row)
        phases.append(progress.read_progress(row).phase)
        do_work(row)
        phases.append(progress.read_progress(row).phase)
        assert phases == ["draft", "writing", "training", "finished"]

    def test_time_left_is_unknown_before_anything_was_measured(self) -> None:
        row = start_experiment()
        advance(row)
        assert progress.read_progress(row).seconds_left is None
        assert progress.read_progress(row).fraction == 0

    @pytest.mark.slow
    def test_behind_another_training_the_time_left_holds_that_too(self) -> None:
        earlier = start_experiment()
        do_work(earlier)
        earlier.jobs.filter(kind="train").update(started_at=NOON, finished_at=NOON + timedelta(seconds=90))
        ahead, behind = start_experiment(), start_experiment()
        for row in (ahead, behind):
            do_work(row, until="Train")
        alone, together = progress.read_progress(ahead), progress.read_progress(behind)
        assert alone.seconds_left == pytest.approx(90, abs=1) and not alone.in_line
        assert together.seconds_left == pytest.approx(180, abs=1) and together.in_line
        loop.cancel(ahead)
        assert progress.read_progress(behind).seconds_left == pytest.approx(90, abs=1)

    @pytest.mark.slow
    def test_time_left_comes_from_earlier_rounds_and_the_trainer(self) -> None:
        do_work(start_experiment())
        row = start_experiment()
        do_work(row, until="Train")
        Job.objects.filter(pk=find_job(row, "train").pk).update(
            status="running", progress={"fraction": 0.5, "seconds_left": 100.0, "candidates": []}
        )
        state = progress.read_progress(row)
        assert state.phase == "training" and 0 < state.fraction < 1
        assert state.seconds_left is not None and state.seconds_left >= 100

    def test_what_is_asked_after_a_training_is_a_step_of_its_own(self) -> None:
        row = start_experiment(judge="model", n=1)
        do_work(row)
        state = progress.read_progress(row)
        assert (state.phase, state.fraction, state.seconds_left) == ("asking", 1.0, None), "never asked before"

    @pytest.mark.slow
    def test_of_the_last_choice_only_the_asking_is_left(self) -> None:
        do_work(start_experiment())
        row = start_experiment(judge="model")
        for best in ("1-2", "2-2"):
            do_work(row)
            lease = leases.claim(find_open_requests(row)[0].jobs.get().pk)
            assert lease is not None
            with lease, lease.settle():
                request_results.complete(find_open_requests(row)[0], make_pick(best, None))
        moment = progress.read_progress(row)
        assert (moment.phase, moment.fraction, moment.seconds_left) == ("asking", 1.0, None)
        do_work(row)
        assert find_open_requests(row)[0].kind == "Choose"
        took = row.jobs.filter(kind="ask", status="done")
        took.update(started_at=NOON, finished_at=NOON + timedelta(seconds=8))
        state = progress.read_progress(row)
        assert (state.phase, state.iteration, state.fraction, state.seconds_left) == ("asking", 2, 1.0, 8.0)
        assert format_status(state, {}) == "round 2/2  asking   100%  8 s left to ask"

    @pytest.mark.slow
    def test_questions_of_one_step_are_asked_one_after_another(self) -> None:
        earlier, row = start_experiment(method="rda"), start_experiment(method="rda")
        do_work(row, until="Ask")
        assert progress.read_progress(row).phase == "writing", "the subtasks come before any training"
        for one in (earlier, row):
            finish_until_asked(one)
        finish_request(earlier, find_open_requests(earlier)[0])
        asked = Job.objects.filter(kind="ask", status="done")
        asked.update(started_at=NOON, finished_at=NOON + timedelta(seconds=8))
        Job.objects.filter(experiment=earlier, status="queued").delete()
        assert len(find_open_requests(row)) == 3
        assert (progress.read_progress(row).phase, progress.read_progress(row).seconds_left) == ("asking", 24.0)

    @pytest.mark.slow
    def test_what_is_asked_after_a_persons_pick_is_for_the_next_round(self) -> None:
        row = start_experiment(judge="human", n=3)
        do_work(row)
        assert progress.read_progress(row).phase == "judging"
        loop.answer(loop.find_waiting_request(row).pk, make_pick("1-1", None))
        do_work(row)
        loop.answer(loop.find_waiting_request(row).pk, make_pick("2-1", None))
        do_work(row, until="Ask")
        assert find_open_requests(row)[0].kind == "Ask"
        state = progress.read_progress(row)
        assert state.phase == "writing" and state.fraction == 0
