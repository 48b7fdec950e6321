"""The numbers of charts, as CSV for any program and as columns for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webapp.base.charts.figure import Chart
from webapp.base.csv_cells import format_table


def to_csv(charts: Sequence[Chart]) -> str:
    """Every point of the charts, one row each; the bounds of intervals where some chart has any."""
    width = 8 if any(series.low for chart in charts for series in chart.series) else 6
    rows: list[Sequence[object]] = [["chart", "series", "x_label", "x", "y_label", "y", "low", "high"][:width]]
    for chart in charts:
        for name, place, *values in list_points(chart):
            rows.append([chart.title, name, chart.x_label, place, chart.y_label, *values][:width])
    return format_table(rows)


def list_points(chart: Chart) -> Iterator[tuple[str, str | float, float | None, float | None, float | None]]:
    """(series, place on the x axis, value, low, high) of every point."""
    for series in chart.series:
        for x, *values in series.intervals:
            place = chart.categories[round(x)] if chart.categories else x  # points may stand beside their category
            yield series.name, place, values[0], values[1], values[2]


def to_columns(chart: Chart) -> list[list[float | None]]:
    """Every x once, then what each series has there."""
    xs = sorted({x for series in chart.series for x in series.x})
    columns = [dict(zip(series.x, series.y, strict=True)) for series in chart.series]
    return [list(xs), *([column.get(x) for x in xs] for column in columns)]
