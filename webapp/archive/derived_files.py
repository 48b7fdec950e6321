"""Files that an export derives from the tables: code, traces, figures, results, replays."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from llm.replay import write_record
from webapp.archive.bundle import Bundle, CountBytes, Report
from webapp.archive.row_reader import Pseudonyms, make_plain
from webapp.archive.rules import Rule
from webapp.archive.study_scope import Scope
from webapp.archive.tables import TABLES
from webapp.base import charts
from webapp.base.store import store
from webapp.experiments import upgrades
from webapp.experiments.figures import (
    make_metric_sums_chart,
    make_sessions_chart,
    make_sums_chart,
    read_rounds_chart,
)
from webapp.experiments.kinds import train
from webapp.experiments.models import Candidate, Experiment
from webapp.problems import lookup
from webapp.problems.forms import get_form
from webapp.problems.models import Problem
from webapp.votes import figures, poll_results, single_results
from webapp.votes.models import Poll


def write_files(bundle: Bundle, scope: Scope, names: Pseudonyms, counts: dict[str, int], report: Report) -> None:
    report(0.3, "Code, traces and figures")
    for number, experiment in enumerate(_list_experiments(scope), 1):
        write_experiment_files(bundle, number, experiment)
    for number, poll in enumerate(Poll.objects.filter(pk__in=scope.polls).order_by("pk"), 1):
        _write_poll(bundle, number, poll, names)
    _write_seeds(bundle, scope)


def write_experiment_files(bundle: Bundle, number: int, experiment: Experiment) -> None:
    """Code, traces, replay and figure of the experiment with this number in the zip."""
    if not lookup.task_exists(experiment.task):
        return  # a problem that was deleted since: the tables still hold its rows
    _write_code(bundle, number, experiment)
    for folder in ("traces", "preferences") if experiment.asks_pairs else ("traces",):
        for name, key in _list_run_files(number, experiment, folder, folder, "csv"):
            copy_from_store(bundle, name, key, lambda size: None)
    _write_replay(bundle, number, experiment)
    chart = read_rounds_chart(experiment)
    bundle.write_text(f"figures/experiment-{number}-rounds.svg", charts.to_svg(chart))
    bundle.write_text(f"figures/experiment-{number}-rounds.csv", charts.to_csv([chart]))
    if experiment.asks_pairs:
        _write_sessions_charts(bundle, number, experiment)


def _list_experiments(scope: Scope) -> list[Experiment]:
    return list(Experiment.objects.filter(pk__in=scope.experiments).order_by("pk"))


def _write_sessions_charts(bundle: Bundle, number: int, experiment: Experiment) -> None:
    """How the reward model of each policy learned from answers about pairs."""
    for candidate in Candidate.objects.filter(iteration__experiment=experiment).exclude(sessions=[]):
        for make in (make_sessions_chart, make_sums_chart, make_metric_sums_chart):
            chart = make(candidate.sessions)
            if not chart.empty:
                name = f"figures/experiment-{number}-{candidate.key}-{chart.slug}"
                bundle.write_text(f"{name}.svg", charts.to_svg(chart))
                bundle.write_text(f"{name}.csv", charts.to_csv([chart]))


def _write_code(bundle: Bundle, number: int, experiment: Experiment) -> None:
    info = lookup.find_task(experiment.task)
    ending = get_form(info).get_ending(info) if isinstance(info, Problem) else "py"
    for candidate in (
        Candidate.objects.filter(iteration__experiment=experiment).select_related("iteration").order_by("pk")
    ):
        if candidate.source:
            bundle.write_text(f"code/{number}/{candidate.key}.{ending}", candidate.source.strip("\n") + "\n")


def copy_from_store(bundle: Bundle, name: str, key: str, count: CountBytes) -> None:
    """Put a file of the store into the zip, unless it was deleted meanwhile."""
    with suppress(FileNotFoundError), store.open(key) as file:
        bundle.copy_file(name, file, count)


def _list_run_files(
    number: int, experiment: Experiment, folder: str, source: str, ending: str
) -> Iterator[tuple[str, str]]:
    """(name in the zip, key in the store) of each candidate's file in this folder of the training."""
    for request in train.find_requests(experiment).order_by("pk"):
        for position, candidate in enumerate(request.payload["candidates"]):
            key = f"{request.run_key}/{source}/{position}.{ending}"
            if store.size(key) is not None:
                yield f"{folder}/{number}/{candidate['id']}.{ending}", key


def list_policies(scope: Scope) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for number, experiment in enumerate(_list_experiments(scope), 1):
        found += _list_run_files(number, experiment, "policies", "checkpoints/policies", "pt")
    return found


def _write_replay(bundle: Bundle, number: int, experiment: Experiment) -> None:
    """The experiment as `python -m llm.replay` reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        write_record(path, upgrades.build_record(experiment))
        with path.open("rb") as file:
            bundle.copy_file(f"replay/{number}.json", file, lambda size: None)


def _write_poll(bundle: Bundle, number: int, poll: Poll, names: Pseudonyms) -> None:
    folder = f"polls/{number}"
    bundle.write_text(f"{folder}/plan.txt", f"{poll.plan}\n\nSHA-256 {poll.plan_hash}\n")
    header, *rows = csv.reader(io.StringIO(poll_results.write_csv(poll)))
    bundle.write_csv(f"{folder}/votes.csv", header, ([names.replace_label(row[0]), *row[1:]] for row in rows))
    if poll.is_single:
        bundle.write_json(f"{folder}/results.json", asdict(single_results.compute_results(poll)))
        return
    found = poll_results.compute_results(poll)
    bundle.write_json(f"{folder}/results.json", summarize_results(found))
    for chart in figures.build_charts(found):
        bundle.write_text(f"{folder}/{chart.slug}.svg", charts.to_svg(chart))


def summarize_results(found: poll_results.Results) -> dict[str, Any]:
    pairs = [
        {
            "pair": result.pair.position,
            "first arm": result.pair.first_arm,
            "second arm": result.pair.second_arm,
            "equal": result.equal,
            "adjusted p": result.adjusted,
            "significant": result.significant,
            **asdict(result.preference),
            "name": result.name,
        }
        for result in found.pairs
    ]
    arms = [{"arm": arm, **asdict(rating)} for arm, rating in found.ratings]
    pooled = [asdict(one) for one in found.pooled]
    attention = {
        "pooled": pooled,
        "attention checks": found.exclusion and asdict(found.exclusion),
        "shown twice": found.consistency and asdict(found.consistency),
        "with everybody": found.everybody and summarize_results(found.everybody),
    }
    summary = {"evaluators counted": found.counted, "left out": found.left_out, "pairs": pairs, "strengths": arms}
    return make_plain({**summary, **attention, "sides": asdict(found.sides)})  # type: ignore[no-any-return]


def _write_seeds(bundle: Bundle, scope: Scope) -> None:
    """Every seed of every table in one list."""

    def rows() -> Iterator[tuple[str, int, int]]:
        for table in TABLES.values():
            if "seed" in table.columns and table.columns["seed"].rule == Rule.KEEP:
                seeds = scope.filter_rows(table).order_by("pk").values_list("seed", flat=True)
                yield from ((table.file, number, seed) for number, seed in enumerate(seeds.iterator(), 1))

    bundle.write_csv("seeds.csv", ["table", "row", "seed"], rows())
