import csv
import hashlib
import io
import json
import re
import zipfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from llm import replay
from tests.webapp import archives, boards
from webapp.archive import dictionary, export, restore
from webapp.archive.models import Imported, Origin
from webapp.archive.rules import Table, fields_of, keep, own_models, undecided
from webapp.archive.tables import LEFT, TABLES
from webapp.archive.unpack import Refused
from webapp.audit.models import Entry
from webapp.experiments import loop, reaper
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Job, LanguageModel
from webapp.problems.models import Attachment, Problem, Subtask, TestCase
from webapp.review.models import Vote
from webapp.studies import opening
from webapp.studies.models import Participant, Study
from webapp.votes.models import Poll

pytestmark = pytest.mark.django_db
PLAIN = "django.contrib.staticfiles.storage.StaticFilesStorage"


def exported(study, path, **options):
    export.write(study, path, export.Options(**options))
    return opened(path)


def opened(path):
    """The zip, read whole, so that no file stays open."""
    return zipfile.ZipFile(io.BytesIO(path.read_bytes()))


@dataclass(frozen=True)
class Taken:
    """What was taken out of a study whose rows are gone again: most tests need no more."""

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
        return opened(self.folder / name)


@pytest.fixture(scope="module")
def taken(django_db_setup, django_db_blocker, tmp_path_factory):
    folder, media = tmp_path_factory.mktemp("exports"), tmp_path_factory.mktemp("media")
    static = {**django_settings.STORAGES, "staticfiles": {"BACKEND": PLAIN}}
    given = override_settings(MEDIA_ROOT=media, DATA_DIR=tmp_path_factory.mktemp("data"), STORAGES=static)
    with django_db_blocker.unblock(), given, transaction.atomic():
        found = _taken(folder, media)
        transaction.set_rollback(True)
    return found


def _taken(folder, media):
    """Everything is rolled back before the first test: another installation could not be emptier."""
    made = archives.made()
    request = made.first.experiment.requests.get(kind="Train", step=1)
    for name, content in (("checkpoints/policies/1.pt", "weights"), ("traces/1.csv", "interval,samples\n0,1\n")):
        path = request.run_dir / name
        path.parent.mkdir(parents=True)
        path.write_text(content)
    exported(made.study, folder / "study.zip")
    exported(made.study, folder / "again.zip")
    exported(made.study, folder / "fresh.zip", fresh_labels=True, clips=False)
    exported(made.study, folder / "policies.zip", checkpoints=True, clips=False)
    client = Client()
    client.force_login(boards.staff())
    return Taken(
        folder=folder,
        media=media,
        secrets=archives.secrets_of(made.study),
        votes=Vote.objects.count(),
        films={
            name
            for clip in Clip.objects.filter(status="ready", candidate__iteration__experiment__assignments__isnull=False)
            for name in (clip.video, clip.poster)
        },
        pages=staff_pages(client, made.study),
    )


def rows_of(package, table):
    return json.loads(package.read(f"tables/{table}.json"))


def everything(package):
    return b"\n".join(package.read(name) for name in package.namelist())


class TestDecisions:
    def test_about_every_model_and_field(self):
        assert undecided(TABLES, LEFT) == []

    def test_a_new_field_is_noticed(self):
        table = TABLES["review.Vote"]
        fewer = {name: column for name, column in table.columns.items() if name != "reason"}
        changed = {**TABLES, "review.Vote": Table(**{**table.__dict__, "columns": fewer})}
        assert "review.Vote.reason: decide whether an export holds it" in undecided(changed, LEFT)

    def test_a_new_model_is_noticed(self):
        known = {name: table for name, table in TABLES.items() if name != "review.Vote"}
        assert "review.Vote: decide in webapp/archive whether an export holds it" in undecided(known, LEFT)

    def test_what_is_gone_is_noticed(self):
        table = TABLES["review.Vote"]
        more = {**table.columns, "mood": keep("No such field.")}
        changed = {**TABLES, "review.Vote": Table(**{**table.__dict__, "columns": more})}
        assert "review.Vote.mood: is no field" in undecided(changed, LEFT)

    def test_every_column_is_explained(self):
        for entry in dictionary.entries(TABLES.values()):
            assert len(entry.meaning) > 5 and not entry.meaning.startswith(" "), entry

    def test_secrets_are_never_exported(self):
        words = re.compile(
            r"token$|api_key|external_id|email|address|contact|password|secret|_link$|endpoint$|p256dh|auth$"
        )
        for table in TABLES.values():
            for name, column in table.columns.items():
                secret = words.search(name) and table.field(name).get_internal_type() != "BooleanField"
                assert not (secret and column.exported), f"{table.file}.{name}"

    def test_rows_that_hang_on_a_participant_say_whose_they_are(self):
        """Deletion goes by these declarations."""
        persons = {"studies.Participant"} | {d.model for d in (*TABLES.values(), *LEFT.values()) if d.person}
        persons -= {"experiments.Experiment"}
        for model in own_models():
            links = {field.related_model._meta.label for field in fields_of(model) if field.is_relation}
            if links & (persons - {"studies.Assignment"}) and model._meta.label != "studies.Participant":
                decision = TABLES.get(model._meta.label) or LEFT[model._meta.label]
                assert decision.person, f"{decision.model}: declare whose its rows are (person=...)"


class TestExport:
    def test_holds_what_people_did(self, taken):
        package = taken.package()
        people = {row["id"]: row["label"] for row in rows_of(package, "participants")}
        assert set(people.values()) == {"Person-A", "Person-B", "Person-C", "Person-D"}
        votes = rows_of(package, "votes")
        assert len(votes) == taken.votes == 6  # two rounds and the final pick, twice
        screenings = {row["id"]: row for row in rows_of(package, "screenings")}
        candidates = {row["id"]: row for row in rows_of(package, "candidates")}
        said = {(people[screenings[vote["screening"]]["participant"]], vote["reason"]) for vote in votes}
        assert said == {("Person-A", archives.REASON), ("Person-B", archives.OTHER_REASON)}
        for vote in votes:
            assert vote["best"] == screenings[vote["screening"]]["order"][0]
            assert vote["client"] == {"decide_ms": 4000}
            assert "def compute_reward" in candidates[vote["best"]]["source"]
        assert {row["kind"] for row in rows_of(package, "trials")} == {"repeated"}
        assert len(rows_of(package, "viewings")) == 7
        assert {row["version"] for row in rows_of(package, "consent_texts")} == {"1"}
        assert len(rows_of(package, "pair_votes")) == len(rows_of(package, "showings")) == 3
        assert any(row["action"] == "looked at" and row["actor"] == "staff-1" for row in rows_of(package, "audit"))
        files = {"code/1/1-1.py", "replay/1.json", "polls/1/plan.txt", "polls/1/results.json", "versions.json"}
        assert files | taken.films <= set(package.namelist())
        assert "baseline" in {row["name"] for row in rows_of(package, "experiments")}

    def test_csv_says_the_same_as_json_and_runs_nothing(self, taken):
        package = taken.package()
        for table in TABLES.values():
            read = list(csv.DictReader(io.StringIO(package.read(f"tables/{table.file}.csv").decode())))
            rows = rows_of(package, table.file)
            assert [row["id"] for row in read] == [str(row["id"]) for row in rows], table.file
            assert not any((cell or "").startswith(("=", "@", "+")) for row in read for cell in row.values())
        votes = list(csv.DictReader(io.StringIO(package.read("tables/votes.csv").decode())))
        assert f"'{archives.REASON}" in {vote["reason"] for vote in votes}

    @pytest.mark.parametrize("name", ["study.zip", "fresh.zip", "policies.zip"])
    def test_holds_no_secret(self, taken, name):
        held = everything(taken.package(name))
        assert len(taken.secrets) > 20
        for secret in taken.secrets:
            assert secret.encode() not in held, secret

    def test_fresh_pseudonyms_are_fresh_everywhere(self, taken):
        package = taken.package("fresh.zip")
        held = everything(package)
        for label in ("Person-A", "Person-B", "Person-C", "Person-D", "R01", "R02"):
            assert label.encode() not in held
        labels = {row["label"] for row in rows_of(package, "participants")}
        assert len(labels) == 4 and all(re.fullmatch(r"P-[0-9a-f]{8}", label) for label in labels)
        assert any(label in row["name"] for label in labels for row in rows_of(package, "experiments"))

    def test_the_same_data_gives_the_same_bytes(self, taken):
        assert taken.path.read_bytes() == (taken.folder / "again.zip").read_bytes()
        assert {info.date_time for info in taken.package().infolist()} == {(1980, 1, 1, 0, 0, 0)}

    def test_checksums_are_of_everything(self, taken):
        package = taken.package()
        listed = dict(line.split("  ")[::-1] for line in package.read("SHA256SUMS").decode().splitlines())
        assert set(listed) == set(package.namelist()) - {"SHA256SUMS"}
        for name, sha256 in listed.items():
            assert hashlib.sha256(package.read(name)).hexdigest() == sha256

    def test_dictionary_names_every_column(self, taken):
        package = taken.package()
        read = csv.DictReader(io.StringIO(package.read("dictionary.csv").decode()))
        described = {(row["table"], row["column"]) for row in read}
        for table in TABLES.values():
            header = package.read(f"tables/{table.file}.csv").decode().splitlines()[0].split(",")
            assert {(table.file, column) for column in header} <= described
            assert f"## {table.file}" in package.read("dictionary.md").decode()

    def test_films_and_policies_are_optional(self, taken):
        package = taken.package("policies.zip")
        assert not [name for name in package.namelist() if name.endswith((".mp4", ".jpg"))]
        assert len(rows_of(package, "clips")) > 0
        assert package.read("policies/1/1-2.pt") == b"weights"
        assert (
            package.read("traces/1/1-2.csv") == taken.package().read("traces/1/1-2.csv") == b"interval,samples\n0,1\n"
        )
        assert not [name for name in taken.package().namelist() if name.startswith("policies/")]

    def test_a_replay_needs_nothing_else(self, taken, tmp_path):
        taken.package().extract("replay/1.json", tmp_path)
        record = replay.read_record(tmp_path / "replay/1.json")
        assert replay.replay(record).candidate == record.winner

    def test_an_open_vote_is_sealed(self, tmp_path, taken):
        study = restore.restore(taken.path, "ada")
        Poll.objects.update(status="open")
        Origin.objects.all().delete()  # told of the vote when it was closed
        package = exported(study, tmp_path / "study.zip", clips=False)
        for table in ("polls", "pairs", "evaluators", "showings", "pair_votes"):
            assert rows_of(package, table) == []
        assert b"Which is calmer" not in everything(package)
        assert "1 A/B vote(s) that are not closed" in package.read("README.txt").decode()

    def test_knows_nothing_of_other_studies(self, tmp_path, taken):
        study = restore.restore(taken.path, "ada")
        other = archives.rows.participant(archives.rows.study(title="Another study"), label="Person-X")
        archives.rows.training(other)
        held = everything(exported(study, tmp_path / "study.zip", clips=False))
        assert b"Another study" not in held and b"Person-X" not in held


def staff_pages(client, study):
    """Everything that staff see of a study's experiments and votes, with what differs by installation taken out."""
    experiments = archives.experiments_of(study)
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
    return {address: plain(client.get(address)) for address in addresses}


def plain(response):
    assert response.status_code == 200, response
    text = response.content.decode()
    text = re.sub(r'csrfmiddlewaretoken" value="\w+"|X-CSRFToken": "\w+"', "", text)
    text = re.sub(r'(data-(?:after|version)|admin/\w+/\w+/)=?"?[0-9a-f]+"?', r"\1", text)
    text = re.sub(r"/(v|join)/[\w-]{20,}/", r"/\1/", text)
    text = re.sub(r"\n\s*(<span>imported, to look at</span>)?\n", "\n\n", text)
    text = re.sub(rf"{archives.VOTER}\d", "", text)  # recruitment ids stay behind
    return text.replace(archives.EXPERIMENTER, "staff-1")


class TestImport:
    def test_brings_back_every_page_and_figure(self, taken, client):
        client.force_login(boards.staff())
        study = restore.restore(taken.path, "ada")
        after = staff_pages(client, study)
        assert list(after) == list(taken.pages) and len(after) > 20
        for address, text in taken.pages.items():
            assert after[address] == text, address
        for name in taken.films:
            assert client.get(f"/bench/{name}").status_code == 200

    def test_an_export_of_it_is_the_same(self, taken, tmp_path):
        one = taken.package()
        two = exported(restore.restore(taken.path, "ada"), tmp_path / "two.zip")
        names = {name for name in one.namelist() if not name.startswith("traces/")}
        assert names == set(two.namelist())
        for name in names - {"manifest.json", "SHA256SUMS"}:
            assert two.read(name) == one.read(name), name

    def test_twice_beside_each_other(self, taken, tmp_path):
        """No row of the one comes to the other; names that are taken are drawn anew."""
        one = taken.package()
        copies = [restore.restore(taken.path, "ada") for _ in range(2)]
        assert {model.name for model in LanguageModel.objects.all()} == {"Writer", "Writer (imported)"}
        again = exported(copies[1], tmp_path / "copy.zip")
        differ = {name for name in one.namelist() if name not in again.namelist() or one.read(name) != again.read(name)}
        own = re.compile(
            r"(clips|votes|traces)/|tables/(experiments|clips|pairs|polls|language_models)\.|manifest|SHA256"
        )
        assert [name for name in differ if not own.match(name)] == []
        assert Clip.objects.values("name").distinct().count() == Clip.objects.count()
        pair = Poll.objects.latest("pk").pairs.get()
        assert pair.origin["first"]["experiment"] == str(pair.first.candidate.iteration.experiment.public_id)

    def test_keeps_no_link_and_no_address(self, taken):
        study = restore.restore(taken.path, "ada")
        model = LanguageModel.objects.get()
        assert (model.api_key, model.base_url) == ("", "")
        assert taken.secrets.isdisjoint(study.participants.values_list("token", flat=True))
        assert study.contact == "" and not study.recruiting and not study.demonstration

    def test_nothing_of_it_ever_runs(self, taken, tmp_path, client):
        study = restore.restore(taken.path, "ada")
        newcomer = Participant.objects.get(label="Person-D")
        unfinished, failed, clip = _at_work(study)
        exported(study, tmp_path / "running.zip", clips=False)
        archives.empty_database()
        study = restore.restore(tmp_path / "running.zip", "ada")
        assert study.status == "closed" and opening.open_study(study)
        for experiment in Experiment.objects.all():
            for act in (loop.start, loop.resume, loop.retry):
                assert not act(experiment), (experiment, act)
        assert not loop.refilm(Clip.objects.get(name=clip.name))
        reaper.tick()
        assert not Job.objects.exclude(status="cancelled").exists()
        states = dict(Experiment.objects.values_list("public_id", "status"))
        assert states[unfinished.public_id] == "cancelled" and states[failed.public_id] == "failed"
        assert Imported.objects.count() == Experiment.objects.count()
        newcomer = Participant.objects.get(label="Person-D")
        client.post(reverse("consent", args=[newcomer.token]), {"agree": "yes", "hash": study.consent_hash})
        newcomer.refresh_from_db()
        assert newcomer.consented_at is None and not newcomer.assignments.exists()

    def test_what_ran_is_told_as_it_was(self, taken, tmp_path):
        unfinished, _, _ = _at_work(restore.restore(taken.path, "ada"))
        one = exported(unfinished.people[0].study, tmp_path / "one.zip", clips=False)
        archives.empty_database()
        two = exported(restore.restore(tmp_path / "one.zip", "ada"), tmp_path / "two.zip", clips=False)
        assert {"running", "failed"} <= {row["status"] for row in rows_of(one, "experiments")}
        for name in one.namelist():
            assert name in ("manifest.json", "SHA256SUMS") or two.read(name) == one.read(name), name

    def test_says_where_it_came_from(self, taken):
        study = restore.restore(taken.path, "grace")
        origin = Origin.objects.get(study=study)
        assert origin.sha256 == hashlib.sha256(taken.path.read_bytes()).hexdigest()
        assert origin.versions["packages"]["Django"]
        assert any(row["action"] == "looked at" for row in origin.audit)
        entry = Entry.objects.get(action="imported study")
        assert entry.actor == "grace" and entry.target_id == str(study.pk)

    def test_is_refused_when_its_time_is_over(self, taken, tmp_path):
        study = restore.restore(taken.path, "ada")
        Study.objects.filter(pk=study.pk).update(retention_days=1, closed_at=timezone.now() - timedelta(days=3))
        Origin.objects.update(changed={})
        study.refresh_from_db()
        exported(study, tmp_path / "old.zip", clips=False)
        archives.empty_database()
        with pytest.raises(Refused, match="retention period"):
            restore.restore(tmp_path / "old.zip", "ada")
        assert not Study.objects.exists()


def _at_work(study):
    """One experiment that runs, one that failed with a clip that could not be filmed."""
    experiments = archives.experiments_of(study)
    Experiment.objects.filter(pk=experiments[0].pk).update(status="running")
    Experiment.objects.filter(pk=experiments[1].pk).update(status="failed")
    Job.objects.filter(pk=experiments[0].jobs.first().pk).update(status="running")
    clip = Clip.objects.filter(candidate__iteration__experiment=experiments[1]).first()
    Clip.objects.filter(pk=clip.pk).update(status="failed")
    return (*experiments[:2], clip)


def repacked(source, target, changes=None, extra=(), manifest=None):
    """The zip with these files changed, its manifest telling the truth about them."""
    changes = changes or {}
    old = opened(source)
    about = json.loads(old.read("manifest.json"))
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


def edited(package, table, change):
    """A table with its rows changed, as bytes."""
    rows = rows_of(package, table)
    rows = change(rows) or rows
    return ("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n").encode()


def set_in(table, column, value, row=0):
    def change(package):
        def put(rows):
            rows[row][column] = value

        return {f"tables/{table}.json": edited(package, table, put)}

    return change


HOSTILE_ROWS = {
    "a column too many": set_in("votes", "is_superuser", True),
    "a link to nowhere": set_in("votes", "screening", 999),
    "a link that is text": set_in("votes", "screening", "1"),
    "a link to nowhere that may be empty": set_in("experiments", "winner", 999),
    "ids out of order": set_in("votes", "id", 7),
    "a number where text belongs": set_in("votes", "reason", 5),
    "text where a number belongs": set_in("candidates", "index", "1"),
    "a number too large": set_in("candidates", "index", 2**63),
    "a negative number": set_in("candidates", "index", -1),
    "a time without a zone": set_in("votes", "created_at", "2026-01-01T10:00:00"),
    "no time": set_in("votes", "created_at", "yesterday"),
    "nothing where something must be": set_in("votes", "created_at", None),
    "an unknown state": set_in("experiments", "status", "magic"),
    "an unknown method": set_in("experiments", "method", "evil"),
    "text too long": set_in("participants", "label", "P" * 41),
    "NUL": set_in("votes", "reason", "a\0b"),
    "NUL deep inside": set_in("requests", "payload", {"a": [{"b": "\0"}]}),
    "half a character": set_in("votes", "reason", "\ud800"),
    "two of one label": set_in("participants", "label", "Person-A", 1),
    "two of one name": lambda package: set_in("clips", "name", rows_of(package, "clips")[1]["name"])(package),
    "no name": set_in("clips", "name", "../../secret_key"),
    "order that is no list": set_in("screenings", "order", {"a": 1}),
    "order of things": set_in("screenings", "order", ["1"]),
    "two studies": lambda package: {
        "tables/studies.json": edited(package, "studies", lambda rows: [*rows, {**rows[0], "id": 2}])
    },
    "no study": lambda package: {"tables/studies.json": b"[]\n"},
    "not JSON": lambda package: {"tables/votes.json": b"[\n{\n]\n"},
    "not a number": lambda package: {
        "tables/runs.json": package.read("tables/runs.json").replace(b'"seconds":61.5', b'"seconds":NaN')
    },
    "an endless number": lambda package: {
        "tables/runs.json": package.read("tables/runs.json").replace(b'"seconds":61.5', b'"seconds":1e999')
    },
    "deeper than Python reads": lambda package: {"tables/votes.json": b"[\n" + b"[" * 200_000 + b"\n]\n"},
    "a row that is a list": lambda package: {"tables/votes.json": b"[\n[1]\n]\n"},
    "a page as a film": lambda package: {film(package): b"<script>alert(1)</script>"},
    "an empty film": lambda package: {film(package): b""},
}


def film(package):
    return next(name for name in package.namelist() if name.endswith(".mp4"))


def member(name, mode=0o100644, **values):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    for key, value in values.items():
        setattr(info, key, value)
    return info


HOSTILE_FILES = {
    "upwards": (member("../evil.py"), b"x"),
    "upwards inside": (member("clips/../../evil.py"), b"x"),
    "absolute": (member("/etc/evil"), b"x"),
    "another drive": (member("C:evil"), b"x"),
    "backslashes": (member("clips/x"), b"x"),
    "a link": (member("clips/link", 0o120777), b"/etc/passwd"),
    "a folder": (member("clips/"), b""),
    "a film of nobody": (member("clips/00000000-0000-4000-8000-000000000000.mp4"), b"\0\0\0\0ftyp"),
    "no film": (member("clips/readme.txt"), b"x"),
    "a program": (member("problems/00000000-0000-4000-8000-000000000000.html"), b"x"),
    "an unknown table": (member("tables/users.json"), b"[]\n"),
    "a bomb": (member("code/bomb.py", compress_type=zipfile.ZIP_DEFLATED), b"\0" * (4 << 20)),
}


class TestHostileZips:
    """Each is refused with a reason, and nothing of it stays: no row, no file."""

    @pytest.fixture(autouse=True)
    def untouched(self, settings):
        yield
        assert not Study.objects.exists() and not Entry.objects.filter(action="imported study").exists()
        assert [path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()] == []
        assert list(Path(settings.MEDIA_ROOT).glob("import-*")) == []

    def test_an_honest_one_passes(self, taken, tmp_path, settings):
        """The way in which these tests repack is not what is refused."""
        study = restore.restore(repacked(taken.path, tmp_path / "ok.zip"), "ada")
        assert study.participants.count() == 4
        archives.empty_database()
        for path in Path(settings.MEDIA_ROOT).rglob("*.*"):
            path.unlink()

    @pytest.mark.parametrize("what", HOSTILE_ROWS)
    def test_rows(self, taken, tmp_path, what):
        changes = HOSTILE_ROWS[what](taken.package())
        with pytest.raises(Refused):
            restore.restore(repacked(taken.path, tmp_path / "bad.zip", changes), "ada")

    @pytest.mark.parametrize("what", HOSTILE_FILES)
    def test_files(self, taken, tmp_path, what):
        info, data = HOSTILE_FILES[what]
        path = repacked(taken.folder / "policies.zip", tmp_path / "bad.zip", extra=[(info, data)])
        if what == "backslashes":
            path.write_bytes(path.read_bytes().replace(b"clips/x", b"clips\\x"))
        with pytest.raises(Refused):
            restore.restore(path, "ada")

    def test_a_changed_file(self, taken, tmp_path):
        package = taken.package("policies.zip")
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as new:
            for name in package.namelist():
                data = package.read(name)
                new.writestr(name, data.replace(b"left leg", b"wing arm") if name == "tables/votes.json" else data)
        with pytest.raises(Refused, match="checksum"):
            restore.restore(tmp_path / "bad.zip", "ada")

    @pytest.mark.parametrize(
        "change", [{"format": 2}, {"kind": "other"}, {"files": 3}, {"files": [{"name": "x"}]}, {"files": []}]
    )
    def test_another_manifest(self, taken, tmp_path, change):
        path = repacked(taken.folder / "policies.zip", tmp_path / "bad.zip", manifest=lambda about: {**about, **change})
        with pytest.raises(Refused):
            restore.restore(path, "ada")

    def test_two_files_of_one_name(self, taken, tmp_path):
        path = repacked(taken.folder / "policies.zip", tmp_path / "bad.zip")
        with zipfile.ZipFile(path, "a") as again, pytest.warns(UserWarning, match="Duplicate"):
            again.writestr("README.txt", "another one")
        with pytest.raises(Refused, match="same name"):
            restore.restore(path, "ada")

    def test_a_lie_about_a_size(self, taken, tmp_path):
        """The directory announces less than the file unpacks to."""
        path = repacked(taken.folder / "policies.zip", tmp_path / "bad.zip")
        name = b"tables/votes.json"
        data, size = bytearray(path.read_bytes()), len(taken.package("policies.zip").read(name.decode()))
        at = data.rindex(name) - 46  # its entry in the central directory
        assert data[at : at + 4] == b"PK\1\2"
        data[at + 24 : at + 28] = (10).to_bytes(4, "little")
        path.write_bytes(data)
        assert size > 10
        with pytest.raises(Refused):
            restore.restore(path, "ada")

    @pytest.mark.parametrize("data", [b"", b"no zip", b"PK\3\4" + b"\0" * 100])
    def test_no_zip(self, tmp_path, data):
        (tmp_path / "bad.zip").write_bytes(data)
        with pytest.raises(Refused):
            restore.restore(tmp_path / "bad.zip", "ada")

    def test_half_a_zip(self, taken, tmp_path):
        data = taken.path.read_bytes()
        (tmp_path / "bad.zip").write_bytes(data[: len(data) // 2])
        with pytest.raises(Refused):
            restore.restore(tmp_path / "bad.zip", "ada")

    def test_damaged_inside(self, taken, tmp_path):
        data = bytearray((taken.folder / "policies.zip").read_bytes())
        at = data.index(b"tables/candidates.json") + 60
        data[at : at + 40] = b"\xff" * 40
        (tmp_path / "bad.zip").write_bytes(data)
        with pytest.raises(Refused):
            restore.restore(tmp_path / "bad.zip", "ada")


@pytest.fixture
def solved():
    """A study whose task is a problem with a figure, a subtask and a case."""
    problem = Problem.objects.create(name="sum-of-two", title="Sum", form="program", statement="Add two numbers.")
    Attachment.objects.create(problem=problem, file=SimpleUploadedFile("figure.png", b"\x89PNG\r\n\x1a\n sum"))
    Subtask.objects.create(problem=problem, number=1, points=2.0)
    TestCase.objects.create(problem=problem, stdin="1 2", expected="3")
    person = archives.rows.participant(archives.rows.study(task="sum-of-two"))
    Iteration.objects.create(experiment=person.experiment, number=1).candidates.create(index=1, source="int main(){}")
    return person.study


class TestProblems:
    def test_come_along(self, solved, tmp_path, settings):
        package = exported(solved, tmp_path / "one.zip")
        [file] = [name for name in package.namelist() if name.startswith("problems/")]
        assert rows_of(package, "attachments")[0]["file"] == file and "code/1/1-1.cpp" in package.namelist()
        archives.empty_database()
        (Path(settings.MEDIA_ROOT) / file).unlink()
        again = exported(restore.restore(tmp_path / "one.zip", "ada"), tmp_path / "two.zip")
        for table in ("problems", "attachments", "subtasks", "test_cases", "arms", "experiments"):
            assert rows_of(again, table) == rows_of(package, table)
        assert (Path(settings.MEDIA_ROOT) / file).read_bytes() == package.read(file)

    def test_that_are_here_already_are_used(self, solved, tmp_path):
        exported(solved, tmp_path / "one.zip")
        restore.restore(tmp_path / "one.zip", "ada")
        assert [model.objects.count() for model in (Problem, Attachment, Subtask, TestCase)] == [1, 1, 1, 1]
        assert Study.objects.count() == 2

    def test_that_say_something_else_here_are_refused(self, solved, tmp_path):
        exported(solved, tmp_path / "one.zip")
        Problem.objects.update(statement="Subtract two numbers.")
        with pytest.raises(Refused, match="is here already, with another statement"):
            restore.restore(tmp_path / "one.zip", "ada")

    @pytest.mark.parametrize("name", ["../../secret_key", "problems/x.png", "clips/" + "0" * 36 + ".png"])
    def test_files_lead_nowhere_else(self, solved, tmp_path, name):
        package = exported(solved, tmp_path / "one.zip")
        archives.empty_database()
        changes = set_in("attachments", "file", name)(package)
        with pytest.raises(Refused, match="no name of a file"):
            restore.restore(repacked(tmp_path / "one.zip", tmp_path / "bad.zip", changes), "ada")
