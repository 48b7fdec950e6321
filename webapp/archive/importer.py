"""Imports an export into this database, all of it or nothing; the experiments can be read and never run."""

from __future__ import annotations

import filecmp
import re
import uuid
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.utils import timezone

from webapp.archive import audit_rows, retention
from webapp.archive.bundle import Report, compute_sha256, ignore_progress
from webapp.archive.models import Import, Imported, Origin
from webapp.archive.row_writer import RowWriter, check_value
from webapp.archive.tables import TABLES
from webapp.archive.unpack import NEWER, Package, Refused
from webapp.archive.work import Task, Work
from webapp.audit import record
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments import prompt_sets
from webapp.experiments.models import PromptSet
from webapp.problems.models import Attachment
from webapp.studies.models import Study

FOLDERS = ("clips", "votes", "problems")
FILM = re.compile(r"(clips|votes|problems)/([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(\.[a-z0-9]{1,7})")
FILMS = (".mp4", ".jpg")
MOST_AUDIT = 100_000
PROMPT_SETS = PromptSet._meta.label
MOST_VERSIONS = 1 << 20


def ignore_study(study: Study) -> None:
    """The default of `done`."""


def restore(
    path: Path,
    by: str,
    report: Report = ignore_progress,
    done: Callable[[Study], None] = ignore_study,
    leave_out: Collection[str] = (),
) -> Study:
    """Import the zip without the rows of the models in `leave_out`; `done` is called in the same transaction. Raises
    Refused, with nothing changed, where the zip is not what an export writes.
    """
    written: list[str] = []
    try:
        with Package(path) as package, scratch.make_folder("import") as staging:
            films = _unpack(package, staging, report)
            with transaction.atomic():
                writer = RowWriter(TABLES, leave_out)
                study = _write_rows(package, writer, by, compute_sha256(path), report)
                _publish_films(films, writer, written)
                done(study)
    except (DatabaseError, ValidationError, OverflowError) as error:
        _delete_files(written)
        raise Refused(f"Its rows contradict each other: {error}.") from error
    except BaseException:
        _delete_files(written)
        raise
    return study


def _delete_files(keys: list[str]) -> None:
    for key in keys:
        store.delete(key)


def _write_rows(package: Package, writer: RowWriter, by: str, sha256: str, report: Report) -> Study:
    known = {f"tables/{table.file}.json" for table in TABLES.values()}
    unknown = [name for name in package.list_names("tables") if name.endswith(".json") and name not in known]
    if unknown:
        raise Refused(f"It has tables that this Prefine does not know: {', '.join(unknown)}. {NEWER}")
    for number, (model, table) in enumerate(TABLES.items()):
        report(0.8 + 0.2 * number / len(TABLES), f"Table {table.file}")
        if model != audit_rows.TABLE.model and _has_table(package, table.file):
            writer.write(model, package.read_rows(f"tables/{table.file}.json"))
    writer.finish()
    if len(writer.keys["studies.Study"]) != 1:
        raise Refused("It does not hold exactly one study.")
    study = Study.objects.get(pk=writer.keys["studies.Study"][1])
    on = retention.find_due_day(study)
    if on is not None and on <= timezone.localdate():
        raise Refused(f"The retention period of its people's data was over on {on:%-d %B %Y}: it may not be kept here.")
    versions = package.read_json("versions.json", MOST_VERSIONS)
    audit = list(_read_audit(package))
    Origin.objects.create(
        study=study,
        sha256=sha256,
        versions=versions,
        audit=audit,
        changed=writer.changed,
        prompts_left_out=writer.left_out[PROMPT_SETS],
    )
    Imported.objects.bulk_create([Imported(experiment_id=pk) for pk in writer.keys["experiments.Experiment"].values()])
    record(by, "imported study", study, sha256=sha256)
    for row in PromptSet.objects.filter(pk__in=writer.keys[PROMPT_SETS].values()):
        record(by, "imported prompts", row, digest=row.digest, prompts=list(row.texts), study=study.pk)
    return study


def _has_table(package: Package, file: str) -> bool:
    """Whether the Prefine that wrote the zip knew this table: an older version may not."""
    tables = package.about.get("tables")
    return not isinstance(tables, dict) or file in tables


def _read_audit(package: Package) -> Iterator[dict[str, Any]]:
    """The audit rows of the other installation; they never become rows of this installation's log."""
    table, file = audit_rows.TABLE, f"tables/{audit_rows.TABLE.file}.json"
    columns = {name for name, column in table.columns.items() if column.exported}
    for number, row in enumerate(package.read_rows(file), 1):
        if number > MOST_AUDIT:
            raise Refused(f"{file} has more than {MOST_AUDIT:,} rows.")
        if set(row) != columns | {"id"}:
            raise Refused(f"{file}, row {number}: columns differ from this Prefine's.")
        for name in columns:
            check_value(table.field(name), row[name], f"{file}, row {number}, {name}")
        yield row


def _unpack(package: Package, staging: Path, report: Report) -> dict[str, Path]:
    """Check every film and still and put it on this disk, before the first row is written."""
    names = [name for folder in FOLDERS for name in package.list_names(folder)]
    total = sum(package.members[name].size for name in names) or 1
    done, films = 0, dict[str, Path]()

    def count_bytes(size: int) -> None:
        nonlocal done
        done += size
        report(0.8 * min(1.0, done / total), "Films")

    for number, name in enumerate(names):
        if not FILM.fullmatch(name):
            raise Refused(f"{name} is no film or still of an export.")
        films[name] = staging / str(number)
        with films[name].open("xb") as file:
            package.save(name, file, count_bytes)
    return films


def _publish_films(films: dict[str, Path], writer: RowWriter, written: list[str]) -> None:
    """Publish films, stills and files of problems under the names that their rows have here."""
    rows = Attachment.objects.filter(pk__in=writer.keys["problems.Attachment"].values())
    attachments = set(rows.values_list("file", flat=True))
    for name, path in films.items():
        if name.startswith("problems/"):
            key = name if name in attachments else None
            if key is None and writer.found:
                continue  # the file of a problem that existed here before
        else:
            key = _find_local_name(name, writer)
        if key is None:
            raise Refused(f"{name} belongs to no row.")
        exists = store.size(key) is not None  # from an import that was killed before its rows were committed
        if exists and not _has_same_contents(key, path):
            raise Refused(f"{name} is here already with other contents, though its row is not.")
        path.touch()  # orphan_files.delete_orphans deletes old files without a row
        store.publish(key, path)
        if not exists:
            written.append(key)


def _has_same_contents(key: str, path: Path) -> bool:
    with store.as_file(key) as stored:
        return filecmp.cmp(path, stored, shallow=False)


def _find_local_name(name: str, writer: RowWriter) -> str | None:
    found = FILM.fullmatch(name)
    assert found
    folder, film, ending = found.groups()
    here = writer.names.get(uuid.UUID(film))
    return f"{folder}/{here}{ending}" if here and ending in FILMS else None


def _find_forbidden(by: str) -> list[str]:
    """The models whose rows this account may not bring: prompts, which every language model may be told."""
    account = User.objects.filter(username=by).first()
    return [] if account is not None and account.has_perm(prompt_sets.UPLOAD) else [PROMPT_SETS]


def run_import(task: Task, work: Work) -> None:
    """The job of an import. The zip is deleted once it is not needed again."""
    assert isinstance(task, Import)
    if task.study_id is None:  # else the worker died right after it was done

        def note_study(study: Study) -> None:
            Import.objects.filter(pk=task.pk).update(study=study)

        try:
            with store.as_file(task.key) as path:
                restore(path, task.by, work.report, note_study, _find_forbidden(task.by))
        except Refused:
            store.delete(task.key)
            raise
    store.delete(task.key)
