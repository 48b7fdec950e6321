"""Experiments as one zip, such as those of a comparison: tables, code, traces, replays. No people, no films."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from webapp.archive import dictionary, export
from webapp.archive.bundle import Bundle, Report, ignore_progress
from webapp.archive.derived_files import write_experiment_files
from webapp.archive.models import Export
from webapp.archive.row_reader import Pseudonyms, RowReader, make_plain
from webapp.archive.study_scope import ExperimentScope
from webapp.archive.tables import TABLES
from webapp.archive.versions import list_versions
from webapp.archive.work import Task, Work
from webapp.experiments.models import Experiment
from webapp.experiments.working_time import read_working_time

KIND = "Prefine experiments"
TABLE_SHARE = 0.5
"""The tables' share of the progress."""
COLUMNS = (
    *(
        "experiment",
        "name",
        "task",
        "method",
        "options",
        "judge",
        "k",
        "n",
        "preset",
        "training_start",
        "shared_experience",
        "prompt_set",
        "seed",
        "status",
    ),
    *("winner", "score", "best_score", "rounds", "seconds"),
)
README = """\
{title}

Experiments made with Prefine. Numbers in names of files and folders are rows of results.csv.

  results.csv      one row per experiment: settings, seed, winner, its final score, its best score (RTS), seconds
  tables/          every table as CSV and as JSON (one row a line); dictionary.md says what the columns mean
  code/            reward functions or programs, <experiment>/<candidate>
  traces/          what each training went through, <experiment>/<candidate>.csv
  replay/          each experiment as `python -m llm.replay` replays it, without a model or a simulator
  figures/         scores over the rounds, as drawing and as numbers
  versions.json    Prefine, its packages, its commit
  manifest.json, SHA256SUMS    every file with size and SHA-256

Films, trained policies and the choices of participants are not here; those of a study are in its own export.
"""


def run_export(task: Task, work: Work) -> None:
    """The job of an export of experiments. Those that were deleted meanwhile are not in it."""
    assert isinstance(task, Export)
    rows = Experiment.objects.filter(pk__in=task.experiments)
    export.publish_export(task, lambda path: write_export(rows, path, task.name, task.title, work.report))


def write_export(
    experiments: Iterable[Experiment], path: Path, name: str, title: str, report: Report = ignore_progress
) -> None:
    """Write the zip. `name` is part of the name of its folder."""
    rows = sorted(experiments, key=lambda row: row.pk)
    scope = ExperimentScope([row.pk for row in rows])
    tables = {model: table for model, table in TABLES.items() if scope.holds(table)}
    with Bundle(path, export.name_folder(name)) as bundle, export.hold_snapshot():
        reader = RowReader(TABLES, scope, Pseudonyms())
        counts = {}
        for number, (model, table) in enumerate(tables.items()):
            report(TABLE_SHARE * number / len(tables), f"Table {table.file}")
            counts[table.file] = export.write_table(bundle, table, partial(reader.read_rows, model))
        bundle.write_csv("results.csv", COLUMNS, (_list_cells(number, row) for number, row in enumerate(rows, 1)))
        for number, row in enumerate(rows, 1):
            report(TABLE_SHARE + (1 - TABLE_SHARE) * (number - 1) / len(rows), f"Experiment {number} of {len(rows)}")
            write_experiment_files(bundle, number, row)
        bundle.write_text("dictionary.md", dictionary.render_markdown(tables.values()))
        bundle.write_json("versions.json", list_versions())
        bundle.write_text("README.txt", README.format(title=title))
        bundle.close({"kind": KIND, "title": title, "tables": counts})


def _list_cells(number: int, row: Experiment) -> Sequence[Any]:
    winner = row.winner
    return [
        *(
            number,
            row.name,
            row.task,
            row.method,
            row.options,
            row.judge,
            row.k,
            row.n,
            row.preset,
            row.training_start,
            row.shared_experience,
            row.prompt_set and row.prompt_set.name,
            row.seed,
        ),
        *(row.status, winner.key if winner else None),
        *(make_plain(value) for value in ((winner.final_score, winner.rts) if winner else (None, None))),
        *(row.iterations.filter(aside=False).exclude(best=None).count(), read_working_time(row).seconds),
    ]
