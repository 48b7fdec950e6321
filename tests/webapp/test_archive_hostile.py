"""What an import refuses."""

import zipfile
from pathlib import Path

import pytest

from tests.webapp import finished_study
from tests.webapp.exports import edit_table, repack, rows_of, set_cell
from webapp.archive import importer
from webapp.archive.unpack import Refused
from webapp.audit.models import Entry
from webapp.studies.models import Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


HOSTILE_ROWS = {
    "a column too many": set_cell("votes", "is_superuser", True),
    "a link to nowhere": set_cell("votes", "screening", 999),
    "a link that is text": set_cell("votes", "screening", "1"),
    "a link to nowhere that may be empty": set_cell("experiments", "winner", 999),
    "ids out of order": set_cell("votes", "id", 7),
    "a number where text belongs": set_cell("votes", "reason", 5),
    "text where a number belongs": set_cell("candidates", "index", "1"),
    "a number too large": set_cell("candidates", "index", 2**63),
    "a negative number": set_cell("candidates", "index", -1),
    "a time without a zone": set_cell("votes", "created_at", "2026-01-01T10:00:00"),
    "no time": set_cell("votes", "created_at", "yesterday"),
    "nothing where something must be": set_cell("votes", "created_at", None),
    "an unknown state": set_cell("experiments", "status", "magic"),
    "an unknown method": set_cell("experiments", "method", "evil"),
    "text too long": set_cell("participants", "label", "P" * 41),
    "NUL": set_cell("votes", "reason", "a\0b"),
    "NUL deep inside": set_cell("requests", "payload", {"a": [{"b": "\0"}]}),
    "half a character": set_cell("votes", "reason", "\ud800"),
    "two of one label": set_cell("participants", "label", "Person-A", 1),
    "two of one name": lambda package: set_cell("clips", "name", rows_of(package, "clips")[1]["name"])(package),
    "no name": set_cell("clips", "name", "../../secret_key"),
    "order that is no list": set_cell("screenings", "order", {"a": 1}),
    "order of things": set_cell("screenings", "order", ["1"]),
    "a trace of words": set_cell("candidates", "trace", {"total": "up"}),
    "a trace without samples": set_cell("candidates", "metric_trace", {"samples": 5}),
    "tags that are no words": set_cell("votes", "tags", [1]),
    "options that are a list": set_cell("experiments", "options", [1]),
    "overrides deep inside": set_cell("experiments", "overrides", {"iterations": {"a": {"b": 1}}}),
    "prompts that are a list": set_cell("experiments", "prompts", ["a"]),
    "prompts that are words": set_cell("experiments", "prompts", "abc"),
    "a set of prompts that is a number": set_cell("experiments", "prompts", {"x": 5}),
    "a request that is none": set_cell("requests", "payload", [1]),
    "messages that are words": set_cell("requests", "payload", {"messages": ["Hello"], "iteration": 1}),
    "an answer of another kind": set_cell("requests", "result", [5]),
    "a call without text": set_cell("model_calls", "data", {}),
    "a person's watching as words": set_cell("votes", "client", {"clips": "A"}),
    "where a pair came from": set_cell("pairs", "origin", {"first": "me"}),
    "codes that are things": set_cell("questionnaire_items", "shown_codes", [{}]),
    "estimates that are words": set_cell("jobs", "estimates", ["soon"]),
    "two studies": lambda package: {
        "tables/studies.json": edit_table(package, "studies", lambda rows: [*rows, {**rows[0], "id": 2}])
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
    def check_untouched(self, settings):
        yield
        assert not Study.objects.exists() and not Entry.objects.filter(action="imported study").exists()
        assert [path for path in (settings.DATA_DIR / "media").rglob("*") if path.is_file()] == []
        assert list((settings.DATA_DIR / "media").glob("import-*")) == []

    def test_an_honest_one_passes(self, saved_export, tmp_path, settings):
        """The way in which these tests repack is not what is refused."""
        study = importer.restore(repack(saved_export.path, tmp_path / "ok.zip"), "ada")
        assert study.participants.count() == 4
        finished_study.empty_database()
        for path in (settings.DATA_DIR / "media").rglob("*.*"):
            path.unlink()

    @pytest.mark.parametrize("what", HOSTILE_ROWS)
    def test_rows(self, saved_export, tmp_path, what):
        changes = HOSTILE_ROWS[what](saved_export.package())
        with pytest.raises(Refused):
            importer.restore(repack(saved_export.path, tmp_path / "bad.zip", changes), "ada")

    @pytest.mark.parametrize("what", HOSTILE_FILES)
    def test_files(self, saved_export, tmp_path, what):
        info, data = HOSTILE_FILES[what]
        path = repack(saved_export.folder / "policies.zip", tmp_path / "bad.zip", extra=[(info, data)])
        if what == "backslashes":
            path.write_bytes(path.read_bytes().replace(b"clips/x", b"clips\\x"))
        with pytest.raises(Refused):
            importer.restore(path, "ada")

    def test_a_refused_file_is_not_kept_open(self, saved_export, tmp_path):
        """Not even while its refusal, and with it half a read table, is still held by somebody."""
        changes = HOSTILE_ROWS["a negative number"](saved_export.package())
        path = repack(saved_export.path, tmp_path / "bad.zip", changes)
        with pytest.raises(Refused) as refusal:
            importer.restore(path, "ada")
        assert refusal.value
        assert path not in [link.resolve() for link in Path("/proc/self/fd").iterdir()]

    def test_a_changed_file(self, saved_export, tmp_path):
        package = saved_export.package("policies.zip")
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as new:
            for name in package.namelist():
                data = package.read(name)
                new.writestr(name, data.replace(b"left leg", b"wing arm") if name == "tables/votes.json" else data)
        with pytest.raises(Refused, match="checksum"):
            importer.restore(tmp_path / "bad.zip", "ada")

    @pytest.mark.parametrize(
        "change",
        [{"format": 0}, {"format": "1"}, {"kind": "other"}, {"files": 3}, {"files": [{"name": "x"}]}, {"files": []}],
    )
    def test_another_manifest(self, saved_export, tmp_path, change):
        path = repack(
            saved_export.folder / "policies.zip", tmp_path / "bad.zip", manifest=lambda about: {**about, **change}
        )
        with pytest.raises(Refused):
            importer.restore(path, "ada")

    def test_two_files_of_one_name(self, saved_export, tmp_path):
        path = repack(saved_export.folder / "policies.zip", tmp_path / "bad.zip")
        with zipfile.ZipFile(path, "a") as again, pytest.warns(UserWarning, match="Duplicate"):
            again.writestr("README.txt", "another one")
        with pytest.raises(Refused, match="same name"):
            importer.restore(path, "ada")

    def test_a_lie_about_a_size(self, saved_export, tmp_path):
        """The directory announces less than the file unpacks to."""
        path = repack(saved_export.folder / "policies.zip", tmp_path / "bad.zip")
        name = b"tables/votes.json"
        data, size = bytearray(path.read_bytes()), len(saved_export.package("policies.zip").read(name.decode()))
        at = data.rindex(name) - 46  # its entry in the central directory
        assert data[at : at + 4] == b"PK\1\2"
        data[at + 24 : at + 28] = (10).to_bytes(4, "little")
        path.write_bytes(data)
        assert size > 10
        with pytest.raises(Refused):
            importer.restore(path, "ada")

    @pytest.mark.parametrize("data", [b"", b"no zip", b"PK\3\4" + b"\0" * 100])
    def test_no_zip(self, tmp_path, data):
        (tmp_path / "bad.zip").write_bytes(data)
        with pytest.raises(Refused):
            importer.restore(tmp_path / "bad.zip", "ada")

    def test_half_a_zip(self, saved_export, tmp_path):
        data = saved_export.path.read_bytes()
        (tmp_path / "bad.zip").write_bytes(data[: len(data) // 2])
        with pytest.raises(Refused):
            importer.restore(tmp_path / "bad.zip", "ada")

    def test_damaged_inside(self, saved_export, tmp_path):
        data = bytearray((saved_export.folder / "policies.zip").read_bytes())
        at = data.index(b"tables/candidates.json") + 60
        data[at : at + 40] = b"\xff" * 40
        (tmp_path / "bad.zip").write_bytes(data)
        with pytest.raises(Refused):
            importer.restore(tmp_path / "bad.zip", "ada")
