"""The numbers of charts, as CSV for any program and as columns for a page."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from webapp.base.charts.description import Chart
from webapp.base.csv_cells import to_cell


def to_csv(charts: Sequence[Chart]) -> str:
    """Every point of the charts, one row each; the bounds of intervals where some chart has any."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    width = 8 if any(series.low for chart in charts for series in chart.series) else 6
    writer.writerow(["chart", "series", "x_label", "x", "y_label", "y", "low", "high"][:width])
    for chart in charts:
        for series in chart.series:
            for x, *values in series.intervals:
                place = chart.categories[int(x)] if chart.categories else x
                row = [chart.title, series.name, chart.x_label, place, chart.y_label, *values]
                writer.writerow([to_cell(value) for value in row[:width]])
    return out.getvalue()


def to_columns(chart: Chart) -> list[list[float | None]]:
    """Every x once, then what each series has there."""
    xs = sorted({x for series in chart.series for x in series.x})
    columns = [dict(zip(series.x, series.y, strict=True)) for series in chart.series]
    return [list(xs), *([column.get(x) for x in xs] for column in columns)]
