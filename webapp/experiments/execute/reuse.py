"""A training that has been done is not done again: what came of it is copied."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from trainer import run
from trainer.records import TrainJob, read_job, read_result
from webapp.experiments import provenance, run_folder
from webapp.experiments.models import Experiment, Job, Request


def copy_equal_training(request: Request, job: TrainJob, beat: run_folder.Beat) -> Experiment | None:
    """Put a copy of the folder of an equal training where this one's is to be; whose it was, or None.

    Equal are task, rewards, seed and settings, on the same machine and device with the same code: on a CPU the same
    numbers would come of it, on a GPU such as could have come. Not for people, who would wait for one arm of a study
    and not for another.
    """
    by_people = request.experiment.judge_info.asks_people
    if run_folder.has_begun(request) or job.warm or by_people or not provenance.code_is_committed():
        return None
    for earlier in find_similar(request):
        if copy_if_equal(earlier, request, job, beat):
            return earlier.experiment
    return None


def find_similar(request: Request) -> Iterator[Request]:
    """Trainings of the same round of experiments with the same seed on the same task that were finished here."""
    experiment, maker = request.experiment, provenance.describe_installation()
    done = Job.objects.filter(
        kind=Job.Kind.TRAIN,
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
    """Whether this folder holds the job, trained to the end. What could not be trained is tried again."""
    try:
        result = read_result(folder)
        if result is None or result.error or result.cancelled or not all(c.ok for c in result.candidates):
            return False
        return read_job(folder) == job and run.trained_on(folder, job) == run.device()
    except (OSError, AttributeError, LookupError, TypeError, ValueError):  # gone meanwhile, damaged, no such device
        return False


def copy_if_equal(earlier: Request, request: Request, job: TrainJob, beat: run_folder.Beat) -> bool:
    """Whether the earlier training is the same, and all that is published of it could be copied."""
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
