"""Experiments and comparisons as a zip to download, without people and films."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db.models import Model
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from webapp.archive import experiment_export, work
from webapp.archive.models import Export
from webapp.audit import record
from webapp.base import scratch
from webapp.base.http import HtmxHttpRequest, respond_with_download
from webapp.bench.data.views import EXPORT, require_right
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Candidate, Experiment

MOST_AT_ONCE = 300
"""Candidates whose zip takes less than two seconds; the zip of more is made by a worker."""


@require_POST
@require_right(EXPORT)
def experiment(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Experiment, public_id=public_id)
    return _respond(request, row, [row], f"experiment-{row.pk}")


@require_POST
@require_right(EXPORT)
def comparison(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Comparison, public_id=public_id)
    try:
        plan = row.plan
    except ValueError as error:
        raise Http404(f"The plan of {row} cannot be read any more: {error}") from error
    return _respond(request, row, Experiment.objects.filter(public_id__in=plan.all_ids), f"comparison-{row.pk}")


def _respond(request: HtmxHttpRequest, row: Model, experiments: Iterable[Experiment], name: str) -> HttpResponse:
    """The zip itself, or the page on which its making is seen."""
    rows = list(experiments)
    record(request.user, "exported experiments", row)
    if Candidate.objects.filter(iteration__experiment__in=rows).count() > MOST_AT_ONCE:
        return redirect("archive:single", _queue(request, rows, name, str(row)).public_id)
    with scratch.make_folder("export") as folder:
        path = folder / "experiments.zip"
        experiment_export.write_export(rows, path, name, str(row))
        content = path.read_bytes()
    return respond_with_download(content, "application/zip", f"prefine-{name}.zip")


def _queue(request: HtmxHttpRequest, rows: Iterable[Experiment], name: str, title: str) -> Export:
    """The export that is being made already, or a new one."""
    busy = (Export.Status.QUEUED, Export.Status.RUNNING)
    found = Export.objects.filter(study=None, name=name, status__in=busy).first()
    if found is None:
        keys = [row.pk for row in rows]
        by = request.user.get_username()
        found = Export(experiments=keys, name=name, title=title[:300], clips=False, by=by)
        work.queue_task(found)
    return found


@require_safe
@require_right(EXPORT)
def single(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """An export of experiments: how far it is, and its file."""
    task = get_object_or_404(Export, public_id=public_id, study=None)
    return render(request, "bench/data/single.html", {"task": task, "may_export": True})
