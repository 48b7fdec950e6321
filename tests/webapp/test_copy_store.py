"""The files of a data folder go into a bucket and back."""

from __future__ import annotations

import io
import os
import uuid

import pytest
from django.core.management import CommandError, call_command

from webapp.base.local_store import LocalStore
from webapp.base.s3_store import PART_BYTES, S3Store
from webapp.base.store import store

pytestmark = pytest.mark.slow
RUN = f"runs/{uuid.uuid4()}-3"
CONTENTS = {
    "clips/a.mp4": b"film",
    "exports/b.zip": os.urandom(PART_BYTES + 1),
    f"{RUN}/checkpoints/policies/0.pt": b"policy",
    f"{RUN}/job.json": b"it limps",
    "votes/c.mp4": b"",
}


@pytest.fixture
def local(s3_store) -> LocalStore:
    found = LocalStore()
    for key, content in CONTENTS.items():
        found.publish(key, content)
    found.publish(f"{RUN}/log.txt", b"it limps")
    return found


def copy(*arguments: str) -> str:
    said = io.StringIO()
    call_command("copy_store", *arguments, stdout=said)
    return said.getvalue()


def read_all(place) -> dict[str, bytes]:
    found = {}
    for folder in ("clips", "exports", "runs", "votes"):
        for key in place.keys(folder):  # noqa: SIM118 (a store is no dict)
            with place.open(key) as file:
                found[key] = file.read()
    return found


def test_everything_but_logs_goes_there_and_back(local, settings, tmp_path):
    assert "Copied 5 files" in copy("local", "bucket")
    assert read_all(store) == CONTENTS
    assert "Copied 0 files" in (said := copy("local", "bucket")) and "5 were there already" in said
    settings.DATA_DIR = tmp_path / "elsewhere"
    assert "Copied 5 files" in copy("bucket", "local")
    assert read_all(LocalStore()) == CONTENTS


def test_a_copy_that_was_stopped_goes_on(local, monkeypatch):
    publish = S3Store.publish

    def stop(self, key, source):
        if key.startswith("votes/"):
            raise KeyboardInterrupt
        publish(self, key, source)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(S3Store, "publish", stop)
        copy("local", "bucket")
    said = copy("local", "bucket")
    assert "Copied 1 files" in said and "4 were there already" in said
    assert read_all(store) == CONTENTS


def test_what_was_rewritten_meanwhile_is_copied_again(local):
    """A word that was erased between two copies has as many letters as what stands in its place."""
    copy("local", "bucket")
    local.publish(f"{RUN}/job.json", b"[erased]")
    assert "Copied 1 files" in copy("local", "bucket")
    assert read_all(store)[f"{RUN}/job.json"] == b"[erased]"


def test_a_damaged_copy_is_noticed(local, monkeypatch):
    publish = S3Store.publish
    monkeypatch.setattr(S3Store, "publish", lambda self, key, source: publish(self, key, b"x" + source.read()[1:]))
    with pytest.raises(CommandError, match=r"is not the same after it was copied.*\n.*give the same command"):
        copy("local", "bucket")


def test_without_a_bucket_it_says_what_to_set(settings):
    settings.STORE = None
    with pytest.raises(CommandError, match="Set PREFINE_STORE_URL"):
        copy("local", "bucket")
    with pytest.raises(CommandError, match="the other one bucket"):
        copy("local", "local")
