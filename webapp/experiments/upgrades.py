"""The two ways on for an experiment whose method's flow changed with an upgrade of Prefine."""

from __future__ import annotations

from django.db import transaction

from llm.methods import METHODS
from llm.replay import Record
from webapp.experiments import events, jobs, loop, revisions, trained_presets
from webapp.experiments.models import Experiment, Job


@transaction.atomic
def end_early(experiment: Experiment) -> bool:
    """End the experiment: the judge chooses the winner among the finished rounds.

    False if it did not stop because its flow changed, or nothing has been tried.
    """
    row = loop.lock(experiment.pk)
    if not _is_stopped(row) or not revisions.list_bests(row):
        return False
    values = {"status": Experiment.Status.RUNNING, "error": "", "flow_changed": False, "ends_early": True}
    loop.update_fields(row, experiment, **values)
    revisions.set_aside_open(row)
    events.emit(row, "ended early", "No more rounds: the winner is chosen among those that are there.", public=True)
    jobs.add(row, Job.Kind.ADVANCE)
    return True


@transaction.atomic
def follow_current_flow(experiment: Experiment) -> bool:
    """Continue under the method's current flow, with the answers that fit.

    False if the experiment did not stop because its flow changed, or its method or an option of it is gone.
    """
    row = loop.lock(experiment.pk)
    if not _is_stopped(row) or not has_current_method(row):
        return False
    today = METHODS[row.method]
    values = {"status": Experiment.Status.RUNNING, "error": "", "flow_changed": False, "revision": today.revision}
    loop.update_fields(row, experiment, **values)
    revisions.set_aside_all(row)
    text = f"Goes on under revision {today.revision} of {today.title}. Answers that fit are taken over."
    events.emit(row, "revised", text, public=True)
    jobs.add(row, Job.Kind.ADVANCE)
    return True


def _is_stopped(row: Experiment) -> bool:
    return row.status == Experiment.Status.FAILED and row.flow_changed and not loop.is_imported(row)


def has_current_method(row: Experiment) -> bool:
    """Whether this version still has the experiment's method and options."""
    try:
        METHODS[row.method].settings(row.options)
    except (KeyError, ValueError):
        return False
    return True


def build_record(experiment: Experiment) -> Record:
    """The experiment as a record for `python -m llm.replay`."""
    return Record(
        problem=loop.describe_task(experiment),
        method=experiment.method,
        seed=experiment.seed,
        k=experiment.k,
        n=experiment.n,
        requests=tuple(revisions.read_answered(experiment)),
        options=experiment.options,
        winner=experiment.winner.key if experiment.winner else None,
        revision=experiment.revision,
        ended_early=experiment.ends_early,
        set_aside=tuple(revisions.read_set_aside(experiment)),
        training_start=experiment.training_start,
        shared_experience=experiment.shared_experience,
        prompts=experiment.prompts,
        presets=tuple(trained_presets.list_used(experiment)),
    )
