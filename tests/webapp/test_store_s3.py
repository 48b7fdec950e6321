"""What only a store behind a network meets: wrong keys, no answer, a connection that breaks, a killed upload."""

from __future__ import annotations

import itertools
import os
import select
import socket
import socketserver
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from django.utils import timezone

from tests.webapp import rows
from tests.webapp.object_storage import KEY, SECRET, connect, create_bucket, store_url
from tests.webapp.servers import free_port
from webapp.archive import erasure, orphan_files, retention
from webapp.archive.models import Export
from webapp.base import s3_store
from webapp.base.s3_store import PART_BYTES, S3Store
from webapp.base.store import store
from webapp.base.store_address import read_address
from webapp.base.store_interface import StoreError
from webapp.experiments.models import Clip

slow = pytest.mark.slow


class TestAddress:
    def test_it_is_read(self) -> None:
        address = read_address("s3://a%2Fb:c%2B%40d@[::1]:9000/bucket/lab/one/?tls=0&region=eu-north-1")
        assert (address.endpoint, address.bucket, address.prefix) == ("http://[::1]:9000", "bucket", "lab/one/")
        assert (address.key, address.secret, address.region) == ("a/b", "c+@d", "eu-north-1")
        assert read_address("s3://s3.example.org/bucket").endpoint == "https://s3.example.org"
        assert "c+@d" not in repr(address)

    @pytest.mark.parametrize(
        "url",
        [
            *("https://a:b@host/bucket", "s3://a:b@host", "s3://a:b@/bucket", "s3://a@host/bucket"),
            *("s3://a:b@host/bucket?tls=yes", "s3://a:b@host/bucket?lts=0", "s3://a:b/c@host:90/bucket", "bucket"),
        ],
    )
    def test_another_form_is_refused_without_the_secret(self, url: str) -> None:
        with pytest.raises(ValueError, match="it must ") as refused:
            read_address(url)
        assert "b/c" not in str(refused.value)


@slow
class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda url: url.replace(SECRET[:6], "wrong!"), "does not accept the secret"),
            (lambda url: url.replace(f"//{KEY}:", "//nobody:"), "does not know the key"),
            (lambda url: url.replace("/b-", "/c-"), "has no such bucket"),
        ],
    )
    def test_each_names_what_to_change(self, s3_server: int, change, said: str, tmp_path: Path) -> None:
        wrong = S3Store(read_address(change(create_bucket(s3_server))))
        for ask in (wrong.open, wrong.keys, lambda key: wrong.fetch(key, tmp_path / "a")):
            with pytest.raises(StoreError, match=said) as refused:
                ask("clips/a.mp4")
            assert refused.value.permanent and "wrong!" not in str(refused.value)
        with pytest.raises(StoreError):
            wrong.check()
        assert not list(tmp_path.iterdir())

    def test_a_clock_that_is_wrong(self, s3_store: str, monkeypatch: pytest.MonkeyPatch) -> None:

        import botocore.auth
        from botocore.compat import get_current_datetime as really

        monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *a, **k: really(*a, **k) - timedelta(hours=9))
        late = SimpleNamespace(time=lambda: time.time() - 9 * 3600)
        monkeypatch.setattr("webapp.base.s3_store.time", late)
        for ask in (store.open, store.size):  # HEAD is told no reason
            with pytest.raises(StoreError, match="the clock of .* is wrong") as refused:
                ask("clips/a.mp4")
            assert not refused.value.permanent  # clocks are set right while a job waits

    def test_an_address_that_has_expired_or_is_not_signed_opens_nothing(self, s3_server: int, s3_store: str) -> None:
        """Prefine gives out none; a store that answered them would show everybody its files."""
        place = {"Bucket": read_address(s3_store).bucket, "Key": "clips/a.mp4"}
        with closing(connect(s3_server)) as other:
            other.put_object(**place, Body=b"a film")
            valid, expired = (other.generate_presigned_url("get_object", place, seconds) for seconds in (60, 1))
        with urlopen(valid, timeout=60) as answer:
            assert answer.read() == b"a film"
        time.sleep(2.1)
        for address in (expired, expired.partition("?")[0]):
            with pytest.raises(HTTPError) as refused:
                urlopen(address, timeout=60)
            with refused.value:
                assert refused.value.code == 403

    def test_old_versions_are_not_accepted(self, s3_server: int, s3_store: str) -> None:
        """What a person's erasure deletes would stay as an old version."""
        bucket = read_address(s3_store).bucket
        store.check()
        connect(s3_server).put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        with pytest.raises(StoreError, match="keeps old versions"):
            store.check()


@slow
class TestNoAnswer:
    def test_a_store_that_is_away_is_asked_again_and_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(s3_store, "ATTEMPTS", 1)
        port = free_port()
        away = S3Store(read_address(store_url(port, "bucket")))
        for ask in (away.size, away.open, away.keys, away.delete, away.delete_folder):
            with pytest.raises(StoreError, match=f"127.0.0.1:{port}/bucket does not answer") as failed:
                ask("clips/a.mp4")
            assert not failed.value.permanent and SECRET not in str(failed.value)

    def test_a_broken_download_goes_on_where_it_broke(
        self, s3_server: int, breaking_proxy: int, tmp_path: Path
    ) -> None:
        content = os.urandom(3 << 20)
        url = create_bucket(s3_server)
        S3Store(read_address(url)).publish("exports/c.zip", content)
        through = S3Store(read_address(url.replace(f":{s3_server}/", f":{breaking_proxy}/")))
        through.fetch("exports/c.zip", tmp_path / "copy")
        through._client.close()
        assert (tmp_path / "copy").read_bytes() == content

    def test_a_download_that_breaks_again_and_again_leaves_nothing(
        self, s3_store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        store.publish("exports/c.zip", os.urandom(1 << 20))
        from botocore.exceptions import ReadTimeoutError
        from botocore.response import StreamingBody

        def fail(self: StreamingBody, amount: int | None = None) -> bytes:
            raise ReadTimeoutError(endpoint_url="x")

        monkeypatch.setattr(StreamingBody, "read", fail)
        with pytest.raises(StoreError, match="broke off while it sent exports/c.zip"):
            store.fetch("exports/c.zip", tmp_path / "copy")
        assert not [path for path in tmp_path.iterdir() if path.is_file()]


class BreakingProxy(socketserver.BaseRequestHandler):
    """Hands a connection on; every other one breaks after a megabyte of answers."""

    target = 0
    count = itertools.count()

    def handle(self) -> None:
        most = 1 << 20 if next(self.count) % 2 == 0 else 1 << 30
        with socket.create_connection(("127.0.0.1", self.target)) as there:
            while most > 0:
                for ready in select.select([self.request, there], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (there if ready is self.request else self.request).sendall(data)
                    most -= len(data) if ready is there else 0


@pytest.fixture
def breaking_proxy(s3_server: int) -> Iterator[int]:
    BreakingProxy.target = s3_server
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), BreakingProxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@slow
class TestUploads:
    def test_until_the_last_part_the_old_file_is_there(self, s3_store: str) -> None:
        store.publish("exports/c.zip", b"old")
        seen = []

        class Watched:
            """Looks at the store while it is being uploaded, after some parts."""

            left = 3

            def read(self, size: int = -1, /) -> bytes:
                seen.append(store.size("exports/c.zip"))
                self.left -= 1
                return bytes(PART_BYTES) if self.left >= 0 else b""

        store.publish("exports/c.zip", Watched())
        assert set(seen) == {3} and store.size("exports/c.zip") == 3 * PART_BYTES

    def test_a_killed_upload_is_swept_away(self, s3_server: int, s3_store: str) -> None:
        client, bucket = connect(s3_server), read_address(s3_store).bucket
        client.create_multipart_upload(Bucket=bucket, Key="exports/c.zip")
        store.delete_unfinished(600)
        assert len(client.list_multipart_uploads(Bucket=bucket)["Uploads"]) == 1
        store.delete_unfinished(-10)
        assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)

    def test_a_failed_upload_leaves_no_parts(self, s3_server: int, s3_store: str) -> None:
        class Broken:
            left = 2

            def read(self, size: int = -1, /) -> bytes:
                self.left -= 1
                if self.left < 0:
                    raise OSError("gone")
                return bytes(PART_BYTES)

        with pytest.raises(OSError, match="gone"):
            store.publish("exports/c.zip", Broken())
        uploads = connect(s3_server).list_multipart_uploads(Bucket=read_address(s3_store).bucket)
        assert store.size("exports/c.zip") is None and "Uploads" not in uploads

    def test_two_stores_share_a_bucket(self, s3_store: str) -> None:
        other = S3Store(read_address(s3_store.replace("?", "/lab/two?")))
        store.publish("clips/a.mp4", b"one")
        other.publish("clips/a.mp4", b"second")
        other.delete_folder("clips")
        assert store.size("clips/a.mp4") == 3 and other.size("clips/a.mp4") is None


@slow
@pytest.mark.django_db(transaction=True)
class TestDeletion:
    """Asks the server itself, as someone with the key to the bucket would."""

    def list_bucket(self, port: int, url: str) -> list[str]:
        found = connect(port).list_objects_v2(Bucket=read_address(url).bucket)
        return [entry["Key"] for entry in found.get("Contents", ())]

    def test_erasure_leaves_nothing_of_a_person_in_the_bucket(self, s3_server: int, s3_store: str) -> None:
        person = rows.participant()
        rows.create_round(person)
        for clip in Clip.objects.all():
            store.publish(clip.video, b"film")
            store.publish(clip.poster, b"still")
        store.publish(f"runs/{person.experiment.public_id}-3/checkpoints/policies/0.pt", b"policy")
        store.publish(Export.objects.create(study=person.study, by="ada", status="done").key, b"zip")
        assert len(self.list_bucket(s3_server, s3_store)) == 2 * Clip.objects.count() + 2
        erasure.erase(person)
        assert self.list_bucket(s3_server, s3_store) == []

    def test_retention_deletes_old_exports_and_files_without_a_row(
        self, s3_server: int, s3_store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(orphan_files, "OLD_SECONDS", -10)
        person = rows.participant()
        rows.create_round(person)
        clip = Clip.objects.first()
        old = Export.objects.create(study=person.study, by="ada", status="done")
        Export.objects.update(finished_at=timezone.now() - timedelta(days=90))
        for key in (clip.video, old.key, f"clips/{uuid.uuid4()}.mp4", f"runs/{uuid.uuid4()}-3/job.json"):
            store.publish(key, b"x")
        retention.tick()
        assert self.list_bucket(s3_server, s3_store) == [clip.video]
