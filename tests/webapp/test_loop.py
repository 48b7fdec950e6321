from __future__ import annotations

import errno
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection

from llm.replay import read_record, replay
from tests.llm.faulty import completion, failure, serving
from tests.webapp.loops import SOURCE, advance, experiment, finish, job, open_requests, pick, play
from tests.webapp.servers import gone, processes, wait_for
from trainer import launch
from trainer.records import read_progress
from webapp.experiments import execute, headless, loop, progress, reaper
from webapp.experiments.models import Candidate, Clip, Experiment, Job, LanguageModel, Request
from webapp.experiments.tasks import run_job

pytestmark = pytest.mark.django_db(transaction=True)

TINY = {"iterations": 3, "worlds": 16}


def started(**values: Any) -> Experiment:
    row = experiment(**values)
    loop.start(row)
    return row


class TestPlayed:
    """The loop alone: results come as they would from workers."""

    def test_a_proxy_carries_it_to_the_winner(self) -> None:
        row = started(n=3)
        play(row)
        assert row.status == Experiment.Status.FINISHED
        assert [i.best.key for i in row.iterations.all()] == ["1-3", "2-3", "3-3"]
        assert [i.worst.key for i in row.iterations.all()] == ["1-1", "2-1", "3-1"]
        assert row.winner is not None and row.winner.key == "3-3"
        assert [i.difference != "" for i in row.iterations.all()] == [False, True, False]
        assert row.iterations.get(number=2).candidates.first().parent.key == "1-3"

    def test_starting_twice_starts_once(self) -> None:
        row = experiment()
        assert loop.start(row)
        assert not loop.start(row)
        assert row.jobs.count() == row.events.filter(kind="started").count() == 1

    def test_advancing_again_changes_nothing(self) -> None:
        row = started()
        advance(row)
        before = list(row.requests.values()), list(row.jobs.values("id", "kind", "status"))
        advance(row)
        advance(row)
        assert (list(row.requests.values()), list(row.jobs.values("id", "kind", "status"))) == before

    def test_a_person_is_waited_for(self) -> None:
        row = started(judge="human")
        play(row)
        request = loop.waiting_request(row)
        assert row.status == Experiment.Status.WAITING
        assert (
            request is not None and request.kind == "Judge" and request.payload["candidates"] == ["1-1", "1-2", "1-3"]
        )
        assert progress.of(row).phase == "judging"
        assert loop.answer(request.pk, pick("1-2", "1-3", "it stands still"))
        play(row)
        assert row.iterations.get(number=1).reason == "it stands still"
        assert "it stands still" in str(row.requests.filter(kind="Write").last().payload["messages"])
        assert loop.answer(loop.waiting_request(row).pk, pick("2-1", "2-2"))
        play(row)
        final = loop.waiting_request(row)
        assert final.kind == "Choose" and final.payload["candidates"] == ["1-2", "2-1"]
        assert progress.of(row).phase == "choosing"
        assert loop.answer(final.pk, "1-2")
        play(row)
        assert (row.status, row.winner.key, loop.waiting_request(row)) == ("finished", "1-2", None)

    def test_a_judge_is_heard_once(self) -> None:
        row = started(judge="human")
        play(row)
        request = loop.waiting_request(row)

        def attempt(number: int) -> bool:
            try:
                return loop.answer(request.pk, pick(f"1-{number % 3 + 1}", None))
            finally:
                connection.close()

        with ThreadPoolExecutor(6) as pool:
            heard = list(pool.map(attempt, range(12)))
        assert sum(heard) == 1
        request.refresh_from_db()
        assert request.result["best"] == f"1-{heard.index(True) % 3 + 1}"
        assert not loop.answer(request.pk, pick("1-1", "1-2"))

    def test_an_answer_names_what_was_shown(self) -> None:
        row = started(judge="human")
        play(row, failed=(1,))
        request = loop.waiting_request(row)
        with pytest.raises(ValueError, match="'1-2' was not shown"):
            loop.answer(request.pk, pick("1-2", "1-1"))
        with pytest.raises(ValueError, match="does not answer a Train"):
            loop.answer(row.requests.get(kind="Train").pk, [])
        request.refresh_from_db()
        assert request.status == Request.Status.OPEN

    def test_nobody_is_asked_where_there_is_no_choice(self) -> None:
        row = started(judge="human", k=2, n=1)
        play(row, failed=(0,))
        assert row.status == Experiment.Status.FINISHED
        assert (row.winner.key, row.iterations.get().worst) == ("1-2", None)

    def test_a_round_without_a_policy_stops_with_its_reason(self) -> None:
        row = started()
        play(row, failed=(0, 1, 2))
        assert row.status == Experiment.Status.FAILED
        assert "none of the 3 candidates could be trained" in row.error and "it produced NaN" in row.error

    def test_a_task_without_metric_needs_a_person(self) -> None:
        row = started(task="HumanoidJump", judge="proxy")
        play(row)
        if row.status == Experiment.Status.RUNNING:  # the player gave it scores: take them away as the trainer would
            pytest.fail("the proxy judged")
        assert row.task_info.metric is None

    def test_changed_settings_stop_it_instead_of_going_on_wrongly(self) -> None:
        row = started()
        play(row, until="Train")
        Experiment.objects.filter(pk=row.pk).update(seed=99)
        row.refresh_from_db()
        advance(row)
        assert row.status == Experiment.Status.FAILED
        assert "the method now asks something else than was saved" in row.error
        assert row.requests.get(kind="Write").status == Request.Status.DONE
        Experiment.objects.filter(pk=row.pk).update(seed=0)
        assert loop.retry(row)
        play(row)
        assert row.status == Experiment.Status.FINISHED

    def test_an_open_request_is_compared_too(self) -> None:
        row = started()
        advance(row)
        Experiment.objects.filter(pk=row.pk).update(k=4)
        row.refresh_from_db()
        advance(row)
        assert "than the open request" in row.error

    def test_an_unknown_method_stops_it_naming_the_known(self) -> None:
        row = started(method="magic")
        advance(row)
        assert row.status == Experiment.Status.FAILED
        assert "unknown method 'magic'; known: eureka, icpl" in row.error

    def test_an_unknown_task_stops_it_naming_the_known(self) -> None:
        row = started(task="Unicycle")
        advance(row)
        assert "unknown task 'Unicycle'; robots: " in row.error


class TestControls:
    def test_pause_and_resume(self) -> None:
        row = started()
        assert loop.pause(row) and not loop.pause(row)
        assert row.paused and progress.of(row).phase == "paused"
        assert not execute.run(job(row, "advance").pk)
        reaper.tick()
        assert row.jobs.count() == 1
        assert loop.resume(row) and not loop.resume(row)
        assert execute.run(job(row, "advance").pk)

    def test_a_person_may_answer_during_a_pause(self) -> None:
        row = started(judge="human")
        play(row)
        loop.pause(row)
        assert loop.answer(loop.waiting_request(row).pk, pick("1-1", "1-2"))
        loop.resume(row)
        play(row)
        assert row.iterations.count() == 2

    def test_cancel_is_for_good(self) -> None:
        row = started(judge="human")
        play(row)
        request = loop.waiting_request(row)
        assert loop.cancel(row) and not loop.cancel(row)
        assert not loop.answer(request.pk, pick("1-1", "1-2"))
        assert loop.waiting_request(row) is None
        assert not loop.retry(row) and not loop.pause(row) and not loop.start(row)
        assert progress.of(row).phase == "cancelled"
        assert not row.jobs.filter(status__in=("queued", "running")).exists()

    def test_only_a_failure_can_be_retried(self) -> None:
        assert not loop.retry(started())

    def test_what_stands_still_is_set_going(self) -> None:
        row = started()
        row.jobs.all().delete()
        reaper.tick()
        reaper.tick()
        assert [j.kind for j in row.jobs.all()] == ["advance"]


class TestProgress:
    def test_it_names_each_phase(self) -> None:
        row = experiment(k=2, n=1)
        phases = [progress.of(row).phase]
        loop.start(row)
        advance(row)
        phases.append(progress.of(row).phase)
        finish(row, open_requests(row)[0])
        advance(row)
        phases.append(progress.of(row).phase)
        play(row)
        phases.append(progress.of(row).phase)
        assert phases == ["draft", "writing", "training", "finished"]

    def test_time_left_is_unknown_before_anything_was_measured(self) -> None:
        row = started()
        advance(row)
        assert progress.of(row).seconds_left is None
        assert progress.of(row).fraction == 0

    def test_time_left_is_unknown_behind_another_training(self) -> None:
        play(started())
        ahead, behind = started(), started()
        for row in (ahead, behind):
            play(row, until="Train")
        assert progress.of(ahead).seconds_left is not None
        assert progress.of(behind).seconds_left is None
        loop.cancel(ahead)
        assert progress.of(behind).seconds_left is not None

    def test_time_left_comes_from_earlier_rounds_and_the_trainer(self) -> None:
        play(started())
        row = started()
        play(row, until="Train")
        Job.objects.filter(pk=job(row, "train").pk).update(
            status="running", progress={"fraction": 0.5, "seconds_left": 100.0, "candidates": []}
        )
        state = progress.of(row)
        assert state.phase == "training" and 0 < state.fraction < 1
        assert state.seconds_left is not None and state.seconds_left >= 100


class TestReal:
    """The same with real rewards, physics, training and films, in this process."""

    def test_headless_to_a_replayable_record(self, capsys: pytest.CaptureFixture[str]) -> None:
        row = experiment(k=2, n=2, overrides=TINY)
        loop.start(row)
        headless.drive(row, lambda said: None)
        assert row.error == "" and row.status == Experiment.Status.FINISHED
        record = headless.save_record(row)
        assert replay(read_record(record)).candidate == row.winner.key
        clips = Clip.objects.filter(candidate__iteration__experiment=row)
        assert {(c.percent, c.status) for c in clips} == {(100, "ready")}
        assert clips.count() == 4 and all(default_storage.size(c.video) > 1000 for c in clips)
        assert all(c.rts is not None and "all" in c.metric_trace for c in Candidate.objects.all())
        assert row.requests.filter(kind="Train").first().run.samples > 0
        assert [len(r.calls.all()) >= 2 for r in row.requests.filter(kind="Write")] == [True, True]
        assert len({(c.request_hash, c.seed) for r in row.requests.all() for c in r.calls.all()}) == sum(
            r.calls.count() for r in row.requests.all()
        )

    def test_a_clip_that_cannot_be_filmed_leaves_the_round_to_be_judged(self) -> None:
        row = started(judge="human", k=2, n=1, overrides=TINY)
        play(row, until="Train")
        run_job(job(row, "train").pk)
        folder = row.requests.get(kind="Train").run_dir / "rollouts"
        rollout, other = folder / "0-100.npz", folder / "1-100.npz"
        good, good_other = rollout.read_bytes(), other.read_bytes()
        rollout.write_bytes(b"broken")
        other.write_bytes(b"broken")
        run_job(job(row, "film", percent=100).pk)
        row.refresh_from_db()
        assert row.status == Experiment.Status.FAILED
        assert "None of the clips could be filmed" in row.error and "not a rollout file" in row.error
        other.write_bytes(good_other)
        assert loop.retry(row)
        run_job(job(row, "film", percent=100).pk)
        play(row)
        broken, fine = Clip.objects.filter(percent=100)
        assert (broken.status, fine.status) == (Clip.Status.FAILED, Clip.Status.READY)
        assert "not a rollout file" in broken.error
        assert [c.clip_failed for c in progress.of(row).candidates] == [True, False]
        assert loop.waiting_request(row).payload["candidates"] == ["1-1", "1-2"]
        rollout.write_bytes(good)
        assert loop.refilm(broken) and not loop.refilm(fine)
        run_job(job(row, "film", percent=100).pk)
        broken.refresh_from_db()
        assert broken.status == Clip.Status.READY and default_storage.exists(broken.poster)
        assert loop.waiting_request(row) is not None

    def test_pausing_and_cancelling_end_the_training_process(self) -> None:
        row = started(k=2, n=1, overrides={"worlds": 16, "iterations": 100_000})
        play(row, until="Train")
        request = row.requests.get(kind="Train")

        def during_training(act: Any) -> None:
            (request.run_dir / "progress.json").unlink(missing_ok=True)

            def watch() -> None:
                wait_for(lambda: read_progress(request.run_dir).phase == "training", "training", 240)
                act(row)
                connection.close()

            thread = threading.Thread(target=watch)
            thread.start()
            run_job(job(row, "train").pk)
            thread.join()

        during_training(loop.pause)
        saved = job(row, "train")
        assert (saved.status, saved.strikes, saved.owner) == ("queued", 0, "")
        loop.resume(row)
        during_training(loop.cancel)
        assert job(row, "train").status == "cancelled"
        ours = {pid: command for pid, (_, command) in processes().items() if str(request.run_dir) in command}
        wait_for(lambda: gone(ours), "the end of the training processes")

    def test_a_training_that_is_killed_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row = started(k=2, n=1, overrides=TINY)
        play(row, until="Train")
        started_runs = []

        def killed(job_dir: Path, job: Any, **options: Any) -> Any:
            process = launch.train(job_dir, job, **options)
            if not started_runs:
                launch.stop(process, timeout=0.0)
            started_runs.append(process.pid)
            return process

        monkeypatch.setattr("webapp.experiments.execute.train.launch", Launcher(killed))
        run_job(job(row, "train").pk)
        saved = job(row, "train")
        assert (saved.status, saved.strikes) == ("queued", 1) and "ended with status -" in saved.error
        run_job(saved.pk)
        assert job(row, "train").status == "done" and len(started_runs) == 2
        assert Candidate.objects.filter(status="trained").count() == 2


class Launcher:
    """trainer.launch with another way to start a training."""

    stop = staticmethod(launch.stop)

    def __init__(self, train: Any) -> None:
        self.train = train


class TestEndpoint:
    """Writing through a real HTTP endpoint that misbehaves."""

    def run(self, monkeypatch: pytest.MonkeyPatch, script: Any) -> tuple[Experiment, list[dict[str, Any]]]:
        with serving(script) as server:
            monkeypatch.setattr(settings, "API_KEY", "sk-very-secret-key")
            monkeypatch.setattr(settings, "MODEL_BASE_URL", server.base_url)
            model, _ = LanguageModel.objects.update_or_create(
                name="m", defaults={"kind": "openai", "base_url": server.base_url, "model": "m-1"}
            )
            row = Experiment.objects.first()
            if row is None:
                row = started(k=2, n=1, model=model)
                advance(row)
            run_job(job(row, "write").pk)
            row.refresh_from_db()
            return row, server.seen

    @pytest.mark.parametrize(
        ("answer", "advice"),
        [
            (failure(401, "bad key sk-very-secret-key"), "refuses the API key. Check the key"),
            (failure(404, "no such model"), "knows no model 'm-1'"),
            ((200, "<html>nginx</html>"), "Check the address"),
            ((200, {"choices": []}), "without any choices"),
            (completion("def compute_rew", finish="length"), "raise the token limit"),
            (completion(""), "the answer is empty"),
            (completion("I would rather not."), "no Python function compute_reward"),
        ],
    )
    def test_a_refusal_says_what_to_do(self, monkeypatch: pytest.MonkeyPatch, answer: Any, advice: str) -> None:
        row, _ = self.run(monkeypatch, lambda body: answer)
        assert row.status == Experiment.Status.FAILED
        assert advice in row.error and "sk-very" not in row.error
        request = row.requests.get()
        assert (request.status, request.error) == ("failed", row.error)
        assert loop.retry(row)
        row, _ = self.run(
            monkeypatch, lambda body: completion(f"```python{SOURCE.format(weight=body['seed'] % 97)}```")
        )
        request.refresh_from_db()
        assert (request.status, row.status) == ("done", "running")
        assert Candidate.objects.count() == 2

    def test_what_was_paid_for_is_not_bought_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The second of two answers fails for good; after a retry only that one is asked for."""
        seeds: list[int] = []

        def script(body: dict[str, Any]) -> Any:
            seeds.append(body["seed"])
            if body["seed"] == max(seeds) and not recovered:
                return failure(401, "expired")
            return completion(f"```python{SOURCE.format(weight=body['seed'] % 97)}```")

        recovered = False
        row = started(k=2, n=1)
        advance(row)
        seed = row.requests.get().payload["seed"]
        seeds.append(seed + 1)
        Experiment.objects.update(
            model=LanguageModel.objects.create(name="m", kind="openai", base_url="x", model="m-1")
        )
        row, seen = self.run(monkeypatch, script)
        assert row.status == Experiment.Status.FAILED
        assert [c.seed for c in row.requests.get().calls.all()] == [seed]
        recovered = True
        loop.retry(row)
        row, seen = self.run(monkeypatch, script)
        assert row.requests.get().status == "done" and Candidate.objects.count() == 2
        assert [body["seed"] for body in seen] == [seed + 1]
        assert [c.seed for c in row.requests.get().calls.all()] == [seed, seed + 1]


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--task", "Unicycle"], "unknown task 'Unicycle'; robots: "),
            (["--method", "magic"], "unknown method 'magic'; known: eureka, icpl"),
            (["--preset", "huge"], "unknown preset 'huge'"),
            (["--model", "gpt-9"], "unknown language model 'gpt-9'; known: offline"),
            (["--task", "HumanoidJump"], "only a person can judge it"),
            (["--judge", "human"], "in the browser"),
            (["--judge", "oracle"], "judge: "),
            (["--k", "1"], "k: ICPL needs at least 2"),
            (["--option", "reasons=maybe"], "options: option reasons: 'maybe' is not true or false"),
            (["--option", "reasons"], "'reasons' is not an option: write it as name=value"),
            (["--judge-option", "beta=x"], "judge_options: option beta: 'x' is not a number"),
            (["--vision", "eye"], "unknown language model 'eye'"),
            (["--dollar-budget", "-1"], "dollar_budget: "),
            (["--iterations", "0"], "--iterations must be between"),
            (["--resume", "nonsense"], "there is no experiment nonsense"),
        ],
    )
    def test_a_mistake_is_named_and_nothing_is_created(self, arguments: list[str], message: str) -> None:
        with pytest.raises(CommandError, match="(?s).*" + message.replace("(", r"\(")):
            call_command("run_experiment", *arguments)
        assert not Experiment.objects.exists()

    def test_a_full_disk_is_said_with_how_to_go_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(headless, "drive", full)
        with pytest.raises(CommandError, match="No space left on device\nGo on with: ./prefine run --resume"):
            call_command("run_experiment", task="Cartpole")

    def test_demonstration_studies_are_created_once(self) -> None:
        from webapp.studies.models import Study

        call_command("demonstration")
        call_command("demonstration")
        studies = Study.objects.filter(demonstration=True, status="open")
        plans = {(arm.task, arm.k, arm.n) for study in studies for arm in study.arms.all()}
        assert plans == {("Ant", 6, 3), ("Cartpole", 6, 2)}
        for study in studies:
            study.full_clean()
            study.arms.get().full_clean()
            assert "withdraw" in study.consent_text

    def test_a_demonstration_that_was_taken_from_the_home_page_stays_away(self) -> None:
        from webapp.studies.models import Study

        call_command("demonstration")
        Study.objects.update(demonstration=False)
        call_command("demonstration")
        assert not Study.objects.filter(demonstration=True).exists()
