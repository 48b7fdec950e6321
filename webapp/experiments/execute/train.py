"""Train a round's candidates in a subprocess and order their clips."""

from __future__ import annotations

import logging
import re
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.conf import settings

from llm import records
from simulation import catalog
from simulation.rollout_statistics import compute_state_statistics
from trainer import launch
from trainer.log_lines import MARK
from trainer.preferences import exchange
from trainer.preferences.algorithms import Preferences, count_segment_steps
from trainer.preferences.session_figures import read_sessions
from trainer.process import EXIT_DISK_FULL, EXIT_WAITS
from trainer.records import (
    FINAL,
    CandidateResult,
    Progress,
    TrainJob,
    TrainResult,
    read_job,
    read_progress,
    read_result,
)
from trainer.saved_preset import describe_values, read_preset
from webapp.base import processes
from webapp.base.claims import Interrupted
from webapp.base.database import CONNECTION_ERRORS
from webapp.base.store import store
from webapp.base.store_interface import DiskFull
from webapp.experiments import events, jobs, pair_sessions, request_results, run_folder, shorter_rounds, signals
from webapp.experiments.candidates import find_candidate, read_outcome
from webapp.experiments.execute import reuse, warm_start
from webapp.experiments.kinds.train import list_seeds
from webapp.experiments.leases import Lease, Paused
from webapp.experiments.models import Candidate, Clip, Experiment, Job, Request, Run
from webapp.experiments.publisher import Publisher

log = logging.getLogger(__name__)
POLL_SECONDS = 0.2
MOST_RELAYED = 20_000
"""Bytes of a training's log that one look passes on."""


def train(lease: Lease) -> None:
    request, experiment = lease.job.request, lease.job.experiment
    assert request is not None
    candidates = find_candidates(request)
    Candidate.objects.filter(pk__in=[c.pk for c in candidates], status=Candidate.Status.WRITTEN).update(
        status=Candidate.Status.TRAINING
    )
    run_folder.delete_stale()
    signals.training_begins.send(Experiment, experiment=experiment)
    work = build_job(experiment, request, candidates)
    publisher = Publisher(request, lease.beat)
    with publisher.wait_for_store(lease.beat_in_background):
        if earlier := reuse.copy_equal_training(request, work, lease.beat):
            with lease.lock_experiment() as locked:
                reuse.report(locked, request, earlier)
        run_folder.fetch(request, lease.job.owner, lease.beat)
        work = keep_revision(work, publisher.folder)
        if launch.holds_other_job(publisher.folder, work):  # of an earlier task, or unknown to a restored backup
            run_folder.delete(request)
            run_folder.fetch(request, lease.job.owner, lease.beat)
            with lease.lock_experiment():
                pair_sessions.forget_answered(request)
        start = warm_start.find_start(request)
        found = start is None or warm_start.fetch_start(request, start)
    if start and not found:
        lease.fail(f"Training was to start from {start.name}, which is gone.")
        return
    pair_sessions.write_answers(request, publisher.folder)
    process = launch.train(publisher.folder, work, die_with_parent=True)
    try:
        with publisher.wait_for_store(lease.beat_in_background):
            publisher.publish_job()
        result = watch_training(lease, process, publisher, candidates)
        if result is None and processes.stopping.is_set():  # a cluster ends all processes of a job at once
            raise Interrupted
    except (Interrupted, Paused):
        launch.stop(process)
        publisher.hand_over()
        raise
    finally:
        launch.stop(process)
        publisher.stop()
        pair_sessions.delete_answers(publisher.folder)
    if result is None and process.returncode == EXIT_WAITS:
        with publisher.wait_for_store(lease.beat_in_background):
            publisher.publish(large=True)
        wait_for_answers(lease, request, candidates)
        return
    if result is None and process.returncode == EXIT_DISK_FULL:
        raise DiskFull(f"no space is left on the disk of {publisher.folder}")
    if result is None:
        said = read_log_end(publisher.folder / "log.txt")
        lease.strike(f"the training process ended with status {process.returncode} without a result; it said: {said}")
        return
    if result.error or result.cancelled:
        reason = result.error or "the run was cancelled from outside"
        lease.fail(f"Training round {request.payload['iteration']} failed: {reason}")
        return
    with publisher.wait_for_store(lease.beat_in_background):
        publisher.finish()
    with lease.settle() as experiment:
        save_result(experiment, request, candidates, result)
        Run.objects.filter(request=request).update(
            store_seconds=publisher.seconds,
            store_bytes=publisher.bytes,
            task_revision=work.revision,
            preset=describe_values(read_preset(publisher.folder, work)),
        )
    publisher.clear()


def wait_for_answers(lease: Lease, request: Request, candidates: list[Candidate]) -> None:
    """End a slice of a training that goes on when people, or the vision model, have answered its pairs."""
    folder, number = run_folder.get_folder(request), request.pair_sessions.count() + 1
    queries = exchange.read_queries(folder, 0, number) or exchange.read_queries(folder, 0, number - 1)
    if queries is None:
        lease.strike("the training stopped to ask about pairs, and left none")
        return
    with lease.settle() as experiment:
        save_sessions(folder, candidates)
        pair_sessions.begin_session(experiment, request, queries)


def find_candidates(request: Request) -> list[Candidate]:
    """The rows of a Train request's candidates, in the request's order."""
    found = [find_candidate(request.experiment, c["id"]) for c in request.payload["candidates"]]
    return [candidate for candidate in found if candidate]


def build_job(experiment: Experiment, request: Request, candidates: list[Candidate]) -> TrainJob:
    """The training job. Rounds differ in their seeds."""
    seeds, preferences = list_seeds(request), build_preferences(experiment, request)
    by_metric = request.payload.get("by_metric", False)
    unwritten = by_metric or (preferences is not None and not preferences.prior)
    return TrainJob(
        task=experiment.task,
        sources=tuple(catalog.read_reference_reward(experiment.task) if unwritten else c.source for c in candidates),
        preset=experiment.preset,
        seed=seeds[0],
        seeds=tuple(seeds) if len(set(seeds)) > 1 else (),
        overrides=shorter_rounds.find_overrides(experiment, request.payload["iteration"]),
        film_at=settings.FILM_AT,
        rollouts=request.payload.get("rollouts", 1),
        warm=warm_start.find_start(request) is not None,
        shared_experience=experiment.shared_experience,
        preferences=(preferences,) * len(candidates) if preferences else (),
        by_metric=by_metric,
        episodes=request.payload.get("episodes", 0),
        revision=catalog.get_task(experiment.task).revision,
    )


def keep_revision(work: TrainJob, folder: Path) -> TrainJob:
    """The job, on the revision of the task on which this folder's training began where people answer its pairs: what
    they answered would be lost if it started again.
    """
    if not any(asked and asked.outside for asked in work.preferences):
        return work
    with suppress(OSError, AttributeError, TypeError, ValueError):  # not begun, a newer version's, damaged
        return replace(work, revision=read_job(folder).revision)
    return work


def build_preferences(experiment: Experiment, request: Request) -> Preferences | None:
    """How the policies learn from answers about pairs, where the request says that they do. The judge's options say how
    the simulated teacher errs; people and vision models err by themselves.
    """
    asks = request.payload.get("pairs")
    if not asks:
        return None
    asked = {name: asks[name] for name in ("method", "truth", "segment", "selection")}
    asked["prior"] = asks.get("prior", False)
    if not pair_sessions.asks_outside(experiment):
        return Preferences(**asked, budget=asks["queries"], **experiment.judge_options)
    steps = count_segment_steps(pair_sessions.read_seconds(experiment), catalog.get_task(experiment.task))
    return Preferences(**asked | {"segment": steps, "truth": "reward"}, budget=asks["queries"], outside=True)


def watch_training(
    lease: Lease, process: subprocess.Popen[bytes], publisher: Publisher, candidates: list[Candidate]
) -> TrainResult | None:
    """Report progress until the process ends. Returns its result, None if it left none. Raises Stopped."""
    filmed: set[int] = set()
    person = lease.job.experiment.judge_info.asks_people
    said, begun = LogReader(publisher.folder / "log.txt"), None
    while process.poll() is None:
        time.sleep(POLL_SECONDS)
        said.relay()
        progress = read_progress(publisher.folder)
        begun = progress.fraction if begun is None and progress.phase == "training" else begun
        lease.beat(asdict(progress) | describe_slice(progress, begun))
        publisher.publish_if_due()
        if publisher.request.payload.get("pairs"):
            save_new_sessions(lease, publisher, candidates)
        for percent in find_filmable_percents(progress, len(candidates)) - filmed if person else ():
            with publisher.wait_for_store(lease.beat_in_background):
                published = publisher.try_to_publish()
            if published:
                film_early(
                    lease, publisher.request, percent, {c.index for c in progress.candidates if c.status != "failed"}
                )
                filmed.add(percent)
    said.relay()
    lease.beat(asdict(read_progress(publisher.folder)))
    return read_result(publisher.folder)


def describe_slice(progress: Progress, begun: float | None) -> dict[str, float | None]:
    """The progress until the training stops to ask people, where it does; it began at this fraction, or not yet."""
    until = progress.waits_at
    if until is None:
        return {}
    if begun is None or begun >= until:  # of the slice before, until this one's process writes its own
        return {"fraction": 0.0, "seconds_left": None, "whole": progress.fraction}
    left, whole = max(0.0, until - progress.fraction), max(until - begun, 1e-9)
    seconds = None if progress.seconds_left is None else progress.seconds_left * left / max(1 - progress.fraction, 1e-9)
    return {"fraction": 1 - min(1.0, left / whole), "seconds_left": seconds, "whole": progress.fraction}


def save_new_sessions(lease: Lease, publisher: Publisher, candidates: list[Candidate]) -> None:
    """Save the sessions that policies have held so far, for pages to show while they train. Where the database does not
    answer, the next look saves them.
    """
    folder = publisher.folder
    if all(len(read_sessions(folder, place)) == len(one.sessions) for place, one in enumerate(candidates)):
        return
    with suppress(*CONNECTION_ERRORS):
        with lease.confirm() as held:
            if held:
                save_sessions(folder, candidates)
        save_answered_pairs(lease, publisher)
        for candidate in candidates:
            candidate.refresh_from_db(fields=["sessions"])


def save_answered_pairs(lease: Lease, publisher: Publisher) -> None:
    """Have the pairs filmed that a simulated teacher has answered. Where the store is away, the end of the training or
    the next session orders the films.
    """
    for queries in pair_sessions.find_unsaved(publisher.request, publisher.folder):
        with publisher.wait_for_store(lease.beat_in_background):
            published = publisher.try_to_send(re.compile(rf"queries/0-{queries.session}(-\d+)?\.(npz|json)"))
        if published:
            with lease.lock_experiment() as experiment:
                pair_sessions.save_answered(experiment, publisher.request, queries)


def save_sessions(folder: Path, candidates: list[Candidate]) -> None:
    """Save all sessions that policies have held."""
    for place, candidate in enumerate(candidates):
        sessions = [asdict(session) for session in read_sessions(folder, place)]
        Candidate.objects.filter(pk=candidate.pk).update(sessions=sessions)


def find_filmable_percents(progress: Progress, count: int) -> set[int]:
    """Early percentages at which every candidate that still trains has been recorded."""
    active = [set(c.rollouts) for c in progress.candidates if c.status != "failed"]
    if len(progress.candidates) < count or not active:
        return set()
    return set.intersection(*active) - {FINAL}


def film_early(lease: Lease, request: Request, percent: int, active: set[int]) -> None:
    """Order clips of the candidates at these positions."""
    candidates = [candidate for position, candidate in enumerate(find_candidates(request)) if position in active]
    with lease.lock_experiment() as experiment:
        jobs.order_clips(experiment, request, candidates, percent)


def save_result(experiment: Experiment, request: Request, candidates: list[Candidate], result: TrainResult) -> None:
    """Save the results of a training, and order the final clips if they are watched before the judgement."""
    for candidate, outcome in zip(candidates, result.candidates, strict=True):
        save_outcome(candidate, outcome)
    folder = run_folder.get_folder(request)
    save_sessions(folder, candidates)
    for queries in pair_sessions.find_unsaved(request, folder):
        pair_sessions.save_answered(experiment, request, queries)
    Run.objects.update_or_create(
        request=request,
        defaults={
            "seconds": result.seconds,
            "samples": result.samples,
            "nan_worlds": sum(c.nan_worlds for c in result.candidates),
        },
    )
    jobs.cancel(experiment, request, Job.Kind.FILM, below_percent=FINAL)
    Clip.objects.filter(candidate__in=candidates, percent__lt=FINAL, status=Clip.Status.PENDING).delete()
    trained = [c for c in candidates if c.status == Candidate.Status.TRAINED]
    events.emit(experiment, "filming", f"{len(trained)} of {len(candidates)} policies trained", public=True)
    if trained and experiment.watched:
        jobs.order_clips(experiment, request, trained, FINAL)
    else:
        request_results.complete(request, read_outcomes(request))


def save_outcome(candidate: Candidate, outcome: CandidateResult) -> None:
    candidate.status = Candidate.Status.TRAINED if outcome.ok else Candidate.Status.FAILED
    candidate.reason = outcome.reason
    candidate.trace, candidate.metric_trace = outcome.trace, outcome.metric_trace
    candidate.rts, candidate.final_score = outcome.rts, outcome.final_score
    candidate.evaluation = outcome.evaluation
    candidate.save(update_fields=["status", "reason", "trace", "metric_trace", "rts", "final_score", "evaluation"])


def read_outcomes(request: Request) -> Any:
    """The result of a Train request, from the saved rows and rollouts of its candidates."""
    trained = []
    for position, asked in enumerate(request.payload["candidates"]):
        tried = read_outcome(request.experiment, asked["id"])
        trained.append(replace(tried, states=read_states(run_folder.get_rollout_key(request, position))))
    return records.result_to_json(request.kind, trained)


def read_states(rollout: str) -> dict[str, Any]:
    """Statistics of the states in a stored rollout; empty if it cannot be read."""
    try:
        with store.as_file(rollout) as file:
            return compute_state_statistics(file)
    except (ValueError, FileNotFoundError):  # the clip's error says why
        return {}


def read_log_end(log: Path) -> str:
    """The end of a run's log."""
    if not log.exists():
        return "nothing"
    return log.read_bytes()[-1000:].decode(errors="replace").strip() or "nothing"


class LogReader:
    """Passes on what a training process says of itself from now on, as lines of this worker's log about its job. What
    it quotes stays behind: no erasure reaches this log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.read_bytes = path.stat().st_size if path.exists() else 0

    def relay(self) -> None:
        if not self.path.exists() or self.path.stat().st_size <= self.read_bytes:
            return
        with self.path.open("rb") as file:
            file.seek(self.read_bytes)
            new = file.read(MOST_RELAYED)
        self.read_bytes += len(new)
        for line in new.decode(errors="replace").splitlines():
            if line.startswith(MARK):
                log.info("%s", line)
