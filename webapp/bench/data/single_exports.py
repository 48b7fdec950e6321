"""Experiments and comparisons as a zip to download, without people and films."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db.models import Model
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from webapp.archive import experiment_export
from webapp.audit import record
from webapp.base import scratch
from webapp.base.http import HtmxHttpRequest, respond_with_download
from webapp.bench.data.views import EXPORT, require_right
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Experiment


@require_safe
@require_right(EXPORT)
def experiment(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Experiment, public_id=public_id)
    return _respond(request, row, [row], f"experiment-{row.pk}")


@require_safe
@require_right(EXPORT)
def comparison(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Comparison, public_id=public_id)
    try:
        plan = row.plan
    except ValueError as error:
        raise Http404(f"The plan of {row} cannot be read any more: {error}") from error
    ids = [plan.public_id(cell) for cell in plan.cells()]
    return _respond(request, row, Experiment.objects.filter(public_id__in=ids), f"comparison-{row.pk}")


def _respond(request: HtmxHttpRequest, row: Model, experiments: Iterable[Experiment], name: str) -> HttpResponse:
    with scratch.temporary_folder("export") as folder:
        path = folder / "experiments.zip"
        experiment_export.write_export(experiments, path, name, str(row))
        content = path.read_bytes()
    record(request.user, "exported experiments", row)
    return respond_with_download(content, "application/zip", f"prefine-{name}.zip")
