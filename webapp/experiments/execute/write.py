"""Have K reward functions written, checked and repaired; or K answers to a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from llm import answer_writer, records, writer
from llm.backend import ChatBackend, OnReply, Reply, Watch
from llm.forms import find_form
from llm.reply_buyer import StopCheck
from simulation import catalog
from trainer import launch
from trainer.records import apply_overrides
from webapp.experiments import loop, request_results
from webapp.experiments.execute.model_calls import (
    build_saver,
    get_context_tokens,
    note_context,
    open_budgeted_backend,
    read_saved_replies,
    report_left_out,
)
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment
from webapp.problems import lookup


def write(lease: Lease) -> None:
    request, experiment = lease.job.request, lease.job.experiment
    assert request is not None
    wanted = records.read_payload(request.kind, request.payload)
    assert isinstance(wanted, records.Write)
    try:
        with lease.beat_in_background() as stop_check:
            progress = WritingProgress(lease, stop_check, request, wanted.count)
            arguments = WriterArguments(
                read_saved_replies(request),
                progress.wrap_saver(build_saver(lease)),
                stop_check,
                get_context_tokens(experiment.model),
                progress,
            )
            written = write_candidates(experiment, open_budgeted_backend(lease, "writer", progress), wanted, arguments)
    except RuntimeError as error:  # the checker did not answer
        lease.strike(str(error))
        return
    if written.error and note_context(lease, experiment.model, written.room):
        write(lease)
        return
    if written.error:
        lease.fail(f"Writing {experiment.medium.candidates} for round {wanted.iteration} failed: {written.error}")
        return
    with lease.settle() as locked:
        report_left_out(locked, wanted.iteration, experiment.model, written.left_out)
        request_results.complete(request, records.result_to_json(request.kind, written.candidates))


@dataclass(frozen=True)
class WriterArguments:
    """Arguments that both writers take."""

    saved: Sequence[Reply]
    on_call: OnReply
    stop_check: StopCheck
    room: int
    watch: Watch


def write_candidates(
    experiment: Experiment, backend: ChatBackend, wanted: records.Write, arguments: WriterArguments
) -> writer.Written:
    """Executable rewards, checked and repaired; or answers to a problem, with its figures in the prompt."""
    problem = loop.describe_task(experiment)
    if find_form(problem).checked:
        states = apply_overrides(catalog.get_preset(experiment.task, experiment.preset), experiment.overrides).states
        states *= experiment.k if experiment.shared_experience else 1
        check = partial(launch.check, experiment.task, states=states)
        return writer.write(backend, wanted, problem, check, **vars(arguments))
    images = lookup.read_pictures(lookup.find_problem(experiment.task))
    return answer_writer.write(backend, wanted, problem, images=images, **vars(arguments))
