"""CSV that a spreadsheet opens without running anything, wherever Prefine writes it."""

import csv
import io
import re

import pytest

from tests.webapp.servers import ROOT
from webapp.base import charts, paper_table
from webapp.base.charts import Chart, Series
from webapp.base.csv_cells import FORMULA_STARTS, format_table, from_cell, to_cell

FORMULA = "+SUM(A1:A9)"


def read_cells(text):
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


def test_headings_and_cells_are_guarded_and_numbers_are_not():
    text = format_table([["=1+1", "x"], ["@a", -0.5], [FORMULA, None]])
    assert read_cells(text) == ["'=1+1", "x", "'@a", "-0.5", f"'{FORMULA}", ""]


@pytest.mark.parametrize("text", ["=a", "-", "'quoted'", "plain", "", "'"])
def test_what_was_written_is_read_back(text):
    assert from_cell(str(to_cell(text))) == text


def test_charts_and_tables_with_hostile_names():
    chart = Chart("s", "=title", FORMULA, "@y", (Series(FORMULA, (1.0,), (2.0,)),))
    table = paper_table.Table("s", "t", ("-arm", "score"), ((FORMULA, -1.0),))
    for text in (charts.to_csv([chart]), paper_table.to_csv(table)):
        cells = read_cells(text)
        assert f"'{FORMULA}" in cells
        assert not [cell for cell in cells if cell.startswith(FORMULA_STARTS) and not re.fullmatch(r"-[\d.]+", cell)]


def test_nobody_else_writes_csv():
    writers = [path for path in (ROOT / "webapp").rglob("*.py") if "csv.writer" in path.read_text()]
    assert [path.name for path in writers] == ["csv_cells.py"]
