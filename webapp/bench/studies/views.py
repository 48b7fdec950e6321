"""The pages of studies, and the lineage of an experiment. Staff only."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from webapp.accounts.access import staff_only
from webapp.base import paper_table
from webapp.base.http import HtmxHttpRequest, respond_with_download
from webapp.bench.chart_html import draw_figure, respond_with_charts
from webapp.bench.studies import lineage, overview, paper_figures, reliability, results, results_tables
from webapp.experiments.models import Experiment
from webapp.studies import pilots, preflight
from webapp.studies.models import Study

TABLE_TYPES = {
    "csv": ("text/csv; charset=utf-8", paper_table.to_csv),
    "tex": ("application/x-tex", paper_table.to_latex),
}


@require_safe
@staff_only
def index(request: HtmxHttpRequest) -> HttpResponse:
    studies = Study.objects.count_people().prefetch_related("arms")
    return render(request, "bench/studies/index.html", {"studies": studies})


@require_safe
@staff_only
def study(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """The whole page; only the live part for the page's own polling."""
    row = get_object_or_404(Study, pk=pk)
    live = {"overview": overview.build_overview(row), "study": row}
    if request.htmx and not request.htmx.boosted:
        return render(request, "bench/studies/_live.html", live)
    answers = reliability.read_answers(row)
    context = {
        **live,
        **_describe_results(row, answers),
        "pilot_refusal": pilots.find_refusal(row),
        "equal_arms": preflight.describe_equal_arms(row),
        "answers": answers,
        "summary": reliability.build_summary_table(row, answers),
        "checks": reliability.build_quality_table(row, answers.quality),
        "figures": [
            draw_figure(chart, f"{reverse('bench:study', args=[pk])}{chart.slug}", 480, 260, titled=True)
            for chart in paper_figures.build_charts(answers)
        ],
    }
    return render(request, "bench/studies/study.html", context)


def _describe_results(row: Study, answers: reliability.Answers) -> dict[str, Any]:
    """What templates/bench/studies/_results.html shows."""
    found = results.read_study_results(row)
    tables = results_tables.build_tables(row, found, answers.quality)
    return {
        "results": found,
        "result_figures": [
            draw_figure(chart, f"{reverse('bench:study', args=[row.pk])}{chart.slug}", 480, 260, titled=True)
            for chart in results.build_charts(found)
        ],
        "result_tables": [(results_tables.HEADINGS[slug], table) for slug, table in tables.items()],
    }


@require_safe
@staff_only
def study_file(request: HtmxHttpRequest, pk: int, name: str, ending: str) -> HttpResponse:
    """A table as csv or tex, a figure as svg, pdf or csv."""
    row = get_object_or_404(Study, pk=pk)
    if name == "people":
        return respond_with_table(overview.build_people_table(overview.build_overview(row)), ending)
    answers = reliability.read_answers(row)
    tables = {
        "answers": reliability.build_summary_table(row, answers),
        "checks": reliability.build_quality_table(row, answers.quality),
    }
    found = results.read_study_results(row)
    tables |= results_tables.build_tables(row, found, answers.quality)
    if name in tables:
        return respond_with_table(tables[name], ending)
    charts = [*results.build_charts(found), *paper_figures.build_charts(answers)]
    shown = [chart for chart in charts if chart.slug == name]
    if not shown:
        raise Http404(f"{row} has no {name}.{ending}.")
    return respond_with_charts(shown, ending, f"{row.title}-{name}")


@require_safe
@staff_only
def lineage_page(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    experiment = get_object_or_404(Experiment, public_id=public_id)
    return render(
        request, "bench/studies/lineage.html", {"experiment": experiment, "picks": lineage.read_lineage(experiment)}
    )


@require_safe
@staff_only
def lineage_table(request: HtmxHttpRequest, public_id: uuid.UUID, ending: str) -> HttpResponse:
    experiment = get_object_or_404(Experiment, public_id=public_id)
    return respond_with_table(lineage.build_table(experiment, lineage.read_lineage(experiment)), ending)


def respond_with_table(table: paper_table.Table, ending: str) -> HttpResponse:
    """The table as a file: csv or tex."""
    if ending not in TABLE_TYPES:
        raise Http404(f"A table comes as {' or '.join(TABLE_TYPES)}, not as {ending!r}.")
    content_type, write = TABLE_TYPES[ending]
    return respond_with_download(write(table), content_type, f"{table.title}.{ending}")
