import csv
import io
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from webapp.base import charts
from webapp.base.charts import Chart, Series
from webapp.base.charts.scales import estimate_width
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
    series = figures.make_training_series("s", [1.0, math.nan, 2.0, 3.0])
    assert series.x == (25.0, 50.0, 75.0, 100.0) and series.y == (1.0, None, 2.0, 3.0)
    chart = Chart("c", "c", "x", "y", (series,))
    assert [len(run) for run in points(charts.to_svg(chart))] == [1, 2]


def test_a_run_that_stopped_early_fills_only_its_part():
    assert figures.make_training_series("s", [1.0, 2.0], intervals=10).x == (10.0, 20.0)
    (chart,) = figures.make_component_charts({"total": {"samples": [1.0, 2.0]}}, complete=False)
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
    assert charts.choose_ticks(low, high) == pytest.approx(expected)


def test_ticks_of_rounds_are_whole():
    assert charts.choose_ticks(1, 5, 6, whole=True) == [1, 2, 3, 4, 5]
    assert charts.choose_ticks(1, 2, 6, whole=True) == [1, 2]


def test_rounds_best_mean_and_best_so_far():
    chart = figures.make_rounds_chart("forward progress in m/s", [(1, [1.0, 3.0]), (2, []), (3, [2.0, 2.5])], 5)
    values = {series.name: (series.x, series.y) for series in chart.series}
    assert values["best of the round"] == ((1.0, 3.0), (3.0, 2.5))
    assert values["mean of the round"] == ((1.0, 3.0), (2.0, 2.25))
    assert values["best so far"] == ((1.0, 3.0), (3.0, 3.0))
    assert "m/s" in chart.y_label


def test_series_are_told_apart_without_colour():
    chart = figures.make_rounds_chart("m", [(1, [1.0, 2.0]), (2, [2.0, 4.0])], 2)
    lines = [
        line.attrib.get("stroke-dasharray")
        for line in ElementTree.fromstring(charts.to_svg(chart)).iter(f"{SVG}polyline")
    ]
    assert len(set(lines)) == 3
    assert [name for _, name in charts.draw_legend(chart)] == [series.name for series in chart.series]


def test_texts_are_escaped_and_axes_have_labels():
    root = ElementTree.fromstring(charts.to_svg(LINE))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"A <title> & more", "training (%)", "speed (m/s)"} <= set(texts)


def test_a_label_that_is_longer_than_its_axis_has_two_lines():
    chart = Chart("c", "c", "x", "probability of a significant result", LINE.series)
    root = ElementTree.fromstring(charts.draw_inline(chart))
    turned = [element for element in root.iter(f"{SVG}text") if "rotate(-90)" in element.get("transform", "")]
    assert [element.text for element in turned] == ["probability of a", "significant result"]
    assert len({element.get("transform") for element in turned}) == 2


def test_csv_has_every_point():
    rows = list(csv.DictReader(io.StringIO(charts.to_csv([LINE]))))
    assert [(row["x"], row["y"]) for row in rows] == [("0.0", "0.0"), ("50.0", "1.0"), ("100.0", "2.0")]
    assert rows[0]["y_label"] == "speed (m/s)"


def test_a_cursor_knows_every_x_and_what_each_series_has_there():
    chart = Chart("c", "c", "x", "y", (Series("a", (0, 50), (1.0, 2.0)), Series("b", (50, 100), (5.0, 6.0))))
    cursor = charts.place_cursor(chart, 640, 320)
    assert charts.to_columns(chart) == [[0, 50, 100], [1.0, 2.0, None], [None, 5.0, 6.0]]
    assert cursor == {"at": [58.0, 342.0, 626.0], "top": 10, "bottom": 276}
    assert chart.readable and not figures.make_rounds_chart("", [], 5).readable


@pytest.mark.parametrize("chart", [figures.make_metric_chart("m", {}), figures.make_rounds_chart("", [], 5)])
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
    assert charts.format_number(value) == text


# --- intervals, bars, boxes, rows -----------------------------------------------------------------------------------


def elements(svg: str, tag: str, css_class: str) -> list[dict[str, str]]:
    found = ElementTree.fromstring(svg).iter(SVG + tag)
    return [element.attrib for element in found if element.attrib.get("class") == css_class]


def test_intervals_are_drawn_to_scale_and_side_by_side():
    """The first of two stands 3 px to the left, the second 3 px to the right; y from 0 at 298 up to 2 at 52."""
    first = Series("a", (50.0,), (1.0,), (0.5,), (2.0,))
    chart = Chart("c", "c", "x", "y", (first, Series("b", (50.0,), (1.0,), (1.0,), (1.0,))), covers=(0,))
    svg = charts.to_svg(chart)
    (line,), (other,) = (elements(svg, "line", name)[1:] for name in ("s1", "s2"))  # the first is the legend's
    middle = (58 + 626 - 6) / 2
    assert [float(line[name]) for name in ("x1", "x2", "y1", "y2")] == [middle - 3, middle - 3, 236.5, 52.0]
    assert float(other["x1"]) == middle + 3


def test_bars_stand_beside_each_other_and_the_second_is_hatched():
    places = (0.0, 1.0)
    bars = [Series(name, places, counts, look="bars") for name, counts in (("best", (4, 0)), ("worst", (1, 2)))]
    chance = Series("chance", places, (2.5, 2.5), look="marks")
    chart = Chart("c", "c", "place", "picks", (*bars, chance), whole_y=True, categories=("A", "B"), covers=(0,))
    svg = charts.draw_inline(chart, 640, 320)
    (best,) = elements(svg, "rect", "m1")
    assert (float(best["x"]) + float(best["width"]), float(best["y"])) == (58 + 568 / 4, 10)
    assert len(elements(svg, "g", "s2")) == 2 and svg.count("<path") == 2
    assert len(elements(svg, "line", "s-ink")) == 2
    texts = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert {"A", "B", "0", "1", "2", "3", "4"} <= set(texts)


def test_boxes_span_the_quartiles():
    box = Series("q", (0.0,), (2.0,), (1.0,), (3.0,), look="boxes")
    svg = charts.draw_inline(Chart("c", "c", "x", "y", (box,), categories=("1",), covers=(0, 4)), 640, 320)
    (drawn,) = elements(svg, "rect", "s-ink")
    (median,) = elements(svg, "line", "s-ink")
    assert (float(drawn["y"]), float(drawn["height"]), float(median["y1"])) == (76.5, 133.0, 143.0)


def test_rows_run_to_the_right_past_a_reference():
    row = Series("s", (0.0, 1.0), (0.25, 0.75), (0.0, 0.5), (0.5, 1.0), look="points")
    names = ("A over B", "a name that is longer than any row of the figure has room for")
    chart = Chart("c", "c", "x", "y", (row,), categories=names, covers=(0, 1), reference=0.5, sideways=True)
    root = ElementTree.fromstring(charts.to_svg(chart))
    first, second = (
        [float(line[name]) for name in ("x1", "x2")] for line in elements(charts.to_svg(chart), "line", "s1")
    )
    (reference,) = elements(charts.to_svg(chart), "line", "axis")
    assert first[1] == second[0] == float(reference["x1"])
    assert root.attrib["height"] == str(30 + 2 * 44 + 44)
    assert "a name that is longer \u2026as room for" in [element.text for element in root.iter(f"{SVG}text")]


def test_long_names_below_the_axis_are_slanted():
    def drawn(names):
        series = Series("s", tuple(map(float, range(len(names)))), (1.0,) * len(names), look="points")
        return charts.to_svg(Chart("c", "c", "x", "y", (series,), categories=names))

    assert "rotate(-30)" not in drawn(("ICPL", "Eureka"))
    assert drawn(tuple(f"ICPL without {word}" for word in "abcdefgh")).count("rotate(-30)") == 8


def find_edges(text: ElementTree.Element) -> tuple[float, float]:
    """From where to where a text of an SVG reaches, about."""
    slanted = re.match(r"translate\((\S+) \S+\) rotate\(-30\)", text.get("transform", ""))
    if slanted:
        return float(slanted[1]) - 0.87 * estimate_width(text.text or ""), float(slanted[1])
    if "transform" in text.attrib:
        return 0, 0
    width = estimate_width(text.text or "")
    left = float(text.attrib["x"]) - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor", "start")]
    return left, left + width


@pytest.mark.parametrize("sideways", [False, True], ids=["slanted", "rows"])
def test_a_narrow_drawing_has_all_its_texts_inside(sideways):
    points = Series("s", (0.0, 1.0, 2.0), (0.25, 0.75, 0.5), (0.0, 0.5, 0.2), (0.5, 1.0, 0.9), look="points")
    names = ("ICPL", "a name that is longer than any row of the figure", "誰よりも長い名前" * 5)
    label = "Bradley-Terry strength (logits) of every arm, 95% intervals"
    chart = Chart("c", "c", label, label, (points,), categories=names, covers=(0, 1), sideways=sideways)
    root = ElementTree.fromstring(charts.draw_inline(chart, 300, 220))
    texts = list(root.iter(f"{SVG}text"))
    assert all(-1 <= left <= right <= 301 for left, right in map(find_edges, texts)), [text.text for text in texts]
    assert sum("\u2026" in (text.text or "") for text in texts) == 2


def test_names_stand_at_the_ends_of_quiet_lines_and_not_over_each_other():
    lines = tuple(Series(f"no. {n}", (0.0, 1.0), (1.0, 5.0), quiet=True) for n in range(3))
    chart = Chart("c", "c", "x", "y", lines, categories=("A", "B"), names="ends")
    assert charts.draw_legend(chart) == []
    texts = ElementTree.fromstring(charts.to_svg(chart)).iter(f"{SVG}text")
    heights = [float(text.attrib["y"]) for text in texts if (text.text or "").startswith("no.")]
    assert heights == [heights[0], heights[0] + 12, heights[0] + 24]


@pytest.mark.parametrize("width", [640, 300])
def test_names_at_the_ends_of_many_lines_stay_beside_the_plot(width):
    lines = tuple(Series(f"no. {n}", (0.0, 1.0), (5.0, n / 10), quiet=True) for n in range(40))
    root = ElementTree.fromstring(charts.draw_inline(Chart("c", "c", "x", "y", lines, names="ends"), width))
    heights = [float(text.attrib["y"]) for text in root.iter(f"{SVG}text") if (text.text or "").startswith("no.")]
    bottom = max(float(line.attrib["y1"]) for line in root.iter(f"{SVG}line") if line.get("class") == "grid")
    assert len(heights) == 40 and min(heights) > 10 and max(heights) <= bottom
    assert all(later - earlier >= 12 for earlier, later in zip(heights, heights[1:], strict=False))


def test_a_legend_names_few_lines_and_leaves_many_quiet_ones_out():
    def names(people):
        lines = [Series(f"P{n}", (0.0,), (1.0,), quiet=True) for n in range(people)]
        mean = Series("mean", (0.0,), (1.0,))
        return [name for _, name in charts.draw_legend(Chart("c", "c", "x", "y", (*lines, mean)))]

    assert names(10)[-2:] == ["P9", "mean"] and names(11) == ["mean"]


def test_twelve_lines_all_look_different():
    lines = tuple(Series(f"{n}", (0.0, 1.0), (1.0, 2.0)) for n in range(12))
    shown = [sample for sample, _ in charts.draw_legend(Chart("c", "c", "x", "y", lines))]
    assert len({re.sub("<title>.*?</title>", "", sample) for sample in shown}) == 12


def test_csv_has_intervals_and_categories_and_nothing_that_a_spreadsheet_runs():
    series = Series("=1+1", (0.0,), (2.0,), (1.0,), (3.0,))
    (row,) = csv.DictReader(io.StringIO(charts.to_csv([Chart("c", "c", "x", "y", (series,), categories=("ICPL",))])))
    assert (row["series"], row["x"], row["y"], row["low"], row["high"]) == ("'=1+1", "ICPL", "2.0", "1.0", "3.0")


def test_a_pdf_carries_its_fonts_and_is_the_same_each_time():
    chart = figures.make_rounds_chart("path \u03b1\u0431 in m", [(1, [1.0, 2.0]), (2, [2.0, 4.0])], 2)
    shown = charts.to_pdf(charts.to_svg(chart))
    assert shown.startswith(b"%PDF") and b"/FontFile3" in shown and b"/ToUnicode" in shown
    assert set(re.findall(rb"/FontName/\w+\+([\w-]+)", shown)) == {b"NewCM10-Bold", b"NewCM10-Regular"}
    assert b"CreationDate" not in shown and shown == charts.to_pdf(charts.to_svg(chart))
