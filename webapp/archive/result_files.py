"""results.csv and rounds.csv of an export, and the notebook and the R script that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from webapp.archive.bundle import Bundle
from webapp.archive.row_reader import Pseudonyms, make_plain
from webapp.archive.study_results import Result, read_results
from webapp.archive.study_scope import Scope
from webapp.studies.questionnaires.scored import list_ratings, list_scored

ANALYSIS = Path(__file__).parent / "analysis"
SCRIPTS = ("results.ipynb", "results.R")
RESULTS = {
    "participant": ("text", "", "Pseudonym; the members of a panel are separated by semicolons."),
    "pilot": ("0 or 1", "", "1 if only people who tried the study out judged it; left out of the export by default."),
    "arm": ("text", "", "Name of the arm."),
    "position": ("whole number", "", "Place of the experiment in the participant's sequence, from 1."),
    "experiment": ("whole number", "", "Row of experiments."),
    "method": ("text", "", "Method that wrote the candidates."),
    "task": ("text", "", "Task that was learned."),
    "seed": ("whole number", "", "Seed of the experiment."),
    "score": ("number", "metric of the task", "Score of the winner's final policy or answer by the hidden metric."),
    "best_score": ("number", "metric of the task", "Highest mean of an interval of the winner's training (RTS)."),
    "preferred": ("whole number", "", "Votes on pairs that preferred the winner; of closed and unblinded votes only."),
    "compared": ("whole number", "", "Votes on pairs that preferred the winner or the other side."),
    "rounds": ("whole number", "", "Rounds that were judged."),
    "choices": ("whole number", "", "Confirmed choices, with that of the winner; or answers to pairs."),
    "drawn": (
        "whole number",
        "",
        "Choices in which the participant could not judge; the picks were drawn. Or pairs skipped.",
    ),
    "seconds_choosing": (
        "number",
        "s",
        "Mean time to a choice, from when the videos could play; or to the answer to a pair.",
    ),
    "seconds_waiting": ("number", "s", "Time in which nothing was asked, before the first and between choices."),
    "seconds_total": ("number", "s", "From the start of the experiment to its winner."),
    "outcome": ("text", "", "How the participants' part ended, separated by semicolons; empty while it goes on."),
    "counted": ("0 or 1", "", "1 if the experiment counts in the results."),
    "left_out": ("text", "", "Why it does not count."),
    "flags": ("text", "", "What makes the participants' answers doubtful, separated by semicolons."),
}
"""Column -> (type, unit, meaning). A column for each score of a questionnaire follows, in ROUNDS also for each scale
that is asked between rounds and makes no score; codebook.csv explains them.
"""
ROUNDS = {
    **{name: RESULTS[name] for name in ("experiment", "participant", "arm", "task", "counted")},
    "round": ("whole number", "", "Round that was judged."),
    "candidate": ("text", "", "Round and number of its best candidate, as judged."),
    "score": ("number", "metric of the task", "Score of that candidate's final policy or answer."),
    "best_score": RESULTS["best_score"],
}
TABLES: Mapping[str, Mapping[str, tuple[str, str, str]]] = {"results": RESULTS, "rounds": ROUNDS}


def write_result_files(bundle: Bundle, scope: Scope, names: Pseudonyms) -> None:
    rows = [(_replace_names(result, names), result) for result in read_results(scope.study, scope.pilots)]
    columns = [one.column for one in list_scored(scope.study)]
    rows.sort(key=lambda row: (row[1].arm.position, row[1].arm.pk, row[0], row[1].position))
    numbers = {pk: number for number, pk in enumerate(scope.experiments, 1)}
    cells = ([*_list_cells(who, one, numbers), *map(one.scores.get, columns)] for who, one in rows)
    bundle.write_csv("results.csv", [*RESULTS, *columns], cells)
    between = [*columns, *(one.column for one in list_ratings(scope.study))]
    lines = (line for who, one in rows for line in _list_rounds(who, one, numbers, between))
    bundle.write_csv("rounds.csv", [*ROUNDS, *between], lines)
    for name in SCRIPTS:
        bundle.write_text(name, (ANALYSIS / name).read_text())


def _replace_names(result: Result, names: Pseudonyms) -> str:
    return "; ".join(names.replace_label(person.label) for person in result.people)


def _list_cells(who: str, result: Result, numbers: Mapping[int, int]) -> list[Any]:
    experiment = result.experiment
    return [
        *(who, all(person.pilot for person in result.people), result.arm.name, result.position),
        *(numbers[experiment.pk], experiment.method, experiment.task, experiment.seed),
        *map(make_plain, (result.score, result.best_score)),
        *(result.preferred, result.compared, len(result.rounds), result.choices, result.drawn),
        *(result.seconds_choosing, result.seconds_waiting, result.seconds_total),
        "; ".join(dict.fromkeys(person.outcome for person in result.people if person.outcome)),
        not result.left_out,
        result.left_out,
        "; ".join(result.flags),
    ]


def _list_rounds(who: str, result: Result, numbers: Mapping[int, int], columns: Sequence[str]) -> Iterator[list[Any]]:
    experiment = result.experiment
    for one in result.rounds:
        about = (numbers[experiment.pk], who, result.arm.name, experiment.task, not result.left_out)
        scores = (make_plain(one.score), make_plain(one.best_score))
        yield [*about, one.number, one.best, *scores, *map(one.scores.get, columns)]
