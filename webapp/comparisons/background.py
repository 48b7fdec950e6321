"""Runs comparisons on the site: starts the next experiment of each whenever none of its experiments runs.

Comparisons may share experiments. Every change locks all comparisons that have not ended and then the experiments, both
in the order of their keys, and leaves alone experiments that another comparison still needs.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress

from django.db import transaction
from django.db.models import Q

from webapp.comparisons import follow_ups, foreground
from webapp.comparisons.models import Comparison
from webapp.experiments import headless, loop
from webapp.experiments.models import Experiment

log = logging.getLogger(__name__)

_warned: set[str] = set()
"""Warnings that this process has logged."""

Status = Comparison.Status
ENDED = (Status.CANCELLED, Status.FINISHED)


def start(comparison: Comparison) -> bool:
    """Begin, or go on after a pause or failures, which are retried. False when it is neither planned nor stopped."""
    with transaction.atomic():
        row, _ = _lock(comparison)
        if row.status not in (Status.PLANNED, Status.PAUSED, Status.FAILED):
            return False
        for experiment in _sort_for_locks(_find_own(row)):
            loop.resume(experiment)
            loop.retry(experiment)
        _set_status(row, comparison, Status.RUNNING)
    start_next(comparison)
    return True


def pause(comparison: Comparison) -> bool:
    """Pause the running experiment at its checkpoint, unless another running comparison has it too, and start none.
    False when the comparison is not running.
    """
    with transaction.atomic():
        row, others = _lock(comparison)
        if row.status != Status.RUNNING:
            return False
        _set_status(row, comparison, Status.PAUSED)
        for experiment in _list_unshared(row, _list_running(others)):
            loop.pause(experiment)
    return True


def cancel(comparison: Comparison) -> bool:
    """End the comparison and cancel its unfinished experiments for good. An experiment that another comparison needs
    goes on if that one is running; else it is paused until that one starts. False when the comparison has ended.
    """
    with transaction.atomic():
        row, others = _lock(comparison)
        if row.status in ENDED:
            return False
        _set_status(row, comparison, Status.CANCELLED)
        shared = _list_planned_ids(others)
        for experiment in _list_unshared(row, _list_running(others)):
            stop = loop.pause if experiment.public_id in shared else loop.cancel
            stop(experiment)
    return True


def continue_running() -> None:
    """Called by the reaper: continue every running comparison, and fail those whose plan cannot be read any more."""
    for comparison in Comparison.objects.filter(status=Status.RUNNING):
        try:
            known = _find_own(comparison)
        except ValueError as error:
            log.warning("the comparison %s ends: %s", comparison, error)
            Comparison.objects.filter(pk=comparison.pk, status=Status.RUNNING).update(status=Status.FAILED)
            continue
        if not _is_running(known):
            start_next(comparison)


def start_next(comparison: Comparison) -> None:
    """Start the next experiment when none is running, or end the comparison when none is left.

    One at a time, as on the command line: the candidates of one experiment share the cores.
    """
    with transaction.atomic():
        row, _ = _lock(comparison)
        plan, elsewhere = row.plan, row.finished_elsewhere
        known = _find_own(row)
        if row.status != Status.RUNNING or _is_running(known):
            return
        for step in follow_ups.list_steps(plan):
            if step.public_id in elsewhere or not _is_to_start(known.get(step.public_id)) or not step.is_ready(known):
                continue
            if experiment := follow_ups.create(step, known):
                loop.start(experiment)
                return
    if not _save_records(known.values()):
        return
    broken = any(experiment.status == Experiment.Status.FAILED for experiment in known.values())
    with transaction.atomic():
        row, _ = _lock(comparison)
        if row.status == Status.RUNNING:
            _set_status(row, comparison, Status.FAILED if broken else Status.FINISHED)


def _save_records(experiments: Iterable[Experiment]) -> bool:
    """Write the records of finished experiments. False where the disk is full: the reaper tries again."""
    for experiment in experiments:
        if experiment.status == Experiment.Status.FINISHED:
            try:
                headless.save_record(experiment)
            except OSError as error:
                _warn_once(f"cannot write the record of {experiment}: {error}")
                return False
    _warned.clear()
    return True


def _warn_once(words: str) -> None:
    """Log a warning once, because the reaper tries every second. The comparison's page shows the problem too."""
    if words not in _warned:
        log.warning("%s", words)
        _warned.add(words)


def read_state(comparison: Comparison) -> foreground.State | None:
    """The state; None where the plan cannot be read any more."""
    try:
        return foreground.read_state(comparison.plan, comparison.finished_elsewhere)
    except ValueError:
        return None


def _find_own(comparison: Comparison) -> dict[uuid.UUID, Experiment]:
    """The experiments of its plan that have begun, without those that were finished elsewhere."""
    elsewhere = comparison.finished_elsewhere
    return {number: row for number, row in comparison.plan.find_experiments().items() if number not in elsewhere}


def _is_running(known: Mapping[uuid.UUID, Experiment]) -> bool:
    return any(experiment.live for experiment in known.values())


def _is_to_start(experiment: Experiment | None) -> bool:
    return experiment is None or experiment.status == Experiment.Status.DRAFT


def _lock(comparison: Comparison) -> tuple[Comparison, list[Comparison]]:
    """The comparison and the others that have not ended, locked."""
    open_rows = Comparison.objects.select_for_update(of=("self",)).exclude(Q(status__in=ENDED) & ~Q(pk=comparison.pk))
    rows = {row.pk: row for row in open_rows.order_by("pk")}
    row = rows.pop(comparison.pk, None)
    if row is None:
        raise Comparison.DoesNotExist(f"the comparison {comparison} was deleted")
    return row, list(rows.values())


def _list_running(comparisons: Iterable[Comparison]) -> list[Comparison]:
    return [row for row in comparisons if row.status == Status.RUNNING]


def _list_unshared(comparison: Comparison, others: Iterable[Comparison]) -> list[Experiment]:
    """Its experiments that none of the others has, in the order of locks."""
    shared = _list_planned_ids(others)
    return _sort_for_locks({key: row for key, row in comparison.plan.find_experiments().items() if key not in shared})


def _list_planned_ids(comparisons: Iterable[Comparison]) -> set[uuid.UUID]:
    """The ids of the comparisons' experiments, without plans that cannot be read any more."""
    found: set[uuid.UUID] = set()
    for row in comparisons:
        with suppress(ValueError):
            found.update(row.plan.all_ids)
    return found


def _sort_for_locks(experiments: Mapping[uuid.UUID, Experiment]) -> list[Experiment]:
    return sorted(experiments.values(), key=lambda row: row.pk)


def _set_status(row: Comparison, given: Comparison, status: str) -> None:
    row.status = given.status = status
    row.save(update_fields=["status"])
