"""Rollout files to clips: `python -m simulation.film ROLLOUT CLIP [ROLLOUT CLIP ...]`.

Writes CLIP (H.264 in MP4) and its poster beside it (.jpg), and prints one JSON line per clip as it is finished:
{"clip": ..., "ok": true or false, "error": "...", "seconds": ...}. The exit status is 1 if any clip failed; the others
are unharmed. All clips of a task last equally long, except those of rollouts that are filmed whole, as segments of a
pair are. All have the same size, frame rate and encoder settings, and nothing in them tells them apart except
what the robot does: no audio, no metadata, no time of creation.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import IO, cast

import ffmpeg
import imageio_ffmpeg
import numpy as np

from simulation import catalog
from simulation.opengl import FilmError
from simulation.renderer import HEIGHT, WIDTH, RolloutRenderer
from simulation.rollout import Rollout, read_rollout

RATE = 30
"""Frames per second."""
POSTER_FRAME = RATE
"""The poster shows the clip after one second."""
ENCODER = {
    "format": "mp4",
    "vcodec": "libx264",
    "preset": "veryfast",
    "crf": 22,
    "g": RATE,  # a key frame a second, so that scrubbing is quick
    "pix_fmt": "yuv420p",
    "vf": "scale=out_color_matrix=bt709:out_range=tv",
    "colorspace": "bt709",
    "color_primaries": "bt709",
    "color_trc": "bt709",
    "threads": 1,  # the same bytes on every machine
    "movflags": "+faststart",
    "map_metadata": -1,
    "fflags": "+bitexact",
    "flags:v": "+bitexact",
    "bsf:v": "filter_units=remove_types=6",  # the encoder's name and settings
}
POSTER = {"format": "image2", "vcodec": "mjpeg", "vframes": 1, "q:v": 3, "fflags": "+bitexact", "flags:v": "+bitexact"}


def film(rollout_path: Path, clip: Path, renderers: dict[str, RolloutRenderer]) -> None:
    """Film one rollout into `clip` and its poster. `renderers` keeps a renderer per task for the next clip.

    Raises ValueError on an unusable rollout, FilmError where rendering or encoding fails, OSError where `clip` cannot
    be written. Earlier files stay untouched then.
    """
    rollout = read_rollout(rollout_path)
    info = catalog.get_task(rollout.task)
    if rollout.task not in renderers:
        renderers[rollout.task] = RolloutRenderer(rollout.task)
    count = _count_frames(rollout) if rollout.whole else round(info.clip_seconds * RATE)
    frames = renderers[rollout.task].frames(rollout, count, RATE)
    clip.parent.mkdir(parents=True, exist_ok=True)
    poster = clip.with_suffix(".jpg")
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in (poster, clip)}
    try:
        encode(frames, parts[clip], parts[poster], min(POSTER_FRAME, count - 1))
        for path, part in parts.items():  # the poster first, so that every clip has one
            os.replace(part, path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _count_frames(rollout: Rollout) -> int:
    """The frames of a clip that ends with its rollout."""
    return int((len(rollout.qpos) - 1) * rollout.control_dt * RATE) + 1


def encode(frames: Iterator[np.ndarray], clip: Path, poster: Path, poster_frame: int = POSTER_FRAME) -> None:
    """Pipe frames (HEIGHT, WIDTH, 3) uint8 through ffmpeg into `clip`; one of them becomes `poster`."""
    with _start(ffmpeg.output(_make_raw_input(), str(clip), **ENCODER)) as encoder:
        pixels = cast(IO[bytes], encoder.stdin)
        try:
            for index, frame in enumerate(frames):
                pixels.write(frame.data)
                if index == poster_frame:
                    _write_still(frame.tobytes(), poster)
            _finish(encoder)
        except BrokenPipeError:
            _finish(encoder, broken=True)
        finally:
            encoder.kill()


def _make_raw_input() -> ffmpeg.Stream:
    return ffmpeg.input("pipe:", format="rawvideo", pix_fmt="rgb24", s=f"{WIDTH}x{HEIGHT}", framerate=RATE)


def _write_still(pixels: bytes, path: Path) -> None:
    with _start(ffmpeg.output(_make_raw_input(), str(path), **POSTER)) as encoder:
        _finish(encoder, pixels)


def _start(stream: ffmpeg.Stream) -> Popen[bytes]:
    quiet = stream.global_args("-loglevel", "error", "-nostats")
    process: Popen[bytes] = quiet.run_async(
        cmd=imageio_ffmpeg.get_ffmpeg_exe(), pipe_stdin=True, pipe_stderr=True, overwrite_output=True
    )
    return process


def _finish(process: Popen[bytes], pixels: bytes | None = None, broken: bool = False) -> None:
    """Close ffmpeg's input, wait for it, and raise FilmError with its last words if it failed."""
    _, words = process.communicate(pixels)
    if process.returncode or broken:
        raise FilmError(
            f"ffmpeg could not encode: {words.decode(errors='replace').strip()[-300:] or 'no reason given'}"
        )


def film_all(pairs: list[tuple[Path, Path]]) -> bool:
    """Film every (rollout, clip), print a JSON line for each; whether all succeeded."""
    renderers: dict[str, RolloutRenderer] = {}
    succeeded = True
    for rollout, clip in pairs:
        start, error = time.monotonic(), ""
        try:
            film(rollout, clip, renderers)
        except (ValueError, OSError, FilmError) as reason:
            error, succeeded = str(reason), False
        line = {"clip": str(clip), "ok": not error, "error": error, "seconds": round(time.monotonic() - start, 2)}
        print(json.dumps(line), flush=True)
    for renderer in renderers.values():
        renderer.close()
    return succeeded


def main() -> int:
    """The command line; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m simulation.film", description="Film rollout files.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="ROLLOUT CLIP", help="a rollout (.npz), its clip (.mp4)")
    paths = parser.parse_args().paths
    if len(paths) % 2:
        parser.error("every ROLLOUT needs a CLIP after it")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return 0 if film_all(list(zip(paths[::2], paths[1::2], strict=True))) else 1


if __name__ == "__main__":
    sys.exit(main())
