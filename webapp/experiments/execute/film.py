"""Film the policies of a round: final clips on all cores, early ones on one with low priority."""

from __future__ import annotations

import errno
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trainer import launch
from trainer.records import FINAL
from webapp.base import scratch
from webapp.base.store import store
from webapp.base.store_interface import DiskFull
from webapp.experiments import events, request_results, run_folder
from webapp.experiments.execute.train import find_candidates, read_outcomes
from webapp.experiments.leases import Cancelled, Lease
from webapp.experiments.models import Clip, Request, Segment

PASSES = 3
"""Failed clips are tried again, in turn from either end, because a clip that kills its process also stops those behind
it."""
EARLY_NICENESS = 15
NO_REPORT = "the film process ended before it came to this clip"


@dataclass(frozen=True)
class ClipOrder:
    """One clip, or segment of a pair, to film."""

    clip: Clip | Segment
    rollout: Path
    target: Path


@dataclass(frozen=True)
class FilmReport:
    """The report of a film process on one clip."""

    target: Path
    error: str


def film(lease: Lease) -> None:
    request, percent = lease.job.request, lease.job.percent
    assert request is not None
    errors = film_pending(lease, partial(list_orders, request, percent), save_clip, early=percent < FINAL)
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


def film_pending(
    lease: Lease,
    list_orders: Callable[[Path], list[ClipOrder]],
    save: Callable[[Lease, Any, Path], None],
    early: bool = False,
) -> dict[int, str]:
    """Film what `list_orders` gives for a folder, several times where some of it fails. Returns the last errors."""
    errors: dict[int, str] = {}
    with scratch.make_folder("film") as folder:
        for number in range(PASSES):
            with lease.beat_in_background():
                orders = list_orders(folder)[:: -1 if number % 2 else 1]
            if orders:
                errors = film_clips(lease, orders, save, 1 if early else os.cpu_count() or 1, niced=early)
    return errors


def find_pending(request: Request, percent: int) -> list[Clip]:
    clips = Clip.objects.filter(candidate__in=find_candidates(request), percent=percent, status=Clip.Status.PENDING)
    return list(clips.select_related("candidate__iteration"))


def has_no_final_clip(request: Request) -> bool:
    final = Clip.objects.filter(candidate__in=find_candidates(request), percent=FINAL)
    return not final.filter(status=Clip.Status.READY).exists()


def list_orders(request: Request, percent: int, folder: Path) -> list[ClipOrder]:
    """The clips that are still to be filmed."""
    positions = {candidate.pk: position for position, candidate in enumerate(find_candidates(request))}
    orders = []
    for clip in find_pending(request, percent):
        position = positions[clip.candidate_id]
        key = run_folder.get_rollout_key(request, position, percent)
        rollout = folder / Path(key).name
        with suppress(FileNotFoundError):  # the film process reports the missing rollout
            store.fetch(key, rollout)
        orders.append(ClipOrder(clip, rollout, folder / f"{position}.mp4"))
    return orders


def film_clips(
    lease: Lease, orders: list[ClipOrder], save: Callable[[Lease, Any, Path], None], processes: int, niced: bool = False
) -> dict[int, str]:
    """Film these in parallel and save the clips. Returns errors by clip. Raises Stopped."""
    waiting = {order.target: order.clip for order in orders}
    errors: dict[int, str] = {}
    reports: queue.Queue[FilmReport | None] = queue.Queue()
    running = [start_process(orders[i::processes], reports, niced) for i in range(processes) if orders[i:]]
    open_count = len(running)
    pace = FilmingPace(len(orders), len(running), time.monotonic())
    try:
        while open_count:
            lease.beat(pace.build_progress(len(waiting), time.monotonic()))
            try:
                report = reports.get(timeout=0.2)
            except queue.Empty:
                continue
            if report is None:
                open_count -= 1
            elif clip := waiting.pop(report.target, None):
                if os.strerror(errno.ENOSPC) in report.error:  # ffmpeg says it in the system's words
                    raise DiskFull(report.error)
                if report.error:
                    errors[clip.pk] = report.error
                else:
                    save(lease, clip, report.target)
    finally:
        for process in running:
            launch.stop(process)
    return errors


class FilmingPace:
    """The progress of filming, with the time left from the time that the clips so far took.

    When a clip arrives, the other processes are in the middle of theirs, in the mean.
    """

    def __init__(self, total: int, processes: int, begun: float) -> None:
        self.total, self.processes, self.begun = total, processes, begun
        self.left, self.changed = total, begun

    def build_progress(self, left: int, now: float) -> dict[str, float | int | None]:
        if left != self.left:
            self.left, self.changed = left, now
        done = self.total - left
        seconds = None
        if done >= self.processes:  # the first clips to arrive say how long the programs took to start
            took, others = self.changed - self.begun, (self.processes - 1) / 2
            seconds = max(0.0, took * max(self.total / (done + others), 1.0) - (now - self.begun))
        return {"fraction": done / self.total, "clips_left": left, "seconds_left": seconds}


def start_process(
    orders: list[ClipOrder], reports: queue.Queue[FilmReport | None], niced: bool
) -> subprocess.Popen[str]:
    process = launch.film([(order.rollout, order.target) for order in orders])
    if niced:
        own = os.getpriority(os.PRIO_PROCESS, 0)  # a worker that was started low may not raise its films
        os.setpriority(os.PRIO_PROCESS, process.pid, max(own, EARLY_NICENESS))
    threading.Thread(target=read_reports, args=(process, reports), daemon=True).start()
    return process


def read_reports(process: subprocess.Popen[str], reports: queue.Queue[FilmReport | None]) -> None:
    """Pass on one JSON line per clip, then None."""
    assert process.stdout is not None
    try:
        with process.stdout as output:
            for line in output:
                report = json.loads(line)
                reports.put(FilmReport(Path(report["clip"]), "" if report["ok"] else report["error"]))
    finally:  # also after invalid JSON, or the caller would wait for ever
        reports.put(None)


def publish_film(lease: Lease, clip: Clip | Segment, film: Path) -> None:
    with lease.beat_in_background():
        store.publish(clip.video, film)
        store.publish(clip.poster, film.with_suffix(".jpg"))


def save_clip(lease: Lease, clip: Clip, film: Path) -> None:
    """Publish a clip and its poster, then mark it as ready."""
    publish_film(lease, clip, film)
    with lease.lock_experiment() as experiment:
        if not Clip.objects.filter(pk=clip.pk).update(status=Clip.Status.READY, error=""):
            raise Cancelled  # an early clip, deleted meanwhile
        text = f"{clip.candidate.key} at {clip.percent}%"
        events.emit(experiment, "clip", text, {"candidate": clip.candidate.key, "percent": clip.percent}, public=True)
