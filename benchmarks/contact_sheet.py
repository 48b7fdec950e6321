"""All tasks on one picture: `python -m benchmarks.contact_sheet FILE [--tasks Ant]`.

A still of the start of each: is it clear what it is, and what it is to do? Needs no training.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import imageio_ffmpeg

from benchmarks.filming import random_rollout
from simulation import catalog
from simulation.film import RATE, encode
from simulation.renderer import RolloutRenderer

COLUMNS, STILL_WIDTH = 4, 256
"""Tasks in a row, and pixels of a still: about those of a clip in a grid of six."""


def film_still(task: str, path: Path) -> None:
    """The start: who moves at random soon lies on the ground, and frames beside an episode's end are dark."""
    renderer = RolloutRenderer(task)
    encode(renderer.frames(random_rollout(task), RATE, RATE), path.with_suffix(".mp4"), path, 0)
    renderer.close()


def write_sheet(stills: str, count: int, path: Path) -> None:
    """The stills of this numbered pattern, COLUMNS in a row."""
    look = f"scale={STILL_WIDTH}:-2,tile={COLUMNS}x{-(-count // COLUMNS)}"
    arguments = ["-i", stills, "-vf", look, "-frames:v", "1", "-q:v", "3", "-y", str(path)]
    subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", *arguments], check=True)


def main() -> None:
    """Film every task and write the sheet."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.contact_sheet", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(catalog.list_tasks()), choices=list(catalog.list_tasks()))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for number, task in enumerate(arguments.tasks):
            print(f"row {number // COLUMNS + 1}, column {number % COLUMNS + 1}: {task}", flush=True)
            film_still(task, Path(folder) / f"{number:03}.jpg")
        write_sheet(f"{folder}/%03d.jpg", len(arguments.tasks), arguments.file)


if __name__ == "__main__":
    main()
