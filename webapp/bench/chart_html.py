"""Charts on staff's pages."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from webapp.base import charts


def draw_figure(
    chart: charts.Chart, address: str, width: int = 640, height: int = 280, titled: bool = False
) -> SafeString:
    """A chart on a page: SVG, which static/bench/charts.js replaces, its numbers, and its downloads at `address`."""
    context = {
        "chart": chart,
        "svg": SafeString(charts.inline_svg(chart, width, height)),
        "legend": [(SafeString(sample), name) for sample, name in charts.legend(chart)],
        "data": charts.to_json(chart),
        "address": address,
        "height": height,
        "titled": titled,
    }
    return render_to_string("bench/_figure.html", context)
