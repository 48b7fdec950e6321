"""Have K reward functions written, checked and repaired."""

from __future__ import annotations

from functools import partial

from llm import records, writer
from trainer import launch
from webapp.experiments import loop, results
from webapp.experiments.execute.calls import backend_of, saved_calls, saver
from webapp.experiments.leases import Lease
from webapp.experiments.models import Request


def write(lease: Lease) -> None:
    request, experiment = lease.job.request, lease.job.experiment
    assert request is not None
    try:
        with lease.beating():
            written = writer.write(
                backend_of(experiment.model),
                asked(request),
                loop.problem_of(experiment),
                partial(launch.check, experiment.task),
                saved_calls(request),
                saver(request),
            )
    except RuntimeError as error:  # the checker did not answer
        lease.strike(str(error))
        return
    if written.error:
        lease.fail(f"Writing rewards for round {request.payload['iteration']} failed: {written.error}")
        return
    with lease.settle():
        results.complete(request, records.result_to_json("Write", written.candidates))


def asked(request: Request) -> records.Write:
    """The method's request, as its row holds it."""
    return records.Write(**{**request.payload, "messages": tuple(request.payload["messages"])})
