"""A study as one zip: everything that was done and found, without anything that identifies people."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from django.db import connection
from django.utils import timezone

from webapp.archive import (
    answered_pairs,
    audit_rows,
    choices,
    derived_files,
    dictionary,
    questionnaire_tables,
    readme,
    result_files,
)
from webapp.archive.bundle import Bundle, JsonRows, Report, compute_sha256, ignore_progress
from webapp.archive.models import Export
from webapp.archive.questionnaire_tables import QuestionnaireTables
from webapp.archive.row_reader import Pseudonyms, Row, RowReader
from webapp.archive.rules import Table
from webapp.archive.study_scope import Options, Scope
from webapp.archive.tables import TABLES
from webapp.archive.unpack import FORMAT, KIND
from webapp.archive.versions import list_versions
from webapp.archive.work import Task, Work
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments.models import Clip, Segment
from webapp.problems.models import Attachment
from webapp.studies.models import Participant, Study
from webapp.votes import film_copies, lifecycle
from webapp.votes.models import Evaluator, Pair, Poll

TABLE_SHARE = 0.3
"""The share of progress that the tables take; the rest follows the bytes of films and policies."""


def write_export(study: Study, path: Path, options: Options = Options(), report: Report = ignore_progress) -> None:  # noqa: B008
    """Write the zip. The same data and options give the same bytes on one day, except for fresh labels, which are
    random.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with Bundle(path, name_folder(f"study-{study.pk}")) as bundle:
        with hold_snapshot():
            scope = Scope(study, options.pilots)
            names = choose_names(scope, options.fresh_labels)
            counts = _write_tables(bundle, scope, RowReader(TABLES, scope, names), names, report)
            derived_files.write_files(bundle, scope, names, counts, report)
            media = _list_media(scope, options)
        _write_media(bundle, media, report)
        about = {
            "options": {
                "clips": options.clips,
                "checkpoints": options.checkpoints,
                "fresh labels": options.fresh_labels,
                "pilots": options.pilots,
            }
        }
        bundle.write_json("versions.json", list_versions())
        bundle.write_text("README.txt", readme.render_readme(scope, counts, options))
        bundle.close({"kind": KIND, "format": FORMAT, "study": study.title, "tables": counts, **about})


def name_folder(of: str) -> str:
    """The folder that holds all files of a zip."""
    return f"prefine-{of}-{timezone.localdate():%Y-%m-%d}"


@contextmanager
def hold_snapshot() -> Iterator[None]:
    """A transaction that sees the database as of one moment, while other processes write."""
    if connection.in_atomic_block:
        yield
        return
    begin = "BEGIN" if connection.vendor == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    with connection.cursor() as cursor:
        cursor.execute(begin)
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def choose_names(scope: Scope, fresh: bool) -> Pseudonyms:
    staff = audit_rows.assign_staff_names(audit_rows.list_actors(scope))
    if not fresh:
        return Pseudonyms(staff=staff)
    people = list(Participant.objects.filter(study=scope.study).values_list("label", flat=True))
    labels = dict(zip(people, _draw_labels("P", len(people)), strict=True))
    voters = list(Evaluator.objects.filter(poll__in=scope.polls).values_list("label", flat=True).distinct())
    return Pseudonyms({**dict(zip(voters, _draw_labels("E", len(voters)), strict=True)), **labels}, staff)


def _draw_labels(letter: str, count: int) -> list[str]:
    """Random labels in random order, so that they do not even show the order of arrival."""
    labels_drawn: set[str] = set()
    while len(labels_drawn) < count:
        labels_drawn.add(f"{letter}-{secrets.token_hex(4)}")
    labels = list(labels_drawn)
    secrets.SystemRandom().shuffle(labels)
    return labels


def write_table(bundle: Bundle, table: Table, read_rows: Callable[[], Iterator[Row]]) -> int:
    """Write the table as JSON and as CSV, reading its rows twice; returns their number."""
    header = ["id", *(name for name, column in table.columns.items() if column.exported)]
    count = 0
    with bundle.open_file(f"tables/{table.file}.json") as sink:
        out = JsonRows(sink)
        for row in read_rows():
            out.add(row)
            count += 1
        out.close()
    bundle.write_csv(f"tables/{table.file}.csv", header, ([row[name] for name in header] for row in read_rows()))
    return count


def _write_tables(bundle: Bundle, scope: Scope, reader: RowReader, names: Pseudonyms, report: Report) -> dict[str, int]:
    counts: dict[str, int] = {}
    for number, (model, table) in enumerate(TABLES.items()):
        report(TABLE_SHARE * number / len(TABLES), f"Table {table.file}")
        if model == audit_rows.TABLE.model:
            counts[table.file] = write_table(bundle, table, lambda: audit_rows.read_rows(scope, names))
        else:
            counts[table.file] = write_table(bundle, table, partial(reader.read_rows, model))
    bundle.write_csv(f"{choices.FILE}.csv", list(choices.COLUMNS), choices.list_rows(scope, names))
    bundle.write_csv(f"{answered_pairs.FILE}.csv", list(answered_pairs.COLUMNS), answered_pairs.list_rows(scope, names))
    result_files.write_result_files(bundle, scope, names)
    answers = QuestionnaireTables(scope, names)
    bundle.write_csv(f"{questionnaire_tables.FILE}.csv", answers.list_header(), answers.list_rows())
    bundle.write_csv(
        f"{questionnaire_tables.CODEBOOK}.csv", list(questionnaire_tables.CODEBOOK_COLUMNS), answers.list_codebook()
    )
    described = {
        choices.FILE: choices.COLUMNS,
        answered_pairs.FILE: answered_pairs.COLUMNS,
        **result_files.TABLES,
        **questionnaire_tables.TABLES,
    }
    lines = [[file, name, *about, ""] for file, columns in described.items() for name, about in columns.items()]
    entries = list(dictionary.list_entries(TABLES.values()))
    lines += [[e.file, e.column, e.kind, e.unit, e.meaning, e.rule] for e in entries]
    bundle.write_csv("dictionary.csv", ["table", "column", "type", "unit", "meaning", "pseudonymisation"], lines)
    bundle.write_text("dictionary.md", dictionary.render_markdown(TABLES.values()))
    return counts


def _list_media(scope: Scope, options: Options) -> list[tuple[str, str, int]]:
    """(name in the zip, key in the store, size) of every film and policy that exists."""
    found: list[tuple[str, str]] = []
    if options.clips:
        clips = Clip.objects.filter(candidate__iteration__experiment__in=scope.experiments, status=Clip.Status.READY)
        for clip in clips.order_by("pk"):
            found += [(name, name) for name in (clip.video, clip.poster)]
        segments = Segment.objects.filter(session__request__experiment__in=scope.experiments)
        for segment in segments.filter(status=Clip.Status.READY).order_by("pk"):
            found += [(name, name) for name in (segment.video, segment.poster)]
        for pair in Pair.objects.filter(poll__in=scope.polls).order_by("pk"):
            for file in (pair.first_file, pair.second_file):
                found += [(name, name) for name in (film_copies.make_copy_name(file, e) for e in ("mp4", "jpg"))]
    files = Attachment.objects.filter(problem__in=scope.problems).order_by("pk").values_list("file", flat=True)
    found += [(name, name) for name in files]
    if options.checkpoints:
        found += derived_files.list_policies(scope)
    sized = [(name, key, store.size(key)) for name, key in found]
    return [(name, key, size) for name, key, size in sized if size is not None]


def _write_media(bundle: Bundle, files: list[tuple[str, str, int]], report: Report) -> None:
    total = sum(size for _, _, size in files) or 1
    done = 0

    def count_bytes(size: int) -> None:
        nonlocal done
        done += size
        report(TABLE_SHARE + (1 - TABLE_SHARE) * min(1.0, done / total), "Films and policies")

    for name, key, _ in files:
        derived_files.copy_from_store(bundle, name, key, count_bytes)


def unblind(study: Study, by: str) -> None:
    """Unblind the closed votes, as their pages do: an export contains their results."""
    for poll in Poll.objects.filter(pk__in=Scope(study).polls):
        lifecycle.unblind_poll(poll, by)


def run_export(task: Task, work: Work) -> None:
    """The job of an export."""
    assert isinstance(task, Export) and task.study
    study, options = task.study, Options(task.clips, task.checkpoints, task.fresh_labels, task.pilots)
    unblind(study, task.by)
    publish_export(task, lambda path: write_export(study, path, options, work.report))


def publish_export(task: Export, write: Callable[[Path], object]) -> None:
    """Write the zip, and put it into the store with its size and hash."""
    with scratch.make_folder("export") as folder:
        path = folder / "export.zip"
        write(path)
        task.sha256 = compute_sha256(path)
        task.size = path.stat().st_size
        store.publish(task.key, path)
    Export.objects.filter(pk=task.pk).update(size=task.size, sha256=task.sha256)
