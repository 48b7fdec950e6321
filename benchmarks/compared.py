"""What the kept reports of ./prefine compare say, with intervals: from files in docs/comparisons, nothing is trained.

    ./prefine benchmark compared [FOLDER...]

Each folder is a report on one task. A difference is one of pairs with the same seed; intervals are Student's t over
seeds (95%), not corrected for how many there are. Published scores: docs/published.csv.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from benchmarks.kept import KEPT, read_table
from benchmarks.published import read_rows
from webapp.base.statistics.group_tests import summarize_mean

USUAL = ("cartpole", "ant", "quadcopter")
OPEN_LOOP = "OpenLoop"
"""The method without feedback, which the others are set against."""
COSTS = {"code_diversity": "of programs", "film_diversity": "of films", "input_tokens": "input tokens"}


@dataclass
class Method:
    """What a report has of one method, by the number of the repetition."""

    label: str
    scores: dict[int, float] = field(default_factory=dict)
    """Training score (TS) by the number of the repetition."""
    rounds: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """The best RTS of each round, in order."""
    costs: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def later(self) -> dict[int, float]:
        """The mean of each repetition's bests of all rounds but the first."""
        return {number: fmean(bests[1:]) for number, bests in self.rounds.items() if len(bests) > 1}


def main() -> None:
    """Print the tables of each folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compared", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="of a report (those in docs)")
    folders = parser.parse_args().folders or [KEPT / name for name in USUAL]
    print("\n\n".join(describe(folder) for folder in folders))


def describe(folder: Path) -> str:
    """The tables of one report."""
    task, methods = read_methods(folder)
    loose = next((one for one in methods if one.label == OPEN_LOOP), None)
    parts = [f"### {task}", render_scores(methods, loose, read_printed(task)), render_costs(methods)]
    return "\n\n".join([*parts, *([render_feedback(methods, loose)] if loose else [])])


def read_methods(folder: Path) -> tuple[str, list[Method]]:
    """The report's task and its methods, in its order."""
    found: dict[str, Method] = {}
    task = ""
    for row in read_table(folder / "experiments.csv"):
        task, one = row["task"], found.setdefault(row["label"], Method(row["label"]))
        if row["ts"]:
            one.scores[int(row["experiment"])] = float(row["ts"])
        for name in COSTS:
            if row[name]:
                one.costs[name].append(float(row[name]))
        asked = int(row["model_calls"]) + int(row.get("offline_writer_answers") or 0)
        one.costs["answers"].append(asked)
    for row in read_table(folder / "rounds.csv"):
        found[row["label"]].rounds[int(row["experiment"])].append(float(row["best_rts"]))
    return task, list(found.values())


def read_printed(task: str) -> dict[str, list[str]]:
    """By method, the scores that the papers print on this task, each once."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in read_rows():
        if row["task"] == task and row["metric"] == "task_score" and row["value"] not in found[row["method"]]:
            found[row["method"]].append(row["value"])
    return found


def render_scores(methods: Sequence[Method], loose: Method | None, printed: dict[str, list[str]]) -> str:
    """TS by seed, its mean, and how far TS and the bests of later rounds lie above OpenLoop's."""
    lines = [
        "| method | TS by seed | mean TS | less OpenLoop's | best of a later round | less OpenLoop's | printed |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in methods:
        scores, later = list(one.scores.values()), list(one.later.values())
        gaps = ["", ""] if loose in (None, one) else [subtract(getattr(one, n), getattr(loose, n)) for n in KINDS]
        said = "; ".join(printed.get(one.label.removesuffix(" (automatic)"), []))
        each = ", ".join(f"{score:.4g}" for score in scores)
        lines.append(f"| {one.label} | {each} | {spread(scores)} | {gaps[0]} | {spread(later)} | {gaps[1]} | {said} |")
    return "\n".join(lines)


KINDS = ("scores", "later")


def subtract(a: dict[int, float], b: dict[int, float]) -> str:
    """The mean difference of the repetitions with the same number, with its interval."""
    return spread([value - b[number] for number, value in a.items() if number in b])


def spread(values: Sequence[float]) -> str:
    """The mean with its 95% interval, where there are several values that differ."""
    if not values:
        return "-"
    found = summarize_mean(values)
    known = found.interval if found.deviation else None
    around = f" ({known.low:.3g} to {known.high:.3g})" if known else ""
    return f"{found.mean:.3g}{around}"


def render_costs(methods: Sequence[Method]) -> str:
    """Means over the experiments: answers, tokens read, and how unlike candidates were."""
    names = ["answers", *COSTS]
    heads = ["answers", "diversity of programs", "of films", "input tokens"]
    lines = [f"| method | {' | '.join(heads)} |", "|---|---:|---:|---:|---:|"]
    for one in methods:
        held = [fmean(one.costs[name]) if one.costs[name] else None for name in names]
        shown = [
            "-" if v is None else f"{v:.2f}" if "diversity" in n else f"{v:,.0f}"
            for n, v in zip(names, held, strict=True)
        ]
        lines.append(f"| {one.label} | {' | '.join(shown)} |")
    return "\n".join(lines)


def render_feedback(methods: Sequence[Method], loose: Method) -> str:
    """How far the bests of later rounds lie above OpenLoop's, mean over the methods with feedback."""
    fed = [one for one in methods if one is not loose]
    gaps = [
        fmean(one.later[n] - bar for one in fed) for n, bar in loose.later.items() if all(n in o.later for o in fed)
    ]
    return f"Bests of later rounds, mean of the {len(fed)} methods with feedback less OpenLoop's: {spread(gaps)}."


if __name__ == "__main__":
    main()
