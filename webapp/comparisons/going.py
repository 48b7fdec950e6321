"""Carries comparisons through on the site: whenever nothing of one is running, its next experiment starts."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping

from django.db import transaction

from webapp.comparisons.models import Comparison
from webapp.experiments import headless, loop
from webapp.experiments.comparison import carry
from webapp.experiments.models import Experiment

log = logging.getLogger(__name__)

Status = Comparison.Status


def start(comparison: Comparison) -> bool:
    """Begin, or go on after a pause; what had failed is tried again. False when it is neither planned nor stopped."""
    with transaction.atomic():
        row = _lock(comparison)
        if row.status not in (Status.PLANNED, Status.PAUSED, Status.FAILED):
            return False
        for experiment in row.plan.existing().values():
            loop.resume(experiment)
            loop.retry(experiment)
        _set(row, comparison, Status.RUNNING)
    go_on(comparison)
    return True


def pause(comparison: Comparison) -> bool:
    """The experiment that runs is paused at its checkpoint; none is started. False when it is not running."""
    with transaction.atomic():
        row = _lock(comparison)
        if row.status != Status.RUNNING:
            return False
        _set(row, comparison, Status.PAUSED)
        for experiment in row.plan.existing().values():
            loop.pause(experiment)
    return True


def cancel(comparison: Comparison) -> bool:
    """End it: experiments that have begun and are not over are cancelled for good. False when it has ended already."""
    with transaction.atomic():
        row = _lock(comparison)
        if row.status in (Status.CANCELLED, Status.FINISHED):
            return False
        _set(row, comparison, Status.CANCELLED)
        for experiment in row.plan.existing().values():
            loop.cancel(experiment)
    return True


def pick_up() -> None:
    """Called by the reaper: every running comparison goes on. One whose plan cannot be read any more, ends."""
    for comparison in Comparison.objects.filter(status=Status.RUNNING):
        try:
            known = comparison.plan.existing()
        except ValueError as error:
            log.warning("the comparison %s ends: %s", comparison, error)
            Comparison.objects.filter(pk=comparison.pk, status=Status.RUNNING).update(status=Status.FAILED)
            continue
        if not _running(known):
            go_on(comparison)


def go_on(comparison: Comparison) -> None:
    """Start the next experiment when none is running, or end the comparison when none is left.

    One at a time, as on the command line: the candidates of one experiment share the cores.
    """
    with transaction.atomic():
        row = _lock(comparison)
        plan = row.plan
        known = plan.existing()
        if row.status != Status.RUNNING or _running(known):
            return
        waiting = [cell for cell in plan.cells() if _waits(known.get(plan.public_id(cell)))]
        if waiting:
            loop.start(plan.experiment(waiting[0]))
            return
        broken = any(experiment.status == Experiment.Status.FAILED for experiment in known.values())
        _set(row, comparison, Status.FAILED if broken else Status.FINISHED)
    for experiment in known.values():
        if experiment.status == Experiment.Status.FINISHED:
            headless.save_record(experiment)


def state(comparison: Comparison) -> carry.State | None:
    """None where its plan cannot be read any more."""
    try:
        return carry.state(comparison.plan)
    except ValueError:
        return None


def _running(known: Mapping[uuid.UUID, Experiment]) -> bool:
    return any(experiment.live for experiment in known.values())


def _waits(experiment: Experiment | None) -> bool:
    return experiment is None or experiment.status == Experiment.Status.DRAFT


def _lock(comparison: Comparison) -> Comparison:
    return Comparison.objects.select_for_update(of=("self",)).get(pk=comparison.pk)


def _set(row: Comparison, given: Comparison, status: str) -> None:
    row.status = given.status = status
    row.save(update_fields=["status"])
