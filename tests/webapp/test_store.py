"""The store of files: in the data folder, and in a bucket of a real S3 server."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from webapp.base import scratch
from webapp.base.store import store


@pytest.mark.usefixtures("any_store")
class TestEither:
    def test_a_file_is_there_as_a_whole_or_not_at_all(self, tmp_path: Path) -> None:
        store.publish("clips/a.mp4", b"0123456789")

        class Broken(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                raise OSError("gone")

        with pytest.raises(OSError, match="gone"):
            store.publish("clips/a.mp4", Broken())
        with pytest.raises(OSError, match="gone"):
            store.publish("clips/b.mp4", Broken())
        assert store.names("clips") == ["a.mp4"] and store.size("clips/a.mp4") == 10
        with store.open_range("clips/a.mp4", 3, 4) as file:
            assert file.read(4) == b"3456"
        store.fetch("clips/a.mp4", tmp_path / "deep" / "copy")
        (tmp_path / "deep" / "copy").write_bytes(b"changed")
        with store.open("clips/a.mp4") as file:
            assert file.read() == b"0123456789"
        assert [path.name for path in (tmp_path / "deep").iterdir()] == ["copy"]

    def test_files_of_every_size_come_back(self, tmp_path: Path) -> None:
        """Nothing, less and more than one part of an upload."""
        for size in (0, 10, 20 << 20):
            source = tmp_path / "source"
            source.write_bytes(os.urandom(size))
            store.publish("exports/c.zip", source)
            store.fetch("exports/c.zip", tmp_path / "copy")
            assert store.size("exports/c.zip") == size
            assert (tmp_path / "copy").read_bytes() == source.read_bytes()
            source.unlink()

    def test_an_open_file_can_be_sought(self) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for number in range(3):
                archive.writestr(f"{number}.txt", str(number) * 300_000)
        packed.seek(0)
        store.publish("imports/c.zip", packed)
        with store.open("imports/c.zip") as file, zipfile.ZipFile(file) as archive:
            assert [archive.read(f"{number}.txt")[:2] for number in (2, 0, 1)] == [b"22", b"00", b"11"]

    def test_a_program_gets_a_path(self) -> None:
        store.publish("runs/b-3/job.json", b"{}")
        with store.as_file("runs/b-3/job.json") as path:
            assert path.name == "job.json" and path.read_bytes() == b"{}"
        assert store.size("runs/b-3/job.json") == 2
        assert not [found for found in scratch.get_folder().glob("store-*")]

    def test_what_is_not_there(self, tmp_path: Path) -> None:
        assert store.size("clips/a.mp4") is None and store.keys("clips") == store.names("clips") == []
        assert store.age("clips/a.mp4") is None
        store.delete("clips/a.mp4")
        store.delete_folder("runs/a")
        with pytest.raises(FileNotFoundError):
            store.open("clips/a.mp4")
        with pytest.raises(FileNotFoundError):
            store.fetch("clips/a.mp4", tmp_path / "copy")
        with pytest.raises(FileNotFoundError), store.as_file("clips"):
            pass

    @pytest.mark.parametrize(
        "key", ["../secret_key", "clips/../../secret_key", "/etc/passwd", "clips//a", ".a", "a\0b"]
    )
    def test_no_key_leads_out_of_it(self, key: str) -> None:
        for ask in (store.size, store.open, store.delete, store.keys, store.delete_folder, store.age):
            with pytest.raises(ValueError, match="no key"):
                ask(key)
        with pytest.raises(ValueError, match="no key"):
            store.publish(key, b"")

    def test_a_folder_is_listed_and_deleted(self) -> None:
        for key in ("runs/b-3/job.json", "runs/b-3/rollouts/0-100.npz", "runs/b-4/job.json", "clips/ü %2F+1.mp4"):
            store.publish(key, b"x")
        assert store.names("runs") == ["b-3", "b-4"] and store.names("clips") == ["ü %2F+1.mp4"]
        assert store.keys("runs/b-3") == ["runs/b-3/job.json", "runs/b-3/rollouts/0-100.npz"]
        assert store.keys("runs/b") == []  # a folder, not whatever begins so
        assert "clips" in store.names("")
        store.delete_folder("runs/b-3")
        assert store.keys("runs") == ["runs/b-4/job.json"]  # some servers name an emptied folder for a while

    def test_what_is_young_stays(self) -> None:
        store.publish("runs/b-3/job.json", b"x")
        for name in ("runs/b-3", "runs/b-3/job.json"):
            age = store.age(name)
            assert age is not None and -2 < age < 600
            store.delete_old(name, 600)
        store.delete_unfinished(600)
        assert store.size("runs/b-3/job.json") == 1
        store.delete_old("runs/b-3", -10)
        assert store.keys("runs") == []

    def test_it_says_that_it_works(self) -> None:
        store.check()
        assert store.names("") == []

    def test_file_fields_of_django_use_it(self) -> None:
        content = ContentFile(b"figure")
        name = default_storage.save("problems/a.png", content)
        assert not content.closed and content.size == 6
        assert store.size(name) == default_storage.size(name) == 6 and default_storage.exists(name)
        with default_storage.open(name) as file:
            assert file.read() == b"figure"
        default_storage.delete(name)
        assert store.size(name) is None


class TestLocal:
    def test_an_unfinished_file_leaves_nothing(self, data: Path) -> None:
        store.publish("clips/a.mp4", b"0123456789")
        with pytest.raises(FileNotFoundError):
            store.publish("clips/a.mp4", data / "nothing")
        assert [path.name for path in (data / "media/clips").iterdir()] == ["a.mp4"]

    def test_what_an_earlier_version_wrote_lies_where_it_lay(self, data: Path) -> None:
        places = {
            "clips/a.mp4": "media/clips/a.mp4",
            "votes/a.jpg": "media/votes/a.jpg",
            "problems/a.png": "media/problems/a.png",
            "runs/b-3/rollouts/0-100.npz": "runs/b-3/rollouts/0-100.npz",
            "exports/c.zip": "exports/c.zip",
            "imports/c.zip": "imports/c.zip",
        }
        for key, place in places.items():
            (data / place).parent.mkdir(parents=True, exist_ok=True)
            (data / place).write_text(key)
            with store.as_file(key) as path:
                assert path.read_text() == key

    def test_links_that_generated_code_made_lead_nowhere(self, data: Path) -> None:
        secret, run = data / "secret", data / "runs" / "b-3"
        secret.write_text("words")
        (run / "rollouts").mkdir(parents=True)
        (run / "rollouts" / "0-100.npz").symlink_to(secret)
        (run / "traces").symlink_to(data)
        for key in ("runs/b-3/rollouts/0-100.npz", "runs/b-3/traces/secret"):
            assert store.size(key) is None
            with pytest.raises(FileNotFoundError):
                store.open(key)
        assert store.keys("runs/b-3") == []
        with pytest.raises(FileNotFoundError):
            store.publish("runs/b-3/rollouts/1-100.npz", run / "rollouts" / "0-100.npz")

    def test_what_was_being_published_at_a_kill_goes_after_a_while(self, data: Path) -> None:
        store.publish("clips/a.mp4", b"x")
        part = data / "media/clips/.b.mp4.0123.part"
        part.touch()
        store.delete_unfinished(60)
        assert part.exists()
        os.utime(part, (0, 0))
        store.delete_unfinished(60)
        assert not part.exists() and store.size("clips/a.mp4") == 1
