"""Copy the results of an equal earlier training instead of training again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from trainer import run
from trainer.records import TrainJob, read_job, read_result, resolve_preset
from trainer.saved_preset import read_preset
from webapp.experiments import events, provenance, run_folder
from webapp.experiments.job_kinds import TRAINING_KINDS
from webapp.experiments.models import Experiment, Job, Request


def copy_equal_training(request: Request, job: TrainJob, beat: run_folder.Beat) -> Experiment | None:
    """Copy the folder of an equal training to this one's place. Returns its experiment, or None.

    Equal are task, rewards, seed, settings, machine, device and code: a CPU would compute the same numbers again. Not
    for experiments that people judge: they would wait in one arm of a study and not in another. Nor where a model
    answers pairs: it may answer otherwise.
    """
    by_people = request.experiment.judge_info.asks_people
    asks = any(one.outside for one in job.preferences if one)
    if run_folder.has_begun(request) or job.warm or by_people or asks or not provenance.code_is_committed():
        return None
    for earlier in find_similar(request):
        if copy_if_equal(earlier, request, job, beat):
            return earlier.experiment
    return None


def report(experiment: Experiment, request: Request, earlier: Experiment) -> None:
    """Log where a training was copied from, for the pages of its round and candidates, too."""
    number = request.payload["iteration"]
    text = f"Round {number}: an equal training with the same seed was finished in {earlier}; taken from there."
    place = {"step": request.step, "slot": request.slot, "iteration": number, "experiment": str(earlier.public_id)}
    events.emit(experiment, "trained before", text, place)


def find_similar(request: Request) -> Iterator[Request]:
    """Trainings that this installation finished for the same round, task and seed."""
    experiment, maker = request.experiment, provenance.describe_installation()
    done = Job.objects.filter(
        kind__in=TRAINING_KINDS,
        status=Job.Status.DONE,
        experiment__task=experiment.task,
        experiment__seed=experiment.seed,
        request__payload__iteration=request.payload["iteration"],
        **{f"progress__made_by__{name}": value for name, value in maker.items()},
    )
    for job in done.exclude(request=request).select_related("request__experiment").order_by("pk"):
        if job.request:
            yield job.request


def holds_finished_job(folder: Path, job: TrainJob) -> bool:
    """Whether the folder holds this job, finished without failures; failed candidates are trained again."""
    try:
        result = read_result(folder)
        if result is None or result.error or result.cancelled or not all(c.ok for c in result.candidates):
            return False
        same = read_job(folder) == job and read_preset(folder, job) == resolve_preset(job)
        return same and run.read_device(folder, job) == run.find_device()
    except (OSError, AttributeError, LookupError, TypeError, ValueError):  # gone meanwhile, damaged, no such device
        return False


def copy_if_equal(earlier: Request, request: Request, job: TrainJob, beat: run_folder.Beat) -> bool:
    """Copy the published files of the earlier training, if it is equal. Returns whether it was copied."""
    folder = run_folder.get_folder(request)
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        run_folder.fetch_files(earlier, part, run_folder.DESCRIPTION, beat)
        if not holds_finished_job(part, job):
            return False
        run_folder.fetch_files(earlier, part, run_folder.NEEDED, beat)
        part.rename(folder)
    except OSError:  # gone meanwhile, or no space for both
        return False
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return True
