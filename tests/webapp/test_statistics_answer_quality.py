"""Agreement, position bias and times, against published figures and by hand."""

import math

import pytest

from webapp.base import paper_table
from webapp.base.statistics.answer_quality import measure_agreement, measure_position_bias, summarize_times

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability": four observers, twelve units, five categories.
OBSERVERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


def observers():
    return [{unit: int(v) for unit, v in enumerate(row.split()) if v != "."} for row in OBSERVERS]


def test_alpha_is_the_published_one():
    found = measure_agreement(observers(), "nominal")
    assert found.alpha == pytest.approx(0.743, abs=5e-4)
    assert (found.raters, found.units) == (4, 11)  # the twelfth unit was rated once
    assert found.low < found.alpha < found.high <= 1
    assert measure_agreement(observers(), "ordinal").alpha == pytest.approx(0.815, abs=5e-4)


def test_agreement_by_hand():
    same = [{"a": 1, "b": 0, "c": -1}] * 2
    assert measure_agreement(same, "ordinal").alpha == pytest.approx(1.0)
    # two raters, two units, each disagreed on: observed disagreement 1, expected 2 / 3: alpha = 1 - 3 / 2
    assert measure_agreement([{"a": 0, "b": 1}, {"a": 1, "b": 0}], "nominal").alpha == pytest.approx(-0.5)


@pytest.mark.parametrize("ratings", ([], [{}], [{"a": 1, "b": 2}], [{"a": 1}, {"b": 1}], [{"a": 1}, {"a": 1}]))
def test_where_nothing_can_be_said(ratings):
    assert measure_agreement(ratings, "nominal") is None


def test_a_person_who_always_picks_the_first_place():
    found = measure_position_bias([(0, 6)] * 12)
    assert found.counts == (12, 0, 0, 0, 0, 0)
    assert found.expected == pytest.approx([2.0] * 6)
    assert found.p < 0.001


def test_places_picked_evenly_show_no_bias():
    found = measure_position_bias([(place, 6) for place in range(6)] * 4 + [(place, 2) for place in range(2)] * 3)
    assert found.expected == pytest.approx([7.0, 7.0, 4, 4, 4, 4])
    assert found.p > 0.9
    assert found.picks == 30
    assert measure_position_bias([]) is None


def test_position_bias_agrees_with_the_binomial_test_for_two_places():
    found = measure_position_bias([(0, 2)] * 15 + [(1, 2)] * 5)
    assert found.p == pytest.approx(0.0414, abs=0.015)  # two-sided, 15 of 20


def test_times():
    assert summarize_times([]) is None
    found = summarize_times([4, 1, 2, 3, 5])
    assert (found.median, found.quarters, found.count) == (3, (2, 4), 5)
    assert summarize_times([7.0]).quarters is None


def test_so_few_picks_that_no_outcome_could_tell_anything_have_no_p():
    assert measure_position_bias([(0, 6)]).p is None and measure_position_bias([(2, 6)] * 2).p is None
    assert measure_position_bias([(2, 6)] * 3).p < 0.05 and measure_position_bias([(0, 2)] * 5).p is None


def test_a_table_for_a_paper():
    table = paper_table.Table(
        "t", "A_B", ("who", "seconds", "share %"), (("P01 & co", 12, 0.12345), ("<x>", None, math.pi))
    )
    assert table.numeric == [False, True, True]
    latex = paper_table.to_latex(table)
    assert r"P01 \& co & 12 & 0.123 \\" in latex
    assert r"\textless{}x\textgreater{} & -- & 3.14 \\" in latex
    assert r"who & seconds & share \% \\" in latex
    assert r"\begin{tabular}{lrr}" in latex
    assert paper_table.to_csv(table) == "who,seconds,share %\nP01 & co,12,0.12345\n<x>,,3.141592653589793\n"


def test_no_spreadsheet_runs_what_somebody_typed():
    table = paper_table.Table(
        "t", "t", ("reason", "change"), (('=HYPERLINK("https://example.org")', -0.5), ("@SUM(1)", -1))
    )
    assert paper_table.to_csv(table) == 'reason,change\n"\'=HYPERLINK(""https://example.org"")",-0.5\n\'@SUM(1),-1\n'
