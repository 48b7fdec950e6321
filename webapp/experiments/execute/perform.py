"""Record episodes of a policy that another experiment trained, and order their films."""

from __future__ import annotations

import time
from pathlib import Path

from trainer import launch
from trainer.records import FINAL
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments import jobs, run_folder
from webapp.experiments.execute.train import POLL_SECONDS, find_candidates
from webapp.experiments.kinds import train
from webapp.experiments.leases import Lease
from webapp.experiments.models import Candidate, Experiment, Request

FIRST_SEED = 1_000_000
"""Of the episodes that are filmed: none of those over which scores are averaged. All policies begin alike."""
GONE = "The policy {policy} is gone: the experiment that trained it, or its files, were deleted."


def perform(lease: Lease) -> None:
    request = lease.job.request
    assert request is not None
    candidates = find_candidates(request)
    with scratch.make_folder("film") as folder:
        policy = folder / "policy.pt"
        if not fetch_policy(request, policy):
            lease.fail(GONE.format(policy=request.payload["policy"]))
            return
        rollouts = [folder / f"{position}.npz" for position in range(len(candidates))]
        error = record_episodes(lease, policy, rollouts)
        if error:
            lease.fail(f"Episodes of policy {request.payload['policy']} could not be recorded: {error}")
            return
        with lease.beat_in_background():
            for position, rollout in enumerate(rollouts):
                store.publish(run_folder.get_rollout_key(request, position), rollout)
    with lease.settle() as experiment:
        Candidate.objects.filter(pk__in=[row.pk for row in candidates]).update(status=Candidate.Status.TRAINED)
        jobs.order_clips(experiment, request, candidates, FINAL)


def fetch_policy(request: Request, target: Path) -> bool:
    """Copy the policy's file from the store; False where it is gone."""
    trained = Experiment.objects.filter(public_id=request.payload["of"]).first()
    place = train.find_training(trained, request.payload["policy"]) if trained else None
    if place is None:
        return False
    key = f"{place[0].run_key}/checkpoints/policies/{place[1]}.pt"
    if store.size(key) is None:
        return False
    store.fetch(key, target)
    return True


def record_episodes(lease: Lease, policy: Path, rollouts: list[Path]) -> str:
    """Record one episode into each file. Returns what went wrong; empty if nothing did."""
    process = launch.record(policy, [(FIRST_SEED + number, path) for number, path in enumerate(rollouts)])
    try:
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            lease.beat()
        said = process.stderr.read().strip() if process.stderr else ""
        return said[-500:] or f"status {process.returncode}" if process.returncode else ""
    finally:
        launch.stop(process)
        if process.stderr:
            process.stderr.close()
