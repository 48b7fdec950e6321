"""Runs the notebook and the R script of an export, and reads the numbers that they computed."""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MEANS = ("n", "mean", "deviation", "low", "high")
COMPARED = ("difference", "low", "high", "g", "g_low", "g_high", "test", "p", "p_holm")
RUN_R = """
source("results.R")
options(digits = 15)
write.csv(means, "means.csv", row.names = FALSE)
write.csv(comparisons, "comparisons.csv", row.names = FALSE)
write.csv(by_round, "by_round.csv", row.names = FALSE)
"""
RUN_NOTEBOOK = """
import json, matplotlib
matplotlib.use("Agg")
names = {}
for cell in json.load(open("results.ipynb"))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)
names["plt"].figure(1).savefig("figure.png")
for table in ("means", "comparisons", "by_round"):
    names[table].to_csv(f"{table}.csv", index=False)
"""
NOTEBOOK = (sys.executable, "-c", RUN_NOTEBOOK)
R_SCRIPT = ("Rscript", "-e", RUN_R)
Numbers = dict[str, dict[tuple[str, ...], list[float]]]


def run_analysis(command: Sequence[str], folder: Path) -> Numbers:
    """Table (means, comparisons or by_round) -> (measure, arm or arms, round) -> numbers."""
    environment = {**os.environ, "MPLCONFIGDIR": str(folder)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    found: Numbers = {}
    tables = (
        ("means", ("arm",), MEANS),
        ("comparisons", ("first", "second"), COMPARED),
        ("by_round", ("arm", "round"), MEANS),
    )
    for table, keys, columns in tables:
        with (folder / f"{table}.csv").open() as file:
            rows = list(csv.DictReader(file))
        found[table] = {
            (row["measure"].partition(",")[0], *(row[key] for key in keys)): [
                to_number(len(row[name]) if name == "test" else row.get(name)) for name in columns
            ]
            for row in rows
        }
    return found


def to_number(cell: str | float | None) -> float:
    return math.nan if cell in (None, "", "NA") else float(cell)
