"""What vision models are shown: moments of films, the robot in its scene; and what happens where there are none."""

from __future__ import annotations

import base64
import json
import subprocess
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from django.conf import settings
from django.template.loader import render_to_string

from llm.records import Ask, Look, Train, Write
from simulation import catalog
from simulation.rollout import write_rollout
from tests.llm.faulty import completion, serving
from tests.webapp.fake_workers import advance, create_experiment, do_work, start_experiment
from tests.webapp.request_answers import TALK, do_request
from trainer.records import get_rollout_path
from webapp.base.store import store
from webapp.bench.experiments import candidate_details
from webapp.experiments import run_folder
from webapp.experiments.execute import frames
from webapp.experiments.execute.train import build_job, find_candidates
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, LanguageModel, ModelCall
from webapp.problems import lookup

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_heartbeat"), pytest.mark.slow]


def looks_at_the_second(problem: Any, rng: Any, k: int, n: int) -> Any:
    candidates = yield Write(1, TALK, k, 5)
    yield Train(1, candidates)
    said = yield Look(1, TALK, "1-2", 4, 77)
    return "1-2" if said == "It stands." else "1-1"


def filmed(row: Experiment) -> None:
    """A real clip of candidate 1-2, as long as the task's clips are."""
    candidate = Candidate.objects.get(iteration__experiment=row, index=2)
    clip = Clip.objects.create(candidate=candidate, percent=100, status=Clip.Status.READY)
    path = settings.DATA_DIR / "media" / clip.video
    path.parent.mkdir(parents=True, exist_ok=True)
    seconds = catalog.get_task(row.task).clip_seconds
    look = ["-f", "lavfi", "-i", f"testsrc2=size=480x360:rate=30:duration={seconds}"]
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-threads", "1"]
    subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", *look, *encode, str(path)], check=True)


def test_a_vision_model_gets_evenly_spaced_frames(register_method: Any) -> None:
    with serving(lambda body: completion("It stands.")) as server:
        eye = LanguageModel.objects.create(name="V", kind="openai", base_url=server.base_url, model="eye")
        row = start_experiment(method=register_method(looks_at_the_second), vision=eye)
        do_work(row)
        filmed(row)
        assert do_request(row, "Look") == "It stands."
    text, *images = server.seen[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "What does it do?"} and len(images) == 4
    urls = [image["image_url"]["url"] for image in images]
    assert len(set(urls)) == 4
    for url in urls:
        head, _, data = url.partition(",")
        assert head == "data:image/jpeg;base64" and base64.b64decode(data).startswith(b"\xff\xd8")
    assert "base64" not in json.dumps(ModelCall.objects.latest("id").data)
    advance(row)
    assert row.winner.key == "1-2"


def asks_about_the_scene(problem: Any, rng: Any, k: int, n: int) -> Any:
    yield Ask(1, TALK, 5, role="vision", scene=True)
    candidates = yield Write(1, TALK, k, 5)
    yield Train(1, candidates)
    return "1-1"


@pytest.mark.parametrize("still", [True, False])
def test_a_vision_model_sees_the_robot_in_its_scene(
    register_method: Any, monkeypatch: pytest.MonkeyPatch, still: bool
) -> None:
    if not still:
        monkeypatch.setattr(lookup, "find_still", lambda info: "")
    with serving(lambda body: completion("A pole on a cart.")) as server:
        eye = LanguageModel.objects.create(name="V", kind="openai", base_url=server.base_url, model="eye")
        row = start_experiment(method=register_method(asks_about_the_scene), vision=eye)
        advance(row)
        assert do_request(row, "Ask") == "A pole on a cart."
    said = server.seen[0]["messages"][0]["content"]
    if not still:
        assert said == TALK[0]["content"]
        return
    text, image = said
    assert text["text"] == TALK[0]["content"] + "\n\nThe picture shows the robot in its scene."
    data = base64.b64decode(image["image_url"]["url"].removeprefix("data:image/jpeg;base64,"))
    assert data == (settings.BASE_DIR / "static/studio/robots/cartpole.jpg").read_bytes()


@pytest.mark.parametrize("count", [1, 3, 20])
def test_as_many_frames_as_asked_for(count: int) -> None:
    row = create_experiment()
    iteration = Iteration.objects.create(experiment=row, number=1)
    Candidate.objects.create(iteration=iteration, index=2, source="x")
    filmed(row)
    clip = frames.find_final_clip(row, "1-2")
    assert clip is not None and len(frames.read_clip_frames(clip, count)) == count


def looks_at_another_rollout(problem: Any, rng: Any, k: int, n: int) -> Any:
    candidates = yield Write(1, TALK, k, 5)
    yield Train(1, candidates, rollouts=2)
    said = yield Look(1, TALK, "1-2", 4, 77, rollout=2)
    return "1-2" if said == "It stands." else "1-1"


@pytest.mark.usefixtures("short_trainings")
def test_another_rollout_is_filmed_for_its_pictures_and_told_with_what_its_rewards_were_worth(
    register_method: Any,
) -> None:
    info = catalog.get_task("Cartpole")
    steps = round(info.clip_seconds / info.control_dt)
    restart = np.arange(steps) % (steps // 2) == 0
    worth = {"total": np.linspace(0, 4, steps).round(), "upright": np.where(restart.cumsum() == 1, 0.25, 0.75)}
    with serving(lambda body: completion("It stands.")) as server:
        eye = LanguageModel.objects.create(name="V", kind="openai", base_url=server.base_url, model="eye")
        row = start_experiment(method=register_method(looks_at_another_rollout), vision=eye)
        do_work(row)
        train = row.requests.get(kind="Train")
        assert build_job(row, train, find_candidates(train)).rollouts == 2
        poses = np.stack([np.linspace(-1, 1, steps), np.zeros(steps)], axis=1)
        write_rollout(
            get_rollout_path(run_folder.get_folder(train), 1, 100, 2),
            "Cartpole",
            poses,
            info.control_dt,
            restart,
            components=worth,
        )
        assert do_request(row, "Look") == "It stands."
    text, *images = server.seen[0]["messages"][0]["content"]
    assert len({image["image_url"]["url"] for image in images}) == 4
    told = text["text"]
    assert told.startswith("What does it do?") and "at each of the 4 moments, in order" in told
    assert "- upright: 0.25, 0.25, 0.75, 0.75" in told and "- total: 0, 1, 2, 3" in told
    assert "an episode restarted: 3." in told
    assert not Clip.objects.exists()
    assert "2, of which the film shows the first" in render_to_string(
        "bench/experiments/_details.html",
        {
            "details": (details := candidate_details.read_details(row, "1-2")),
            "experiment": row,
            "candidate": details.candidate,
        },
    )


def test_without_a_vision_model_it_says_what_to_do(register_method: Any) -> None:
    row = start_experiment(method=register_method(looks_at_the_second))
    do_work(row)
    do_request(row, "Look")
    assert row.status == "failed" and "the experiment names none. Begin another with one" in row.error


@pytest.mark.parametrize("clip", ["never filmed", "lost", "damaged"])
def test_without_a_clip_it_is_analysed_without_pictures_and_says_so(register_method: Any, clip: str) -> None:
    with serving(lambda body: completion("It stands.")) as server:
        eye = LanguageModel.objects.create(name="V", kind="openai", base_url=server.base_url, model="eye")
        row = start_experiment(method=register_method(looks_at_the_second), vision=eye)
        do_work(row)
        if clip != "never filmed":
            candidate = Candidate.objects.get(iteration__experiment=row, index=2)
            film = Clip.objects.create(candidate=candidate, percent=100, status=Clip.Status.READY)
            if clip == "damaged":
                store.publish(film.video, b"no film")
        assert do_request(row, "Look") == "It stands."
    (sent,) = server.seen
    assert isinstance(sent["messages"][0]["content"], str) and "there are no pictures" in sent["messages"][0]["content"]
    assert row.events.filter(kind="unseen", text__contains="no readable clip of 1-2").count() == 1
    advance(row)
    assert row.status == "finished"


def test_a_vision_model_judges_by_frames_of_each_clip_in_the_order_of_the_numbers() -> None:
    with serving(lambda body: completion("Best: 2\nWorst: 1")) as server:
        eye = LanguageModel.objects.create(name="V", kind="openai", base_url=server.base_url, model="eye")
        row = start_experiment(judge="model", judge_options={"frames": 2}, vision=eye)
        do_work(row, until="Judge")
        assert row.watched, "its clips are made before it is asked"
        filmed(row)  # only candidate 1-2: the others could not be
        said = do_request(row, "Judge")
    text, *images = server.seen[0]["messages"][-1]["content"]
    assert len(images) == 2 and all(image["image_url"]["url"].startswith("data:image/jpeg") for image in images)
    source = row.iterations.get().candidates.get(index=2).source.strip()
    number = next(n for n in (1, 2, 3) if source in text["text"].split("## Number ")[n])
    assert f"1 to 2 of number {number}" in text["text"] and text["text"].count("none of number") == 2
    assert "You cannot watch" not in text["text"]
    assert (said["best"] == "1-2") == (number == 2)
    assert row.events.filter(kind="unseen", text__contains="no readable clip of 1-1, 1-3").count() == 1


def test_without_a_vision_model_frames_are_judged_by_nobody() -> None:
    row = start_experiment(judge="model", judge_options={"frames": 2})
    do_work(row)
    do_request(row, "Judge")
    assert row.status == "failed" and "the judge without frames" in row.error
