"""The loop with real rewards, physics, training and films, in this process."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from llm.judges.model import make_question
from llm.messages import format_number
from llm.replay import read_record, replay
from tests.llm.faulty import completion, serving
from tests.webapp.fake_workers import create_experiment, do_work, find_job, start_experiment
from tests.webapp.servers import ROOT, have_ended, processes, wait_for
from trainer import launch
from trainer.checkpoint import load_policy
from trainer.records import WARM, read_progress
from trainer.sac import SimbaPolicy
from webapp.base.store import store
from webapp.bench.experiments import winner_zip
from webapp.experiments import headless, loop, run_folder
from webapp.experiments.models import Candidate, Clip, Experiment, LanguageModel
from webapp.experiments.tasks import run_job

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.usefixtures("short_trainings"),
]

TINY = {"iterations": 3, "worlds": 16}
TINY_SAC = {"iterations": 6, "worlds": 16, "updates": 2, "batch": 32, "learning_starts": 256, "replay": 1000}


def policy_file(index: int) -> str:
    return f"checkpoints/policies/{index}.pt"


class TestReal:
    def test_headless_to_a_replayable_record(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        row = create_experiment(k=2, n=2, overrides=TINY)
        loop.start(row)
        headless.run_to_end(row, lambda said: None)
        assert row.error == "" and row.status == Experiment.Status.FINISHED
        record = headless.save_record(row)
        assert replay(read_record(record)).candidate == row.winner.key
        clips = Clip.objects.filter(candidate__iteration__experiment=row)
        assert {(c.percent, c.status) for c in clips} == {(100, "ready")}
        assert clips.count() == 4 and all(store.size(c.video) > 1000 for c in clips)
        assert all(c.rts is not None and "all" in c.metric_trace for c in Candidate.objects.all())
        assert row.requests.filter(kind="Train").first().run.samples > 0
        assert [len(r.calls.all()) >= 2 for r in row.requests.filter(kind="Write")] == [True, True]
        assert len({(c.request_hash, c.seed) for r in row.requests.all() for c in r.calls.all()}) == sum(
            r.calls.count() for r in row.requests.all()
        )
        assert_the_metric_is_in_no_prompt(row)
        self.run_the_downloaded_winner(row, tmp_path)

    def run_the_downloaded_winner(self, row: Experiment, folder: Path) -> None:
        with zipfile.ZipFile(io.BytesIO(winner_zip.write_zip(row))) as archive:
            archive.extractall(folder)
        (made,) = folder.iterdir()
        assert (made / "reward.py").read_text() == row.winner.source
        command = [sys.executable, str(made / "run.py")]
        said = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True).stdout
        assert said.startswith("Cartpole: mean of the metric over ")

    @pytest.mark.exhaustive
    def test_rda_trains_with_sac_and_goes_on_from_its_best_policy(self) -> None:
        """Subtasks, rewards, training, analysis and reflection: nothing is made up but the small numbers."""
        row = create_experiment(method="rda", preset="quick-sac", k=2, n=2, overrides=TINY_SAC)
        row.full_clean()
        loop.start(row)
        headless.run_to_end(row, lambda said: None)
        assert row.error == "" and row.status == Experiment.Status.FINISHED
        assert replay(read_record(headless.save_record(row))).candidate == row.winner.key
        first, second = row.requests.filter(kind="Train").order_by("step")
        assert "warm" not in first.payload and second.payload["warm"] in ("1-1", "1-2")
        best = int(second.payload["warm"][-1]) - 1
        assert (run_folder.get_folder(second) / WARM).read_bytes() == (
            run_folder.get_folder(first) / policy_file(best)
        ).read_bytes()
        for request in (first, second):
            policy = load_policy(run_folder.get_folder(request) / policy_file(0), "Cartpole")
            assert isinstance(policy.networks, SimbaPolicy)
        assert {(c.status, c.rts is not None) for c in Candidate.objects.all()} == {("trained", True)}
        assert row.requests.filter(kind="Ask").count() == 1 + 2 + 2 + 1  # subtasks, analyses, revised after the first

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("task", ["PushCube", "PlugCharger"])
    def test_rda_shows_three_rollouts_of_every_robot_with_what_their_rewards_were_worth(self, task: str) -> None:
        analysis = "\n".join(f"Subtask {i}\nBehaviour: it stands.\nScore: 1\nReason: none" for i in range(1, 11))
        with serving(lambda body: completion(analysis)) as server:
            eye = LanguageModel.objects.create(name="V", kind="openai", base_url=server.base_url, model="eye")
            options = {"analyst": "frames", "frames": 4}
            row = create_experiment(task=task, method="rda", k=2, n=2, overrides=TINY, options=options, vision=eye)
            loop.start(row)
            headless.run_to_end(row, lambda said: None)
        assert (row.error, row.status) == ("", Experiment.Status.FINISHED)
        assert replay(read_record(headless.save_record(row))).candidate == row.winner.key
        assert [request.payload.get("warm") is None for request in row.requests.filter(kind="Train")] == [True, False]
        scene, *later = [body["messages"][-1]["content"] for body in server.seen]
        assert len(scene) == 1 + 1 and "# Now: list the subtasks" in scene[0]["text"]
        asked = [content for content in later if len(content) == 1 + 4]
        assert len(asked) == 2 * 2 * 3
        texts = [content[0]["text"] for content in asked]
        assert all("- total: " in text and "no pictures" not in text for text in texts)
        assert len({tuple(part["image_url"]["url"] for part in content[1:]) for content in asked}) == 12

    @pytest.mark.usefixtures("kept_trainings")
    def test_a_clip_that_cannot_be_filmed_leaves_the_round_to_be_judged(self) -> None:
        row = start_experiment(judge="human", k=2, n=1, overrides=TINY)
        do_work(row, until="Train")
        run_job(find_job(row, "train").pk)
        folder = run_folder.get_folder(row.requests.get(kind="Train")) / "rollouts"
        rollout, other = folder / "0-100.npz", folder / "1-100.npz"
        good, good_other = rollout.read_bytes(), other.read_bytes()
        rollout.write_bytes(b"broken")
        other.write_bytes(b"broken")
        run_job(find_job(row, "film", percent=100).pk)
        row.refresh_from_db()
        assert row.status == Experiment.Status.FAILED
        assert "None of the clips could be filmed" in row.error and "not a rollout file" in row.error
        other.write_bytes(good_other)
        assert loop.retry(row)
        run_job(find_job(row, "film", percent=100).pk)
        do_work(row)
        broken, fine = Clip.objects.filter(percent=100)
        assert (broken.status, fine.status) == (Clip.Status.FAILED, Clip.Status.READY)
        assert "not a rollout file" in broken.error
        assert loop.find_waiting_request(row).payload["candidates"] == ["1-1", "1-2"]
        rollout.write_bytes(good)
        assert loop.refilm(broken) and not loop.refilm(fine)
        run_job(find_job(row, "film", percent=100).pk)
        broken.refresh_from_db()
        assert broken.status == Clip.Status.READY and store.size(broken.poster)
        assert loop.find_waiting_request(row) is not None

    def test_pausing_and_cancelling_end_the_training_process(self) -> None:
        row = start_experiment(k=2, n=1, overrides={"worlds": 16, "iterations": 100_000})
        do_work(row, until="Train")
        request = row.requests.get(kind="Train")

        def during_training(act: Any) -> None:
            (run_folder.get_folder(request) / "progress.json").unlink(missing_ok=True)

            def watch() -> None:
                wait_for(lambda: read_progress(run_folder.get_folder(request)).phase == "training", "training", 240)
                act(row)
                connection.close()

            thread = threading.Thread(target=watch)
            thread.start()
            run_job(find_job(row, "train").pk)
            thread.join()

        during_training(loop.pause)
        saved = find_job(row, "train")
        assert (saved.status, saved.strikes, saved.owner) == ("queued", 0, "")
        loop.resume(row)
        during_training(loop.cancel)
        assert find_job(row, "train").status == "cancelled"
        ours = {
            pid: command for pid, (_, command) in processes().items() if str(run_folder.get_folder(request)) in command
        }
        wait_for(lambda: have_ended(ours), "the end of the training processes")

    def test_a_training_that_is_killed_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row = start_experiment(k=2, n=1, overrides=TINY)
        do_work(row, until="Train")
        started_runs = []

        def killed(job_dir: Path, job: Any, **options: Any) -> Any:
            process = launch.train(job_dir, job, **options)
            if not started_runs:
                launch.stop(process, timeout=0.0)
            started_runs.append(process.pid)
            return process

        monkeypatch.setattr("webapp.experiments.execute.train.launch", Launcher(killed))
        run_job(find_job(row, "train").pk)
        saved = find_job(row, "train")
        assert (saved.status, saved.strikes) == ("queued", 1) and "ended with status -" in saved.error
        run_job(saved.pk)
        assert find_job(row, "train").status == "done" and len(started_runs) == 2
        assert Candidate.objects.filter(status="trained").count() == 2


def assert_the_metric_is_in_no_prompt(row: Experiment) -> None:
    """Of Cartpole it is how long episodes last, which training traces beside the components."""
    prompts = [m["content"] for r in row.requests.filter(kind__in=["Write", "Ask"]) for m in r.payload["messages"]]
    assert sum("Reward trace:" in prompt for prompt in prompts) == 1  # of the second round
    for judging in row.requests.filter(kind__in=["Judge", "Choose"]):  # as a model would be asked
        asked = make_question(loop.build_judged(judging), loop.describe_task(row), seed=0)
        prompts += [message["content"] for message in asked.ask.messages]
    for candidate in Candidate.objects.all():
        assert candidate.trace["episode_length"]["samples"] == pytest.approx(candidate.metric_trace["samples"])
        told = ", ".join(format_number(v) for v in candidate.metric_trace["samples"])
        assert len(candidate.metric_trace["samples"]) > 1 and not [p for p in prompts if told in p]


class Launcher:
    """trainer.launch with another way to start a training."""

    stop = staticmethod(launch.stop)
    holds_other_job = staticmethod(launch.holds_other_job)

    def __init__(self, train: Any) -> None:
        self.train = train
