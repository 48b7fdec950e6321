"""Figures: each is described once, and drawn as SVG for a page and for a file, as PDF, or written as CSV."""

from webapp.base.charts.figure import Chart, Series, drop_infinite
from webapp.base.charts.pdf import to_pdf
from webapp.base.charts.scales import choose_ticks, format_number
from webapp.base.charts.svg import draw_inline, draw_legend, place_cursor, to_svg, to_svg_grid
from webapp.base.charts.tables import list_points, to_columns, to_csv

__all__ = [
    "Chart",
    "Series",
    "choose_ticks",
    "draw_inline",
    "draw_legend",
    "drop_infinite",
    "format_number",
    "list_points",
    "place_cursor",
    "to_columns",
    "to_csv",
    "to_pdf",
    "to_svg",
    "to_svg_grid",
]
