import csv
import io
import math
import xml.etree.ElementTree as ElementTree

import pytest

from webapp.base import charts
from webapp.base.charts import Chart, Series
from webapp.experiments import figures

SVG = "{http://www.w3.org/2000/svg}"
LINE = Chart(
    "c", "A <title> & more", "training (%)", "speed (m/s)", (Series("s", (0.0, 50.0, 100.0), (0.0, 1.0, 2.0)),)
)


def points(svg: str) -> list[list[tuple[float, float]]]:
    lines = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    return [[tuple(map(float, p.split(","))) for p in line.attrib["points"].split()] for line in lines]


def test_the_line_is_drawn_to_scale():
    """640 x 320, margins 58, 14, 44 and 30 at the top: x from 58 to 626, y from 276 up to 30."""
    assert points(charts.to_svg(LINE)) == [[(58.0, 276.0), (342.0, 153.0), (626.0, 30.0)]]


def test_a_gap_breaks_the_line_and_values_that_are_not_finite_are_gaps():
    series = figures.over_training("s", [1.0, math.nan, 2.0, 3.0])
    assert series.x == (25.0, 50.0, 75.0, 100.0) and series.y == (1.0, None, 2.0, 3.0)
    chart = Chart("c", "c", "x", "y", (series,))
    assert [len(run) for run in points(charts.to_svg(chart))] == [1, 2]


def test_a_run_that_stopped_early_fills_only_its_part():
    assert figures.over_training("s", [1.0, 2.0], intervals=10).x == (10.0, 20.0)
    (chart,) = figures.component_charts({"total": {"samples": [1.0, 2.0]}}, complete=False)
    assert chart.series[0].x == (10.0, 20.0)


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (0, 10, [0, 5, 10]),
        (0.13, 0.87, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-3, 4, [-4, -2, 0, 2, 4]),
        (420, 499, [420, 440, 460, 480, 500]),
        (5, 5, [2, 4, 6, 8]),
        (0, 0, [-0.5, 0, 0.5]),
    ],
)
def test_ticks_are_round_and_cover(low, high, expected):
    assert charts.ticks(low, high) == pytest.approx(expected)


def test_ticks_of_rounds_are_whole():
    assert charts.ticks(1, 5, 6, whole=True) == [1, 2, 3, 4, 5]
    assert charts.ticks(1, 2, 6, whole=True) == [1, 2]


def test_rounds_best_mean_and_best_so_far():
    chart = figures.rounds_chart("forward progress in m/s", [(1, [1.0, 3.0]), (2, []), (3, [2.0, 2.5])], 5)
    values = {series.name: (series.x, series.y) for series in chart.series}
    assert values["best of the round"] == ((1.0, 3.0), (3.0, 2.5))
    assert values["mean of the round"] == ((1.0, 3.0), (2.0, 2.25))
    assert values["best so far"] == ((1.0, 3.0), (3.0, 3.0))
    assert "m/s" in chart.y_label


def test_series_are_told_apart_without_colour():
    chart = figures.rounds_chart("m", [(1, [1.0, 2.0]), (2, [2.0, 4.0])], 2)
    lines = [
        line.attrib.get("stroke-dasharray")
        for line in ElementTree.fromstring(charts.to_svg(chart)).iter(f"{SVG}polyline")
    ]
    assert len(set(lines)) == 3
    assert [name for _, name in charts.legend(chart)] == [series.name for series in chart.series]


def test_texts_are_escaped_and_axes_have_labels():
    root = ElementTree.fromstring(charts.to_svg(LINE))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"A <title> & more", "training (%)", "speed (m/s)"} <= set(texts)


def test_csv_has_every_point():
    rows = list(csv.DictReader(io.StringIO(charts.to_csv([LINE]))))
    assert [(row["x"], row["y"]) for row in rows] == [("0.0", "0.0"), ("50.0", "1.0"), ("100.0", "2.0")]
    assert rows[0]["y_label"] == "speed (m/s)"


def test_json_aligns_series_on_one_x():
    chart = Chart("c", "c", "x", "y", (Series("a", (1, 2), (1.0, 2.0)), Series("b", (2, 3), (5.0, 6.0))))
    assert charts.to_json(chart)["data"] == [[1, 2, 3], [1.0, 2.0, None], [None, 5.0, 6.0]]


@pytest.mark.parametrize("chart", [figures.metric_chart("m", {}), figures.rounds_chart("", [], 5)])
def test_nothing_to_draw_says_so(chart):
    assert chart.empty
    assert "no values yet" in charts.to_svg(chart)
    assert charts.to_svg_grid([]).startswith("<svg")


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0"),
        (499.0, "499"),
        (12345.6, "12346"),
        (0.67891, "0.6789"),
        (1e-5, "1.0e-05"),
        (123456.0, "1.2e+05"),
        (-2.5, "-2.5"),
    ],
)
def test_numbers_are_short(value, text):
    assert charts.number(value) == text
