"""Does more budget still help? Reports of ./prefine compare with different budgets as one curve for each method.

    ./prefine compare --budget candidates=5 --out b5 ...; ./prefine compare --budget candidates=15 --out b15 ...
    ./prefine benchmark budgets b5 b15 [--figures FOLDER]

The budget of an experiment is its candidates, B x T; where its answers are limited to C tokens (option `context`), it
is B x T x C. Scores are those of the reports, or the TS where any of their winners was not trained again; intervals
Student's t (95%).
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path

from benchmarks.compared import spread
from benchmarks.kept import read_table
from webapp.base.charts import Chart, Series, to_svg
from webapp.base.statistics.group_tests import summarize_mean

NAMES = {"score": "score", "ts": "TS"}
LIMIT = re.compile(r"context=(\d+)(?:, )?")
Curves = dict[str, dict[int, list[float]]]
"""Method -> budget -> the score of each experiment."""


def main() -> None:
    """Print a table for each task, and draw it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budgets", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of a report")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="write a figure for each task here")
    arguments = parser.parse_args()
    reports = [read_report(folder) for folder in arguments.folders]
    measure = choose_measure([row for report in reports for row in report])
    for task, curves in collect_curves(reports, measure).items():
        print(f"{render(task, curves, measure)}\n")
        if arguments.figures:
            arguments.figures.mkdir(parents=True, exist_ok=True)
            (arguments.figures / f"budgets-{task}.svg").write_text(to_svg(build_chart(task, curves, measure)))


def read_report(folder: Path) -> list[dict[str, str]]:
    """The experiments of a report that have a TS, each with the number of its candidates as `spent`."""
    spent = {row["public_id"]: row["candidates"] for row in read_table(folder / "rounds.csv")}
    rows = [row for row in read_table(folder / "experiments.csv") if row["ts"] and row["public_id"] in spent]
    return [row | {"spent": spent[row["public_id"]]} for row in rows]


def choose_measure(rows: list[dict[str, str]]) -> str:
    """The score if all experiments have one, else the TS: their scales differ."""
    return "score" if all(row.get("score") for row in rows) else "ts"


def collect_curves(reports: list[list[dict[str, str]]], measure: str) -> dict[str, Curves]:
    """By task, what was reached with which budget."""
    found: dict[str, Curves] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in (row for report in reports for row in report):
        limit = LIMIT.search(row["label"])
        budget = int(row["spent"]) * (int(limit[1]) if limit else 1)
        found[row["task"]][name_method(row["label"])][budget].append(float(row[measure]))
    return found


def name_method(label: str) -> str:
    """The label without its limit of tokens, which the budget holds."""
    return LIMIT.sub("", label).replace(" ()", "").replace(", )", ")")


def render(task: str, curves: Curves, measure: str) -> str:
    """A row for each method, a column for each budget."""
    budgets = sorted({budget for by_budget in curves.values() for budget in by_budget})
    lines = [
        f"### {task}: {NAMES[measure]}",
        "",
        f"| method | {' | '.join(map(str, budgets))} |",
        f"|---{'|---:' * len(budgets)}|",
    ]
    for name, by_budget in curves.items():
        lines.append(f"| {name} | {' | '.join(spread(by_budget.get(budget, [])) for budget in budgets)} |")
    return "\n".join(lines)


def build_chart(task: str, curves: Curves, measure: str) -> Chart:
    """The mean over the budget, with its interval where each budget has several experiments."""
    series = []
    for name, by_budget in curves.items():
        means = [summarize_mean(values) for _, values in sorted(by_budget.items())]
        known = all(one.interval is not None for one in means)
        low = tuple(one.interval.low for one in means if one.interval) if known else ()
        high = tuple(one.interval.high for one in means if one.interval) if known else ()
        series.append(Series(name, tuple(map(float, sorted(by_budget))), tuple(one.mean for one in means), low, high))
    return Chart(
        slug=f"budgets-{task}",
        title=f"{task}: {NAMES[measure]} over budget",
        x_label="budget: candidates (B x T), or tokens at most (B x T x C)",
        y_label=f"{NAMES[measure]}, mean and 95% interval",
        series=tuple(series),
        x_range=(0, max(x for one in series for x in one.x)),
        whole_x=True,
    )


if __name__ == "__main__":
    main()
