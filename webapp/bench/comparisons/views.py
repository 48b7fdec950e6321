"""The pages of comparisons: plan one, watch it, read its report. Staff only."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.base.charts import Chart
from webapp.base.http import HtmxHttpRequest
from webapp.bench.chart_html import draw_figure, respond_with_charts
from webapp.bench.comparisons import overview
from webapp.bench.comparisons.forms import KINDS, ComparisonForm, copy_settings, find_kind
from webapp.comparisons import background, findings, report
from webapp.comparisons.models import Comparison

ACTIONS: dict[str, tuple[Callable[[Comparison], bool], str, str]] = {
    "start": (background.start, "Started: one experiment after another.", "It is running already, or has ended."),
    "pause": (background.pause, "Paused. Work in progress stops at its checkpoint.", "It is not running."),
    "cancel": (background.cancel, "Cancelled. What was finished so far stays.", "It has ended already."),
}
CONTENT_TYPES = {".json": "application/json", ".md": "text/markdown; charset=utf-8", ".csv": "text/csv; charset=utf-8"}
DOWNLOADS = (
    ("report.md", "Report (Markdown)"),
    ("summary.csv", "Methods (CSV)"),
    ("experiments.csv", "Experiments (CSV)"),
    ("rounds.csv", "Rounds (CSV)"),
    ("plan.json", "Record of the plan (JSON)"),
)
FRESH_SECONDS = 10.0
"""A report is written again once it is this old."""


@require_safe
def index(request: HtmxHttpRequest) -> HttpResponse:
    page = Paginator(Comparison.objects.all(), 30).get_page(request.GET.get("page"))
    rows = [(row, background.read_state(row) if row.live or row.left_to_command else None) for row in page]
    return render(request, "bench/comparisons/index.html", {"page": page, "rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HtmxHttpRequest) -> HttpResponse:
    """Saves a plan. Nothing runs before somebody starts it on its own page, which says what it will take.

    `copy` names a comparison whose settings fill the form.
    """
    copied = copy_settings(request.GET.get("copy", ""))
    asked = request.GET.get("kind", "")
    kind = asked if asked in KINDS else find_kind(copied.get("tasks", []))
    form = ComparisonForm(request.POST or None, request.FILES or None, kind=kind, initial=copied)
    if request.method == "POST" and form.is_valid():
        row = form.save()
        messages.success(request, f"{row} is planned. Nothing runs before you start it.")
        return redirect("comparisons:comparison", row.public_id)
    context = {"form": form, "kind": kind, "kinds": KINDS.items()}
    return render(request, "bench/comparisons/new.html", context, status=422 if form.errors else 200)


@require_safe
def comparison(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Comparison, public_id=public_id)
    try:
        found = overview.build_overview(row)
    except ValueError as error:
        return render(request, "bench/comparisons/unreadable.html", {"comparison": row, "error": str(error)})
    context = {
        "overview": found,
        "comparison": row,
        "downloads": DOWNLOADS,
        "tasks": _draw_tasks(found),
        "claims": _draw_claims(found),
    }
    live = request.htmx and not request.htmx.boosted
    return render(request, "bench/comparisons/_live.html" if live else "bench/comparisons/comparison.html", context)


def _draw_tasks(found: overview.ComparisonOverview) -> list[tuple[overview.TaskScores, list[SafeString]]]:
    def draw(chart: Chart) -> SafeString:
        return draw_figure(
            chart, reverse("comparisons:file", args=[found.comparison.public_id, chart.slug]), height=260, titled=True
        )

    return [(scores, [draw(chart) for chart in scores.charts]) for scores in found.tasks]


def _draw_claims(found: overview.ComparisonOverview) -> list[tuple[findings.Finding, SafeString | None]]:
    """Every contrast with its figure, where it has pairs."""
    drawn = {chart.slug: chart for chart in found.evidence_charts}
    address = found.comparison.public_id
    figures = [
        draw_figure(drawn[slug], reverse("comparisons:file", args=[address, slug]), height=220)
        if slug in drawn
        else None
        for slug in (f"claim-{number}" for number in range(1, len(found.evidence.findings) + 1))
    ]
    return list(zip(found.evidence.findings, figures, strict=True))


@require_POST
def act(request: HtmxHttpRequest, public_id: uuid.UUID, action: str) -> HttpResponse:
    if action not in ACTIONS:
        raise Http404(f"There is no action {action!r}.")
    perform, done, refused = ACTIONS[action]
    row = get_object_or_404(Comparison, public_id=public_id)
    try:
        changed = perform(row)
    except ValueError:  # its plan cannot be read any more; its page says why
        changed = False
    if changed:
        messages.success(request, done)
    else:
        messages.warning(request, f"Nothing was changed. {refused}")
    return redirect("comparisons:comparison", public_id)


@require_safe
def file(request: HtmxHttpRequest, public_id: uuid.UUID, name: str) -> HttpResponse:
    """A figure, or a file of the report, which ./prefine compare writes too."""
    row = get_object_or_404(Comparison, public_id=public_id)
    slug, _, ending = name.rpartition(".")
    try:
        charts = overview.build_overview(row).charts
        if shown := [chart for chart in charts if chart.slug == slug]:
            return respond_with_charts(shown, ending, slug)
        folder = write_report(row)
    except ValueError as error:
        raise Http404(f"There is no report any more: {error}") from error
    path = folder / name
    content_type = CONTENT_TYPES.get(path.suffix)
    if content_type is None or path.parent != folder or not path.is_file():
        raise Http404(f"The report has no file {name!r}.")
    headers = {"Content-Disposition": f'attachment; filename="{path.name}"'}
    return HttpResponse(path.read_bytes(), content_type=content_type, headers=headers)


def write_report(row: Comparison) -> Path:
    """The folder of the report, which is written again where it is out of date."""
    plan = row.plan
    name = f"{plan.name}-{row.public_id.hex[:8]}" if row.elsewhere else plan.name
    folder = Path(settings.DATA_DIR) / "comparisons" / name
    last = folder / "report.md"
    if not last.exists() or time.time() - last.stat().st_mtime > FRESH_SECONDS:
        report.write_report(plan, folder, row.finished_elsewhere, row.created_at)
    return folder
