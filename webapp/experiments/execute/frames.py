"""Still pictures out of a clip, for a vision model."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

import ffmpeg
import imageio_ffmpeg
from django.core.files.storage import default_storage

from simulation import catalog
from webapp.experiments.models import Clip, Experiment

WIDTH = 320
"""Pixels: enough to see a pose, and a tenth of the tokens of the whole picture."""
FINAL = 100


def final_clip(experiment: Experiment, candidate: str) -> Clip | None:
    """The clip that is judged of this candidate (an id as methods use it); None where it could not be filmed."""
    number, index = candidate.split("-")
    clips = Clip.objects.filter(candidate__iteration__experiment=experiment, percent=FINAL, status=Clip.Status.READY)
    return clips.filter(candidate__iteration__number=number, candidate__index=index).first()


def of_candidate(experiment: Experiment, candidate: str, count: int) -> list[str]:
    """Frames of the clip that is judged; none where it could not be filmed, is lost or cannot be read."""
    clip = final_clip(experiment, candidate)
    try:
        return of(clip, count) if clip else []
    except (ValueError, FileNotFoundError):
        return []


def of(clip: Clip, count: int) -> list[str]:
    """`count` evenly spaced frames as data URLs of JPEG pictures; raises ValueError on a clip that cannot be read."""
    seconds = catalog.task(clip.candidate.iteration.experiment.task).clip_seconds
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "clip.mp4"
        with default_storage.open(clip.video) as file:
            film.write_bytes(file.read())
        pictures = ffmpeg.input(str(film)).filter("fps", fps=count / seconds, round="near").filter("scale", WIDTH, -2)
        output = pictures.output(f"{folder}/%04d.jpg", vframes=count, **{"q:v": 4})
        try:
            output.global_args("-loglevel", "error").run(
                cmd=imageio_ffmpeg.get_ffmpeg_exe(), capture_stdout=True, capture_stderr=True
            )
        except ffmpeg.Error as error:
            words = error.stderr.decode(errors="replace").strip()[-300:]
            raise ValueError(f"the clip of {clip.candidate.key} cannot be read: {words}") from error
        return [data_url(path) for path in sorted(Path(folder).glob("*.jpg"))]


def data_url(path: Path) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(path.read_bytes()).decode()}"
