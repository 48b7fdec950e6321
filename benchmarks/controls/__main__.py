"""Do the controls come out as they must? Inverted, blind and noisy judges, A/A pairs, and what the writer reads.

    ./prefine benchmark controls [--task Cartpole] [--experiments 10] [--save FILE]
    ./prefine benchmark controls --methods icpl icpl_wo_rt icpl_wo_rtd --controls aa
    ./prefine benchmark controls --read FILE

Trains the experiments of all arms side by side, in few large batches; `./prefine compare --controls` runs the same
experiments one by one, each as the site does. Winners are trained again with 5 unseen seeds. Stopped and started again
it goes on where it was; more --experiments add to those that are there. --read trains nothing: it counts the
experiments of a file that an earlier run wrote with --save, and takes the same words besides.
"""

from __future__ import annotations

import argparse
import csv
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.machine import machine

METHODS = ("icpl", "open_loop:k=6")
COUNTED = {
    "retrained": "the winner's reward, trained again with unseen seeds",
    "rts": "the TS: the RTS of the winner, whatever luck it had",
    "last_round": "the mean RTS of the last round's candidates, which no final choice touches",
}
"""What experiments are compared by; each is a column."""
RETRAINED = 5
IDENTITY = ("task", "setting", "arm", "experiment", "seed")
COLUMNS = (*IDENTITY, "winner", "rts", "best_rts", "score", "retrained", "last_round")


def build_plan(options: argparse.Namespace) -> Any:
    """The comparison whose experiments these are."""
    from webapp.comparisons.contrasts import add_controls
    from webapp.comparisons.plan import make_plan

    def make(methods: Sequence[str], contrasts: Sequence[str]) -> Any:
        return make_plan(
            tasks=[options.task],
            methods=methods,
            candidates=options.budget,
            experiments=options.experiments,
            judge="proxy",
            judge_options=[],
            preset="quick",
            iterations=options.iterations,
            seed=options.seed,
            model=None,
            label="",
            token_budget=None,
            dollar_budget=None,
            retrain=RETRAINED if options.by == "retrained" else 0,
            contrasts=contrasts,
        )

    return make(*add_controls(options.methods, options.contrasts, options.controls, make(options.methods, ()).arms))


def name_setting(options: argparse.Namespace) -> str:
    """What else than the plan decides a result."""
    trained = f"{options.iterations} iterations of {options.worlds} worlds"
    return f"quick, {trained}, {options.budget} candidates"


def run(plan: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train what is missing; a row for each experiment and reference."""
    from benchmarks.batch import Trainings
    from benchmarks.controls.searches import Search, build_check, run_searches
    from trainer.records import TrainJob, count_states_at_once
    from webapp.experiments import loop
    from webapp.experiments.models import Experiment

    overrides = {"iterations": options.iterations, "worlds": options.worlds}
    trainings = Trainings(options.data / options.task, options.task, overrides)
    problem = loop.describe_task(Experiment(task=options.task))
    check = build_check(options.task, count_states_at_once(TrainJob(options.task, (), overrides=overrides)))
    searches = [Search(plan, cell, problem, check) for cell in plan.cells()]
    run_searches(searches, trainings)
    winners = {one: one.winner for one in searches if one.winner}
    again = {one: list_retrainings(best.candidate.source, one.cell.index, plan) for one, best in winners.items()}
    references = list_references(plan) if plan.retrain else {}
    trainings.train(one for many in (*again.values(), *references.values()) for one in many)

    def scores(many: Sequence[Any]) -> list[float]:
        found = [trainings.find(one).evaluation.get("score") for one in many]
        return [value for value in found if value is not None]

    for name, many in references.items():
        yield {"arm": name, "retrained": scores(many)}
    for one, many in again.items():
        place = {"arm": one.cell.arm.label, "experiment": one.cell.index + 1, "seed": one.seed}
        best = winners[one]
        chosen = {"winner": best.candidate.id, "rts": best.rts, "retrained": scores(many)}
        last = fmean(one.scores_of(one.cell.arm.rounds))
        yield place | chosen | {"best_rts": max(one.scores_of()), "last_round": last}


def list_retrainings(source: str, index: int, plan: Any, by_metric: bool = False) -> list[Any]:
    """The winner's reward with seeds that no search has seen, equal for all arms of one repetition."""
    from benchmarks.batch import Training
    from llm.methods.retrain import EPISODES
    from webapp.comparisons.follow_ups import UNSEEN_SEEDS

    first = 1000 * (UNSEEN_SEEDS + plan.seed + index) + 1
    return [Training(source, first + place, EPISODES, by_metric) for place in range(plan.retrain)]


def list_references(plan: Any) -> dict[str, list[Any]]:
    """Human and Sparse."""
    from simulation import catalog

    reward = catalog.read_reference_reward(plan.tasks[0])
    return {"Human": list_retrainings(reward, 0, plan), "Sparse": list_retrainings(reward, 0, plan, by_metric=True)}


def save_rows(rows: Sequence[dict[str, Any]], options: argparse.Namespace, path: Path) -> None:
    """Write the rows as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for row in rows:
            each = row["retrained"]
            score = sum(each) / len(each) if each else ""
            known = {"task": options.task, "setting": name_setting(options), "score": score}
            writer.writerow(known | row | {"retrained": " ".join(map(str, each))})


def read_rows(path: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a file. Raises ValueError where it is of another task or setting."""
    with path.open(newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    found = {(row["task"], row["setting"]) for row in rows}
    if found != {(options.task, name_setting(options))}:
        raise ValueError(f"{path} holds {found}, not {options.task}, {name_setting(options)}")
    for row in rows:
        row["retrained"] = [float(value) for value in row["retrained"].split()]
        row |= {name: float(row[name]) for name in ("rts", "best_rts", "last_round") if row[name]}
    return rows


def describe(plan: Any, rows: Sequence[dict[str, Any]], by: str) -> Iterator[str]:
    """The report's claims, and the arms' table."""
    from webapp.comparisons.claim_sections import build_aggregates, build_claims
    from webapp.comparisons.experiment_results import Score
    from webapp.comparisons.findings import collect_evidence
    from webapp.comparisons.unread import find_unread

    task = plan.tasks[0]
    results: dict[Any, Any] = {(cell.arm, cell.index): None for cell in plan.cells()}
    labels = {arm.label: arm for arm in plan.arms}
    for row in rows:
        if row["arm"] in labels and row[by]:
            key = labels[row["arm"]], int(row["experiment"]) - 1
            if key in results:
                results[key] = build_result(plan, key, row, by)
    scores = [
        Score(arm, task, tuple(found for (own, _), found in results.items() if own == arm and found))
        for arm in plan.arms
    ]
    references = {(task, row["arm"]): row["retrained"] for row in rows if row["arm"] not in labels}
    evidence = collect_evidence(plan, scores, references, find_unread(plan))
    yield from build_aggregates(evidence, ())
    yield from build_claims(evidence, ())


def render_arms(rows: Sequence[dict[str, Any]]) -> str:
    """Mean and deviation of each arm by every measure; of the references, of their policies."""
    arms: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        arms.setdefault(row["arm"], []).append(row)
    lines = [f"| arm | {' | '.join(COUNTED)} |", f"|---{'|---:' * len(COUNTED)}|"]
    for arm, own in arms.items():
        cells = [list_values(own, by) for by in COUNTED]
        shown = [f"{fmean(values):.0f} +- {stdev(values):.0f}" if len(values) > 1 else "-" for values in cells]
        lines.append(f"| {arm} | {' | '.join(shown)} |")
    return "\n".join(lines)


def list_values(rows: Sequence[dict[str, Any]], by: str) -> list[float]:
    """The values of this measure: one for each experiment, and of a reference one for each policy."""
    if by != "retrained":
        return [row[by] for row in rows if row.get(by) not in ("", None)]
    each = [row["retrained"] for row in rows if row["retrained"]]
    return each[0] if len(each) == 1 else [fmean(values) for values in each]


def build_result(plan: Any, key: tuple[Any, int], row: dict[str, Any], by: str) -> Any:
    """The result in the form that a comparison's rows have."""
    from webapp.comparisons.experiment_results import Result

    arm, index = key
    return Result(
        arm=arm,
        task=plan.tasks[0],
        index=index,
        public_id=uuid.UUID(int=0),
        status="finished",
        seed=int(row["seed"]),
        rounds=(),
        ts=row[by],
        cost=0.0,
        train_seconds=0.0,
        evaluated=by == "retrained",
        retrained=tuple(row["retrained"]),
        failed=0,
        queries=0,
        calls=0,
        prompt_tokens=0,
        completion_tokens=0,
    )


def main() -> None:
    """Train what is missing, save and print."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    import django

    django.setup()
    from webapp.comparisons.contrasts import CONTROLS

    data = Path(os.environ.get("PREFINE_DATA", "var")) / "benchmarks" / "controls"
    parser = argparse.ArgumentParser(prog="python -m benchmarks.controls", description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="Cartpole")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="the first has the controls")
    parser.add_argument("--controls", nargs="*", default=list(CONTROLS), choices=CONTROLS)
    parser.add_argument("--contrasts", nargs="*", default=[], help="beside those of the controls")
    parser.add_argument("--budget", type=int, default=30, help="candidates of an experiment")
    parser.add_argument("--experiments", type=int, default=10, help="of each arm")
    parser.add_argument("--iterations", type=int, default=20, help="training iterations, in place of the preset's")
    parser.add_argument("--worlds", type=int, default=32, help="of each candidate, in place of the preset's")
    parser.add_argument("--by", default="retrained", choices=COUNTED, help="what experiments are compared by")
    parser.add_argument("--seed", type=int, default=0, help="the first repetition's")
    parser.add_argument(
        "--data", type=Path, default=data, help="keep trainings here, and go on with those that are there"
    )
    parser.add_argument("--save", type=Path, help="write a line for each experiment to this file")
    parser.add_argument("--read", type=Path, help="train nothing: count the experiments of this file")
    options = parser.parse_args()
    plan = build_plan(options)
    rows = read_rows(options.read, options) if options.read else list(run(plan, options))
    if options.save:
        save_rows(rows, options, options.save)
    setting = f"{options.task}, {name_setting(options)}, {options.experiments} experiments"
    print(f"{setting}; the offline writer; {machine()}\n\nCompared by {COUNTED[options.by]}.\n")
    print("\n\n".join([render_arms(rows), *describe(plan, rows, options.by)]))


if __name__ == "__main__":
    main()
