"""Have K reward functions written, checked and repaired."""

from __future__ import annotations

from functools import partial

from llm import records, writer
from trainer import launch
from webapp.experiments import loop, results
from webapp.experiments.execute.calls import backend_of, room_of, saved_calls, saver, within_budget
from webapp.experiments.execute.watching import Watching
from webapp.experiments.leases import Lease


def write(lease: Lease) -> None:
    request, experiment = lease.job.request, lease.job.experiment
    assert request is not None
    wanted = records.from_payload("Write", request.payload)
    assert isinstance(wanted, records.Write)
    try:
        with lease.beating() as stop_check:
            watching = Watching(lease, stop_check, request, wanted.count)
            written = writer.write(
                backend_of(experiment.model),
                wanted,
                loop.problem_of(experiment),
                partial(launch.check, experiment.task),
                saved_calls(request),
                watching.saving(saver(request)),
                within_budget(experiment, stop_check),
                room_of(experiment.model),
                watching,
            )
    except RuntimeError as error:  # the checker did not answer
        lease.strike(str(error))
        return
    if written.error:
        lease.fail(f"Writing rewards for round {wanted.iteration} failed: {written.error}")
        return
    with lease.settle():
        results.complete(request, records.result_to_json("Write", written.candidates))
