"""The CSV tables of a report. Reports of several machines are read back and joined from them."""

from __future__ import annotations

import csv
import io
import os
import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from webapp.base.csv_cells import format_table, from_cell
from webapp.comparisons.experiment_results import Elsewhere, ReferenceScores, Result, Round, Score
from webapp.comparisons.plan import Cell, Plan
from webapp.experiments.alignment import Alignment
from webapp.experiments.models import Experiment

IDENTITY = ("task", "method", "label", "experiment")
SUMMARY = (
    *("task", "method", "label", "n", "fts", "mean_ts", "deviation_ts", "training_seconds", "gpu_seconds"),
    *("n_scores", "score", "alignment", "alignment_people"),
)
REFERENCES = ("task", "reward", "policies", "score", "each", "public_id", "each_rts")
EXPERIMENTS = (
    *IDENTITY,
    "public_id",
    "status",
    "seed",
    "ts",
    "best_rts",
    "rounds",
    "untrainable",
    "queries",
    "model_calls",
    "input_tokens",
    "output_tokens",
    "us_dollars",
    "training_seconds",
    "finished_at",
    "version",
    "machine",
    "code_diversity",
    "film_diversity",
    "gpu_seconds",
    "ended_early",
    "offline_writer_answers",
    "score",
    "retrained",
    *("alignment", "alignment_by", "alignment_answers", "alignment_people", "alignment_people_answers"),
    "retrained_rts",
)
ADDED_LATER = (
    *("gpu_seconds", "ended_early", "offline_writer_answers", "score", "retrained", "retrained_rts"),
    *("alignment", "alignment_by", "alignment_answers", "alignment_people", "alignment_people_answers"),
)
"""Columns that reports of earlier versions lack; their values are unknown."""
ROUNDS = (*IDENTITY, "round", "candidates", "best_rts", "mean_rts", "best_rts_so_far", "public_id")
READ_BACK = ("experiments.csv", "rounds.csv")
READ_REFERENCES = "references.csv"
"""Read back where a report has it: those of earlier versions, and of plans without retrainings, do not."""
Row = dict[str, str]

# --- writing ------------------------------------------------------------------------------------------------------


def write_tables(
    folder: Path,
    results: Sequence[Result],
    scores: Sequence[Score],
    references: Mapping[tuple[str, str], Any],
    ids: Mapping[tuple[str, str], uuid.UUID],
    peaks: Mapping[tuple[str, str], Sequence[float]],
) -> None:
    """Replace each file as a whole, so that a reader never finds half of it. `ids` and `peaks` (RTS): of the
    references' experiments.
    """
    if references:
        rows = [
            (*one, len(each), sum(each) / len(each), _join(each), ids[one], _join(peaks.get(one, ())))
            for one, each in references.items()
        ]
        _write_table(folder / READ_REFERENCES, REFERENCES, rows)
    _write_table(folder / "summary.csv", SUMMARY, [_build_summary_row(score) for score in scores])
    _write_table(
        folder / "rounds.csv", ROUNDS, [_build_round_row(result, r) for result in results for r in result.rounds]
    )
    _write_table(folder / "experiments.csv", EXPERIMENTS, [_build_experiment_row(result) for result in results])


def _identify(result: Result) -> tuple[Any, ...]:
    return result.task, result.arm.method, result.arm.label, result.index + 1


def _build_summary_row(score: Score) -> tuple[Any, ...]:
    who = (score.task, score.arm.method, score.arm.label)
    spent = (score.mean_of("train_seconds"), score.mean_of("gpu_seconds"))
    held = (len(score.values), score.fts, score.mean, score.deviation, *spent, len(score.scores), score.score)
    return *who, *held, score.alignment, score.alignment_people


def _build_experiment_row(result: Result) -> tuple[Any, ...]:
    rounds = (len(result.rounds), result.failed, result.queries)
    spent = (result.calls, result.prompt_tokens, result.completion_tokens, result.cost, result.train_seconds)
    ended = result.finished_at and result.finished_at.isoformat()
    identity = (result.public_id, result.status, result.seed)
    details = (result.version, result.machine, result.code_diversity, result.film_diversity, result.gpu_seconds)
    again, peaks = _join(result.retrained), _join(result.peaks)
    last = (result.ended_early or None, result.offline_calls, result.score, again, *_list_ratings(result.alignment))
    return *_identify(result), *identity, result.ts, result.best, *rounds, *spent, ended, *details, *last, peaks


def _join(values: Sequence[float]) -> str:
    return " ".join(map(repr, values))


def _split(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split()))


def _list_ratings(found: Alignment) -> tuple[Any, ...]:
    return found.rate, found.by, found.answers or None, found.people, found.people_answers or None


def _parse_ratings(row: Row) -> Alignment:
    return Alignment(
        rate=_parse_number(row.get("alignment", "")),
        by=row.get("alignment_by", ""),
        answers=int(row.get("alignment_answers") or 0),
        people=_parse_number(row.get("alignment_people", "")),
        people_answers=int(row.get("alignment_people_answers") or 0),
    )


def _build_round_row(result: Result, r: Round) -> tuple[Any, ...]:
    return *_identify(result), r.number, r.candidates, r.best, r.mean, r.best_so_far, result.public_id


def _write_table(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """csv writes the shortest digits that read back as the same float."""
    replace_file(path, format_table([head, *rows]))


def replace_file(path: Path, text: str) -> None:
    """Replace a file as a whole, also where several threads write it at once."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        temporary.write_text(text, newline="")
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, path)


# --- reading ----------------------------------------------------------------------------------------------------


def read_reports(plan: Plan, folders: Iterable[Path]) -> Elsewhere:
    """The plan's experiments and references that are finished in these reports; the first report that has one counts.

    Raises ValueError for a folder that has none of the plan's experiments or cannot be read completely.
    """
    found: Elsewhere = {}
    for folder in folders:
        try:
            found = {**_read_report(plan, folder), **found}
        except (OSError, ValueError) as error:
            reason = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else str(error)
            raise ValueError(f"--with {folder}: {reason}") from error
    return found


def _read_report(plan: Plan, folder: Path) -> Elsewhere:
    return parse_report(plan, read_tables(folder), str(folder))


def read_tables(folder: Path) -> dict[str, str]:
    """The tables of a report that parse_report reads, by name."""
    names = [*READ_BACK, *([READ_REFERENCES] if (folder / READ_REFERENCES).exists() else [])]
    return {name: (folder / name).read_bytes().decode() for name in names}


def select_rows(tables: Mapping[str, str], ids: Iterable[uuid.UUID]) -> dict[str, str]:
    """The tables with the rows of these experiments alone."""
    wanted = {*map(str, ids)}
    found = {}
    for name, text in tables.items():
        head, *rows = csv.reader(io.StringIO(text))
        place = head.index("public_id")
        found[name] = format_table([head, *(row for row in rows if row[place] in wanted)])
    return found


def read_ids(folder: Path, table: str = "experiments.csv") -> set[uuid.UUID]:
    """The ids of the experiments in a table of a report; none where it cannot be read."""
    try:
        rows = csv.DictReader(io.StringIO((folder / table).read_text()))
        return {uuid.UUID(row["public_id"]) for row in rows}
    except (OSError, ValueError, KeyError):
        return set()


def parse_report(plan: Plan, texts: Mapping[str, str], folder: str) -> Elsewhere:
    """What of the plan is finished in a report, of which these are the files by name: READ_BACK, and READ_REFERENCES
    where it has that. Raises ValueError for one that has none of the plan's experiments, or is not whole.
    """
    experiments = {row["public_id"]: row for row in _parse_rows(texts, "experiments.csv", EXPERIMENTS)}
    rounds: dict[str, list[Round]] = {number: [] for number in experiments}
    for row in _parse_rows(texts, "rounds.csv", ROUNDS):
        if row["public_id"] not in rounds:
            raise ValueError(f"rounds.csv has an experiment that experiments.csv lacks: {row['public_id']}")
        rounds[row["public_id"]].append(_parse_round(row))
    cells = {str(plan.public_id(cell)): cell for cell in plan.cells()}
    ours = experiments.keys() & cells.keys()
    if not ours:
        raise ValueError(
            "none of this comparison's experiments. They are the same with the same task, method and its options, "
            "budget, judge, preset, iterations, seed, models and label"
        )
    finished = [number for number in ours if experiments[number]["status"] == Experiment.Status.FINISHED]
    found: dict[uuid.UUID, Result | ReferenceScores] = {
        uuid.UUID(number): _parse_result(
            cells[number], experiments[number], tuple(rounds[number]), folder, plan.is_evaluated(cells[number])
        )
        for number in finished
    }
    return found | _parse_references(plan, texts, folder)


def _parse_references(plan: Plan, texts: Mapping[str, str], folder: str) -> dict[uuid.UUID, ReferenceScores]:
    """Those of the plan, with as many policies as it has. Reports of earlier versions do not say which theirs are."""
    rows = _parse_rows(texts, READ_REFERENCES, REFERENCES[:-2]) if READ_REFERENCES in texts else []
    ours = {str(number): number for number in (plan.reference_id(*one) for one in plan.references)}
    found = {}
    for row in rows:
        scores = _split(row["each"])
        if (number := ours.get(row.get("public_id", ""))) and len(scores) == plan.retrain:
            found[number] = ReferenceScores(scores, folder, _split(row.get("each_rts", "")))
    return found


def _parse_result(cell: Cell, row: Row, rounds: tuple[Round, ...], folder: str, evaluated: bool) -> Result:
    if len(rounds) != int(row["rounds"]):
        raise ValueError(f"rounds.csv has {len(rounds)} of the {row['rounds']} rounds of {row['public_id']}")
    return Result(
        arm=cell.arm,
        task=cell.task,
        index=cell.index,
        public_id=uuid.UUID(row["public_id"]),
        status=row["status"],
        seed=int(row["seed"]),
        rounds=rounds,
        ts=_parse_number(row["ts"]),
        failed=int(row["untrainable"]),
        queries=int(row["queries"]),
        calls=int(row["model_calls"]),
        prompt_tokens=int(row["input_tokens"]),
        completion_tokens=int(row["output_tokens"]),
        cost=_parse_number(row["us_dollars"]),
        train_seconds=float(row["training_seconds"]),
        gpu_seconds=_parse_number(row.get("gpu_seconds", "")),
        ended_early=bool(row.get("ended_early")),
        offline_calls=int(written) if (written := row.get("offline_writer_answers", "")) else None,
        alignment=_parse_ratings(row),
        evaluated=evaluated,
        retrained=_split(row.get("retrained", "")) if evaluated else (),
        peaks=_split(row.get("retrained_rts", "")) if evaluated else (),
        finished_at=datetime.fromisoformat(row["finished_at"]) if row["finished_at"] else None,
        version=row["version"],
        machine=row["machine"],
        code_diversity=_parse_number(row["code_diversity"]),
        film_diversity=_parse_number(row["film_diversity"]),
        folder=folder,
    )


def _parse_round(row: Row) -> Round:
    scores = (_parse_number(row["best_rts"]), _parse_number(row["mean_rts"]), _parse_number(row["best_rts_so_far"]))
    return Round(int(row["round"]), int(row["candidates"]), *scores)


def _parse_number(text: str) -> float | None:
    return float(text) if text else None


def _parse_rows(texts: Mapping[str, str], name: str, columns: Sequence[str]) -> list[Row]:
    """All lines of the table of this name. Raises ValueError where it is incomplete."""
    text = texts[name]
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    broken = f"{name} breaks off, or is not as it was written"
    try:
        head, rows = reader.fieldnames or (), list(reader)
    except csv.Error as error:
        raise ValueError(f"{broken}: {error}") from error
    if missing := [column for column in columns if column not in head and column not in ADDED_LATER]:
        raise ValueError(
            f"{name} has no {', '.join(missing)}. Where another version wrote it, write it again with this one "
            "(--report)"
        )
    if not text.endswith("\n") or "\0" in text or any(None in row or None in row.values() for row in rows):
        raise ValueError(broken)
    return [{column: from_cell(text) for column, text in row.items()} for row in rows]
