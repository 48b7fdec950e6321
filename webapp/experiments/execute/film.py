"""Film the policies of a round: the final clips on every core, early ones on the side."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trainer import launch
from trainer.records import FINAL
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments import events, request_results, run_folder
from webapp.experiments.execute.train import find_candidates, read_outcomes
from webapp.experiments.leases import Cancelled, Lease
from webapp.experiments.models import Clip, Request

PASSES = 3
"""A clip that could not be filmed is tried again. In turn from either end: one that kills its process must not keep
those behind it from being filmed."""
EARLY_NICENESS = 15
NO_REPORT = "the film process ended before it came to this clip"


@dataclass(frozen=True)
class ClipOrder:
    """One clip to film."""

    clip: Clip
    rollout: Path
    target: Path


@dataclass(frozen=True)
class FilmReport:
    """What a filming process said of one clip."""

    target: Path
    error: str


def film(lease: Lease) -> None:
    request, percent = lease.job.request, lease.job.percent
    assert request is not None
    errors: dict[int, str] = {}
    with scratch.temporary_folder("film") as folder:
        for number in range(PASSES):
            takes = list_orders(request, percent, folder)[:: -1 if number % 2 else 1]
            if takes:
                errors = film_clips(lease, takes, os.cpu_count() or 1 if percent == FINAL else 1)
    missing = find_pending(request, percent)
    if percent == FINAL and lease.job.experiment.judge_info.asks_people and has_no_final_clip(request):
        lease.fail(f"None of the clips could be filmed: {next(iter(errors.values()), NO_REPORT)}")
        return
    with lease.settle() as experiment:
        for clip in missing:
            clip.status, clip.error = Clip.Status.FAILED, errors.get(clip.pk, NO_REPORT)
            clip.save(update_fields=["status", "error"])
            text = f"The clip of {clip.candidate.key} at {percent}% could not be filmed: {clip.error}"
            events.emit(experiment, "clip failed", text, public=True)
        if percent == FINAL:
            request_results.complete(request, read_outcomes(request))


def find_pending(request: Request, percent: int) -> list[Clip]:
    clips = Clip.objects.filter(candidate__in=find_candidates(request), percent=percent, status=Clip.Status.PENDING)
    return list(clips.select_related("candidate__iteration"))


def has_no_final_clip(request: Request) -> bool:
    final = Clip.objects.filter(candidate__in=find_candidates(request), percent=FINAL)
    return not final.filter(status=Clip.Status.READY).exists()


def list_orders(request: Request, percent: int, folder: Path) -> list[ClipOrder]:
    """What is still to be filmed."""
    positions = {candidate.pk: position for position, candidate in enumerate(find_candidates(request))}
    takes = []
    for clip in find_pending(request, percent):
        position = positions[clip.candidate_id]
        key = run_folder.get_rollout_key(request, position, percent)
        rollout = folder / Path(key).name
        with suppress(FileNotFoundError):  # the film process says that there is none
            store.fetch(key, rollout)
        takes.append(ClipOrder(clip, rollout, folder / f"{position}.mp4"))
    return takes


def film_clips(lease: Lease, takes: list[ClipOrder], processes: int) -> dict[int, str]:
    """Film these with so many processes and store what comes; returns the errors by clip. Raises Stopped."""
    waiting = {take.target: take.clip for take in takes}
    errors: dict[int, str] = {}
    lines: queue.Queue[FilmReport | None] = queue.Queue()
    crews = [
        start_process(takes[i::processes], lines, niced=lease.job.percent != FINAL)
        for i in range(processes)
        if takes[i:]
    ]
    going = len(crews)
    total = len(takes)
    try:
        while going:
            lease.beat({"fraction": 1 - len(waiting) / total, "clips_left": len(waiting)})
            try:
                said = lines.get(timeout=0.2)
            except queue.Empty:
                continue
            if said is None:
                going -= 1
            elif clip := waiting.pop(said.target, None):
                if said.error:
                    errors[clip.pk] = said.error
                else:
                    save_clip(lease, clip, said.target)
    finally:
        for crew in crews:
            launch.stop(crew)
    return errors


def start_process(takes: list[ClipOrder], lines: queue.Queue[FilmReport | None], niced: bool) -> subprocess.Popen[str]:
    process = launch.film([(take.rollout, take.target) for take in takes])
    if niced:
        os.setpriority(os.PRIO_PROCESS, process.pid, EARLY_NICENESS)
    threading.Thread(target=read_reports, args=(process, lines), daemon=True).start()
    return process


def read_reports(process: subprocess.Popen[str], lines: queue.Queue[FilmReport | None]) -> None:
    """Pass on one JSON line per clip, then None."""
    assert process.stdout is not None
    try:
        with process.stdout as output:
            for line in output:
                said = json.loads(line)
                lines.put(FilmReport(Path(said["clip"]), "" if said["ok"] else said["error"]))
    finally:  # also after a line that is no JSON: the lease would be renewed for ever
        lines.put(None)


def save_clip(lease: Lease, clip: Clip, film: Path) -> None:
    """Publish a clip and its poster under the clip's opaque name, then say that it is there."""
    store.publish(clip.video, film)
    store.publish(clip.poster, film.with_suffix(".jpg"))
    with lease.lock_experiment() as experiment:
        if not Clip.objects.filter(pk=clip.pk).update(status=Clip.Status.READY, error=""):
            raise Cancelled  # an early clip that came too late
        text = f"{clip.candidate.key} at {clip.percent}%"
        events.emit(experiment, "clip", text, {"candidate": clip.candidate.key, "percent": clip.percent}, public=True)
