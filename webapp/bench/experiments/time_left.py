"""How far off the time left was that pages said. Staff only."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.base.http import HtmxHttpRequest
from webapp.bench.chart_html import draw_figure, respond_with_charts
from webapp.experiments.estimate_errors import SHORTEST_SECONDS, build_report


@require_safe
def page(request: HtmxHttpRequest) -> HttpResponse:
    report = build_report()
    address = f"{request.path}time-left"
    drawn = draw_figure(report.chart, address, 480, 240) if report.estimates else ""
    return render(
        request, "bench/experiments/time_left.html", {"report": report, "figure": drawn, "shortest": SHORTEST_SECONDS}
    )


@require_safe
def figure(request: HtmxHttpRequest, ending: str) -> HttpResponse:
    return respond_with_charts([build_report().chart], ending, "time-left")
