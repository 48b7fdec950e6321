"""Frames of clips and rollouts, for a vision model."""

from __future__ import annotations

import base64
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ffmpeg
import imageio_ffmpeg

from simulation import catalog
from trainer import launch
from trainer.records import FINAL
from webapp.base.store import store
from webapp.experiments import run_folder
from webapp.experiments.kinds import train
from webapp.experiments.models import Clip, Experiment

WIDTH = 320
"""Pixels: enough to see a pose, for a tenth of the tokens of a whole picture."""
FILM_TIMEOUT = 300


def find_final_clip(experiment: Experiment, candidate: str) -> Clip | None:
    """The clip by which a candidate (a method's id) is judged; None if it could not be filmed."""
    number, index = candidate.split("-")
    clips = Clip.objects.filter(candidate__iteration__experiment=experiment, percent=FINAL, status=Clip.Status.READY)
    return clips.filter(candidate__iteration__number=number, candidate__index=index).first()


def read_candidate_frames(experiment: Experiment, candidate: str, count: int) -> list[str]:
    """Frames of the clip that is judged; empty if it could not be filmed, is lost or cannot be read."""
    clip = find_final_clip(experiment, candidate)
    try:
        return read_clip_frames(clip, count) if clip else []
    except (ValueError, FileNotFoundError):
        return []


def read_rollout_frames(experiment: Experiment, candidate: str, number: int, count: int) -> list[str]:
    """Frames of a rollout of the candidate's final policy; empty if there are none. The first rollout is in the clip
    that is judged; another is filmed now, which takes seconds.
    """
    if number == 1:
        return read_candidate_frames(experiment, candidate, count)
    with open_rollout(experiment, candidate, number) as rollout, tempfile.TemporaryDirectory() as folder:
        if rollout is None:
            return []
        film = Path(folder) / "clip.mp4"
        process = launch.film([(rollout, film)])
        try:
            process.communicate(timeout=FILM_TIMEOUT)
            return extract_frames(film, get_clip_seconds(experiment), count)
        except (ValueError, subprocess.TimeoutExpired):
            return []
        finally:
            launch.stop(process)


@contextmanager
def open_rollout(experiment: Experiment, candidate: str, number: int) -> Iterator[Path | None]:
    """The file of a rollout of the candidate's final policy; None if it is gone."""
    place = train.find_training(experiment, candidate)
    name = run_folder.get_rollout_key(*place, number=number) if place else ""
    if not name or store.size(name) is None:
        yield None
        return
    with store.as_file(name) as file:
        yield file


def read_clip_frames(clip: Clip, count: int) -> list[str]:
    """`count` evenly spaced frames of a clip. Raises ValueError if it cannot be read."""
    with store.as_file(clip.video) as film:
        return extract_frames(film, get_clip_seconds(clip.candidate.iteration.experiment), count)


def get_clip_seconds(experiment: Experiment) -> float:
    return catalog.get_task(experiment.task).clip_seconds


def extract_frames(film: Path, seconds: float, count: int) -> list[str]:
    """`count` evenly spaced frames of a film, from the first on, as data URLs of JPEG pictures.

    Raises ValueError if it cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        pictures = ffmpeg.input(str(film)).filter("fps", fps=count / seconds, round="near").filter("scale", WIDTH, -2)
        output = pictures.output(f"{folder}/%04d.jpg", vframes=count, **{"q:v": 4})
        try:
            output.global_args("-loglevel", "error").run(
                cmd=imageio_ffmpeg.get_ffmpeg_exe(), capture_stdout=True, capture_stderr=True
            )
        except ffmpeg.Error as error:
            words = error.stderr.decode(errors="replace").strip()[-300:]
            raise ValueError(f"the film cannot be read: {words}") from error
        return [to_data_url(path) for path in sorted(Path(folder).glob("*.jpg"))]


def to_data_url(path: Path) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(path.read_bytes()).decode()}"
