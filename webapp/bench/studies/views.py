"""What experimenters read of a study as a whole, and of an experiment's course. Staff only."""

from __future__ import annotations

import re
import uuid

from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from webapp.accounts.access import staff_only
from webapp.base import paper_table
from webapp.base.http import HtmxHttpRequest
from webapp.bench.studies import lineage, overview, reliability
from webapp.experiments.models import Experiment
from webapp.studies.models import Study

FIGURE_KINDS = {"svg": "image/svg+xml", "pdf": "application/pdf"}
TABLE_KINDS = {
    "csv": ("text/csv; charset=utf-8", paper_table.to_csv),
    "tex": ("application/x-tex", paper_table.to_latex),
}


@require_safe
@staff_only
def index(request: HtmxHttpRequest) -> HttpResponse:
    finished = Count("participants", filter=Q(participants__finished_at__isnull=False))
    studies = Study.objects.annotate(people=Count("participants"), done=finished).prefetch_related("arms")
    return render(request, "bench/studies/index.html", {"studies": studies})


@require_safe
@staff_only
def study(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """The whole page, or for its own polling only what moves."""
    found = overview.board(get_object_or_404(Study, pk=pk))
    if request.htmx and not request.htmx.boosted:
        return render(request, "bench/studies/_live.html", {"board": found, "study": found.study})
    said = reliability.answers_of(found.study)
    context = {
        "board": found,
        "study": found.study,
        "answers": said,
        "summary": reliability.summary_table(found.study, said),
        "checks": reliability.quality_table(found.study, said.quality),
        "figures": reliability.figure_names(said),
    }
    return render(request, "bench/studies/study.html", context)


@require_safe
@staff_only
def study_file(request: HtmxHttpRequest, pk: int, name: str, ending: str) -> HttpResponse:
    """A table as csv or tex, a figure as svg or pdf."""
    row = get_object_or_404(Study, pk=pk)
    if name == "people":
        return table_file(overview.people_table(overview.board(row)), ending)
    said = reliability.answers_of(row)
    made = {"answers": reliability.summary_table(row, said), "checks": reliability.quality_table(row, said.quality)}
    if name in made:
        return table_file(made[name], ending)
    if name not in reliability.figure_names(said) or ending not in FIGURE_KINDS:
        raise Http404(f"{row} has no {name}.{ending}.")
    from webapp.bench.studies import paper_figures  # matplotlib is loaded by the first figure that somebody looks at

    shown = paper_figures.drawn(paper_figures.of(said, name), ending)
    return download(shown, FIGURE_KINDS[ending], f"{row.title}-{name}.{ending}", inline=ending == "svg")


@require_safe
@staff_only
def lineage_page(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    experiment = get_object_or_404(Experiment, public_id=public_id)
    return render(
        request, "bench/studies/lineage.html", {"experiment": experiment, "links": lineage.lineage(experiment)}
    )


@require_safe
@staff_only
def lineage_table(request: HtmxHttpRequest, public_id: uuid.UUID, ending: str) -> HttpResponse:
    experiment = get_object_or_404(Experiment, public_id=public_id)
    return table_file(lineage.table(experiment, lineage.lineage(experiment)), ending)


def table_file(table: paper_table.Table, ending: str) -> HttpResponse:
    """The table as a file: csv or tex."""
    if ending not in TABLE_KINDS:
        raise Http404(f"A table comes as {' or '.join(TABLE_KINDS)}, not as {ending!r}.")
    kind, written = TABLE_KINDS[ending]
    return download(written(table), kind, f"{table.title}.{ending}")


def download(content: str | bytes, kind: str, name: str, inline: bool = False) -> HttpResponse:
    stem, _, ending = name.rpartition(".")
    named = f"{re.sub(r'[^a-z0-9]+', '-', stem.lower()).strip('-')}.{ending}"
    how = "inline" if inline else "attachment"
    return HttpResponse(content, content_type=kind, headers={"Content-Disposition": f'{how}; filename="{named}"'})
