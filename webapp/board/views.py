"""What experimenters read of a study as a whole, and of an experiment's course. Staff only."""

from __future__ import annotations

import re
import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from webapp.board import lineage, tables
from webapp.experiments.models import Experiment
from webapp.experiments.views import staff_only
from webapp.http import HtmxHttpRequest

TABLE_KINDS = {"csv": ("text/csv; charset=utf-8", tables.to_csv), "tex": ("application/x-tex", tables.to_latex)}


@require_safe
@staff_only
def lineage_page(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    experiment = get_object_or_404(Experiment, public_id=public_id)
    return render(request, "board/lineage.html", {"experiment": experiment, "links": lineage.lineage(experiment)})


@require_safe
@staff_only
def lineage_table(request: HtmxHttpRequest, public_id: uuid.UUID, ending: str) -> HttpResponse:
    experiment = get_object_or_404(Experiment, public_id=public_id)
    return table_file(lineage.table(experiment, lineage.lineage(experiment)), ending)


def table_file(table: tables.Table, ending: str) -> HttpResponse:
    """The table as a file: csv or tex."""
    if ending not in TABLE_KINDS:
        raise Http404(f"A table comes as {' or '.join(TABLE_KINDS)}, not as {ending!r}.")
    kind, written = TABLE_KINDS[ending]
    return download(written(table), kind, f"{table.title}.{ending}")


def download(content: str | bytes, kind: str, name: str) -> HttpResponse:
    stem, _, ending = name.rpartition(".")
    named = f"{re.sub(r'[^a-z0-9]+', '-', stem.lower()).strip('-')}.{ending}"
    return HttpResponse(content, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{named}"'})
