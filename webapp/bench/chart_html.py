"""Charts on staff's pages, and as files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from webapp.base import charts
from webapp.base.charts import Chart
from webapp.base.http import respond_with_download

NARROW_WIDTH, NARROW_HEIGHT = 300, 220
"""Of the drawing for a figure that is too narrow for the usual one: its letters have 11 px (static/bench/bench.css)."""
KINDS = {"svg": "image/svg+xml", "pdf": "application/pdf", "csv": "text/csv; charset=utf-8"}


def draw_figure(
    chart: Chart, address: str, width: int = 480, height: int = 240, titled: bool = False, query: str = ""
) -> SafeString:
    """A chart on a page: SVG, in which static/bench/charts.js runs a cursor, numbers, and downloads at `address`.

    A wide one is drawn twice, and the page shows the drawing that fits. `query` follows the downloads' endings, with
    its question mark.
    """
    sizes = [(width, height)] if width <= NARROW_WIDTH else [(width, height), (NARROW_WIDTH, NARROW_HEIGHT)]
    context = {
        "chart": chart,
        "drawings": [SafeString(charts.draw_inline(chart, *size)) for size in sizes],
        "legend": [(SafeString(sample), name) for sample, name in charts.draw_legend(chart)],
        "cursor": _describe_cursor(chart, sizes) if chart.readable else None,
        "points": [] if chart.readable else [[_print_cell(cell) for cell in row] for row in charts.list_points(chart)],
        "address": address,
        "query": query,
        "endings": list(KINDS),
        "titled": titled,
    }
    return render_to_string("bench/_figure.html", context)


def _describe_cursor(chart: Chart, sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """What static/bench/charts.js needs to run a cursor through the drawings of these sizes."""
    return {
        "group": "rounds" if chart.whole_x else "training",
        "x": chart.x_label,
        "names": [series.name for series in chart.series],
        "columns": charts.to_columns(chart),
        "places": [charts.place_cursor(chart, *size) for size in sizes],
    }


def _print_cell(cell: str | float | None) -> str:
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else charts.format_number(cell)


def respond_with_charts(shown: Sequence[Chart], ending: str, name: str) -> HttpResponse:
    """One chart, or several as small multiples, as a file to download. Raises Http404 for an unknown ending."""
    if ending not in KINDS:
        raise Http404(f"A chart comes as {', '.join(KINDS)}, not as {ending!r}.")
    return respond_with_download(_write_file(shown, ending), KINDS[ending], f"{name}.{ending}")


def _write_file(shown: Sequence[Chart], ending: str) -> str | bytes:
    if ending == "csv":
        return charts.to_csv(shown)
    svg = charts.to_svg(shown[0]) if len(shown) == 1 else charts.to_svg_grid(shown)
    return charts.to_pdf(svg) if ending == "pdf" else svg
