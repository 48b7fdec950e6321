"""The pages of studies, and the lineage of an experiment. Staff only."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from webapp.audit import record
from webapp.base import paper_table
from webapp.base.http import HtmxHttpRequest, get_site_address, respond_with_download
from webapp.bench.chart_html import draw_figure, respond_with_charts
from webapp.bench.studies import lineage, overview, paper_figures, reliability, results, results_charts, results_tables
from webapp.bench.studies.arm_progress import build_arm_progress
from webapp.bench.studies.forms import MOST_AT_ONCE, InviteForm, StatusForm
from webapp.bench.studies.status import set_status
from webapp.bench.studies.wizard import STEPS
from webapp.experiments.models import Experiment
from webapp.studies import enrolment, opening, pilots, preflight, prolific, recruitment
from webapp.studies.models import Participant, Study

TABLE_TYPES = {
    "csv": ("text/csv; charset=utf-8", paper_table.to_csv),
    "tex": ("application/x-tex", paper_table.to_latex),
}


@require_safe
def index(request: HtmxHttpRequest) -> HttpResponse:
    studies = Study.objects.count_people().prefetch_related("arms")
    return render(request, "bench/studies/index.html", {"studies": studies})


@require_safe
def study(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """The whole page; only the live part for the page's own polling."""
    row = get_object_or_404(Study, pk=pk)
    now = overview.build_overview(row)
    live = {"overview": now, "arm_progress": build_arm_progress(now.places), "study": row}
    if request.htmx and not request.htmx.boosted:
        return render(request, "bench/studies/_live.html", {**live, "polled": True})
    answers = reliability.read_answers(row)
    context = {
        **live,
        **_describe_results(row, answers),
        **_make_set_up_context(request, row),
        "pay": prolific.read_pay(row),
        "code_types": prolific.list_code_types(row),
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
            for chart in results_charts.build_charts(found)
        ],
        "result_tables": [(results_tables.HEADINGS[slug], table) for slug, table in tables.items()],
    }


def _make_set_up_context(request: HtmxHttpRequest, row: Study) -> dict[str, Any]:
    """What is still to be done, and the links of the people."""
    links = row.participants.exclude_pilots().filter(source=Participant.Source.LINK, deleted_at=None)
    by_hand = row.assignment == Study.Assigning.BY_HAND
    imported = hasattr(row, "origin")
    return {
        "steps": list(STEPS.items()),
        "problems": opening.find_problems(row) if row.status == Study.Status.DRAFT else [],
        "refused": opening.find_closed_reason(row) if row.status == Study.Status.OPEN else "",
        "inside": opening.count_active(row),
        "site": get_site_address(request),
        "link_parameters": recruitment.make_link_parameters(row),
        "may_invite": not imported and request.user.has_perm("studies.change_study"),
        "links": links.order_by("label"),
        "hand_places": range(1, row.experiments_each + 1) if by_hand else [],
        "most_at_once": MOST_AT_ONCE,
    }


@require_POST
def status(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Open or close the study, and go to its page; back to the last check where it cannot be opened."""
    row = get_object_or_404(Study, pk=pk)
    form = StatusForm(request.POST)
    done = form.is_valid() and set_status(request, row, **form.cleaned_data)
    return redirect("bench:study", pk) if done else redirect("bench:study_step", pk, "check")


@require_POST
def invite(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Add participants with personal links."""
    row = get_object_or_404(Study, pk=pk)
    form = InviteForm(row, request.POST)
    if form.is_valid():
        labels = enrolment.invite(row, form.cleaned_data["count"], form.arms)
        record(request.user, "invited participants", row, participants=len(labels))
        messages.success(request, f"Added {', '.join(labels)}. Their links are below.")
    else:
        messages.error(request, str(next(iter(form.errors.values()))[0]))
    return redirect(f"{reverse('bench:study', args=[pk])}#links")


@require_safe
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
    charts = [*results_charts.build_charts(found), *paper_figures.build_charts(answers)]
    shown = [chart for chart in charts if chart.slug == name]
    if not shown:
        raise Http404(f"{row} has no {name}.{ending}.")
    return respond_with_charts(shown, ending, f"{row.title}-{name}")


@require_safe
def lineage_page(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    experiment = get_object_or_404(Experiment, public_id=public_id)
    return render(
        request, "bench/studies/lineage.html", {"experiment": experiment, "picks": lineage.read_lineage(experiment)}
    )


@require_safe
def lineage_table(request: HtmxHttpRequest, public_id: uuid.UUID, ending: str) -> HttpResponse:
    experiment = get_object_or_404(Experiment, public_id=public_id)
    return respond_with_table(lineage.build_table(experiment, lineage.read_lineage(experiment)), ending)


def respond_with_table(table: paper_table.Table, ending: str) -> HttpResponse:
    """The table as a file: csv or tex."""
    if ending not in TABLE_TYPES:
        raise Http404(f"A table comes as {' or '.join(TABLE_TYPES)}, not as {ending!r}.")
    content_type, write = TABLE_TYPES[ending]
    return respond_with_download(write(table), content_type, f"{table.title}.{ending}")
