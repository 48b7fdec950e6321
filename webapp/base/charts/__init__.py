"""Figures: each is described once, and drawn as SVG for a page and for a file, as PDF, or written as CSV."""

from webapp.base.charts.figure import Chart, Series, finite
from webapp.base.charts.pdf import to_pdf
from webapp.base.charts.scales import number, ticks
from webapp.base.charts.svg import inline_svg, legend, place_cursor, to_svg, to_svg_grid
from webapp.base.charts.tables import list_points, to_columns, to_csv

__all__ = [
    "Chart",
    "Series",
    "finite",
    "inline_svg",
    "legend",
    "list_points",
    "number",
    "place_cursor",
    "ticks",
    "to_columns",
    "to_csv",
    "to_pdf",
    "to_svg",
    "to_svg_grid",
]
