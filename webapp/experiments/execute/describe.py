"""Have the difference between two rewards put into words."""

from __future__ import annotations

from llm import records, writer
from webapp.experiments import results
from webapp.experiments.execute.calls import backend_of, saved_calls, saver
from webapp.experiments.leases import Lease


def describe(lease: Lease) -> None:
    request = lease.job.request
    assert request is not None
    wanted = records.Describe(**{**request.payload, "messages": tuple(request.payload["messages"])})
    with lease.beating():
        said = writer.ask(backend_of(lease.job.experiment.model), wanted, saved_calls(request), saver(request))
    if said.error:
        lease.fail(f"Describing round {wanted.iteration} failed: {said.error}")
        return
    with lease.settle():
        results.complete(request, said.text)
