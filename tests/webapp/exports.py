"""Exports for the tests of export and import: made, opened, changed, packed again."""

import hashlib
import io
import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse

from tests.webapp import bench_rows, finished_study
from webapp.archive import export
from webapp.archive.study_scope import Options
from webapp.experiments import run_folder
from webapp.experiments.kinds import train
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.review.models import Vote
from webapp.votes.models import Poll

PLAIN = "django.contrib.staticfiles.storage.StaticFilesStorage"


def write_export(study, path, **options):
    export.write_export(study, path, Options(**options))
    return open_zip(path)


class Opened(zipfile.ZipFile):
    """A zip whose files are named without the folder that holds all of them."""

    @property
    def folder(self):
        top = super().namelist()[0].partition("/")[0] + "/"
        return top if all(name.startswith(top) for name in super().namelist()) else ""

    def namelist(self):
        return [name.removeprefix(self.folder) for name in super().namelist()]

    def getinfo(self, name):
        return super().getinfo(f"{self.folder}{name}")


def open_zip(path):
    """The zip, read whole, so that no file stays open."""
    return Opened(io.BytesIO(path.read_bytes()))


@dataclass(frozen=True)
class SavedExport:
    """The exports of a study whose rows are deleted; most tests need no more."""

    folder: Path
    media: Path
    secrets: set[str]
    votes: int
    films: set[str]
    pages: dict[str, str]

    @property
    def path(self):
        return self.folder / "study.zip"

    def package(self, name="study.zip"):
        return open_zip(self.folder / name)


@pytest.fixture(scope="session")
def saved_export(django_db_setup, django_db_blocker, tmp_path_factory):
    folder, data = tmp_path_factory.mktemp("exports"), tmp_path_factory.mktemp("data")
    static = {**django_settings.STORAGES, "staticfiles": {"BACKEND": PLAIN}}
    given = override_settings(DATA_DIR=data, STORAGES=static)
    with django_db_blocker.unblock(), given, transaction.atomic():
        found = make_export(folder, data / "media")
        transaction.set_rollback(True)
    return found


def make_export(folder, media):
    """The caller rolls everything back, so that tests begin with an empty installation."""
    made = finished_study.create_finished_study()
    request = made.first.experiment.requests.get(kind="Train", step=1)
    winners = train.find_training(made.first.experiment, made.first.experiment.winner.key)
    position = 2 if winners == (request, 1) else 1  # a winner's policy would be offered, and stays behind in an export
    policy = f"checkpoints/policies/{position}.pt"
    for name, content in ((policy, "weights"), ("traces/1.csv", "interval,samples\n0,1\n")):
        path = run_folder.get_folder(request) / name
        path.parent.mkdir(parents=True)
        path.write_text(content)
    write_export(made.study, folder / "study.zip")
    write_export(made.study, folder / "again.zip")
    write_export(made.study, folder / "fresh.zip", fresh_labels=True, clips=False)
    write_export(made.study, folder / "policies.zip", checkpoints=True, clips=False)
    client = Client()
    client.force_login(bench_rows.create_staff())
    return SavedExport(
        folder=folder,
        media=media,
        secrets=finished_study.secrets_of(made.study),
        votes=Vote.objects.count(),
        films={
            name
            for clip in Clip.objects.filter(status="ready", candidate__iteration__experiment__assignments__isnull=False)
            for name in (clip.video, clip.poster)
        },
        pages=read_staff_pages(client, made.study),
    )


def rows_of(package, table):
    return json.loads(package.read(f"tables/{table}.json"))


def read_all(package):
    return b"\n".join(package.read(name) for name in package.namelist())


def read_staff_pages(client, study):
    """Every page of staff about a study's experiments and votes, without what differs by installation."""
    experiments = finished_study.experiments_of(study)
    baselines = Experiment.objects.filter(assignments=None).order_by("pk")
    addresses = [reverse("bench:index")]
    for experiment in [*experiments, *baselines]:
        page = reverse("bench:experiment", args=[experiment.public_id])
        addresses += [page, f"{page}rounds.svg", f"{page}rounds.csv"]
        for candidate in Candidate.objects.filter(iteration__experiment=experiment, index=1).select_related(
            "iteration"
        ):
            addresses += [f"{page}{candidate.key}/", f"{page}{candidate.key}/components.csv"]
    for poll in Poll.objects.order_by("pk"):
        addresses += [poll.get_absolute_url()]
        addresses += [f"{poll.get_absolute_url()}{name}" for name in ("votes.csv", "preferences.svg", "power.csv")]
    return {address: normalize_page(client.get(address)) for address in addresses}


def normalize_page(response):
    assert response.status_code == 200, response
    text = response.content.decode()
    text = re.sub(r'csrfmiddlewaretoken" value="\w+"|X-CSRFToken": "\w+"', "", text)
    text = re.sub(r'(data-(?:after|version)|id__exact|admin/\w+/\w+/|/studies/)=?"?[0-9a-f]+"?', r"\1", text)
    text = re.sub(r'(<option value=")\d+"', r"\1", text)
    text = re.sub(r"/(v|join)/[\w-]{20,}/", r"/\1/", text)
    text = re.sub(r"\n\s*(<span>imported, to look at</span>)?\n", "\n\n", text)
    text = re.sub(rf"{finished_study.VOTER}\d", "", text)  # recruitment ids stay behind
    return text.replace(finished_study.EXPERIMENTER, "staff-1")


def repack(source, target, changes=None, extra=(), manifest=None, without=()):
    """The zip with these files changed, and a manifest that fits them."""
    changes = changes or {}
    old = open_zip(source)
    about = json.loads(old.read("manifest.json"))
    about["files"] = [entry for entry in about["files"] if entry["name"] not in without]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in about["files"]:
            data = changes.get(entry["name"], old.read(entry["name"]))
            entry |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            new.writestr(entry["name"], data)
        for info, data in extra:
            about["files"].append(
                {"name": info.filename, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            )
            new.writestr(info, data)
        new.writestr("manifest.json", json.dumps(manifest(about) if manifest else about))
    return target


def edit_table(package, table, change):
    """A table with its rows changed, as bytes."""
    rows = rows_of(package, table)
    rows = change(rows) or rows
    return ("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n").encode()


def set_cell(table, column, value, row=0):
    def change(package):
        def put(rows):
            rows[row][column] = value

        return {f"tables/{table}.json": edit_table(package, table, put)}

    return change
