"""How often trained policies succeed with mean actions, with exact intervals: from docs/comparisons/successes.csv.

    ./prefine benchmark successes [--read FILE]

A line of the file is one policy under the human-written reward and what `./prefine evaluate` counted. Nothing is
trained. Intervals are Clopper and Pearson's (95%) of these episodes: of one training, not of trainings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.kept import KEPT, read_table
from webapp.base.statistics.proportions import clopper_pearson


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.successes", description=__doc__.splitlines()[0])
    parser.add_argument("--read", type=Path, default=KEPT / "successes.csv", metavar="FILE", help="(docs/comparisons)")
    print("\n".join(["| task | settings | seed | samples | success |", "|---|---|---:|---:|---:|"]))
    for row in read_table(parser.parse_args().read):
        place = f"| {row['task']} | {row['settings']} | {row['seed']} | {int(row['samples']):,} "
        print(f"{place}| {format_share(int(row['successes']), int(row['episodes']))} |")


def format_share(successes: int, episodes: int) -> str:
    """The share with its interval, in whole per cent."""
    found = clopper_pearson(successes, episodes)
    return f"{successes / episodes:.0%} ({100 * found.low:.0f} to {100 * found.high:.0f}%)"


if __name__ == "__main__":
    main()
