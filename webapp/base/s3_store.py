"""The store in a bucket of an S3 server, for workers and sites on several machines."""

from __future__ import annotations

import io
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

import boto3
import urllib3.exceptions
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from webapp.base import scratch
from webapp.base.store_address import StoreAddress
from webapp.base.store_interface import NAME, Source, StoreError, open_source, save_copy, split_key

CONNECT_SECONDS, READ_SECONDS = 2.0, 10.0
ATTEMPTS = 3
"""How often a request is made, and a download opened again, before the store counts as away: sooner than a lease
ends.
"""
CONNECTIONS = 32
PART_BYTES = 8 << 20
"""Larger files are uploaded in parts of this size, which are held in memory. S3 takes 10 000 parts."""
BUFFER_BYTES = 256 << 10
MISSING = ("404", "NoSuchKey", "NoSuchUpload")
REFUSALS = {
    "403": "refuses the key of PREFINE_STORE_URL",
    "AccessDenied": "does not allow this to the key of PREFINE_STORE_URL",
    "AuthorizationHeaderMalformed": "is in another region; name it in PREFINE_STORE_URL",
    "ExpiredToken": "says that the key of PREFINE_STORE_URL has expired",
    "InvalidAccessKeyId": "does not know the key of PREFINE_STORE_URL",
    "NoSuchBucket": "has no such bucket; create it, or correct PREFINE_STORE_URL",
    "PermanentRedirect": "is in another region; name it in PREFINE_STORE_URL",
    "SignatureDoesNotMatch": "does not accept the secret of PREFINE_STORE_URL",
}
"""What a person has to change, by the server's error code."""
WRONG_CLOCK = "RequestTimeTooSkewed"
MOST_SKEW = 15 * 60
"""Seconds by which S3 lets a clock be wrong."""


class S3Store:
    """See webapp.base.store_interface.Store. Its client may be used by several threads."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        keys = {"aws_access_key_id": address.key, "aws_secret_access_key": address.secret} if address.key else {}
        self._client: Any = boto3.session.Session().client(
            "s3",
            endpoint_url=address.endpoint,
            region_name=address.region,
            config=Config(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                max_pool_connections=CONNECTIONS,
                request_checksum_calculation="when_required",  # other servers than Amazon's do not know the new ones
                response_checksum_validation="when_required",
            ),
            **keys,
        )

    def publish(self, key: str, source: Path | bytes | Source) -> None:
        name = self._get_name(key)
        if isinstance(source, Path):
            with open_source(source) as file:
                self._upload(name, file)
        elif isinstance(source, bytes):
            with self._explain(key):
                self._client.put_object(Bucket=self._address.bucket, Key=name, Body=source)
        else:
            self._upload(name, source)

    def fetch(self, key: str, target: Path) -> None:
        with self.open(key) as file:
            save_copy(file, target)

    def open(self, key: str) -> BinaryIO:
        return self._open(key, 0, None)

    def open_range(self, key: str, start: int, length: int) -> BinaryIO:
        return self._open(key, start, start + length)

    @contextmanager
    def as_file(self, key: str) -> Iterator[Path]:
        """A copy on this machine's disk, with the same name, which is deleted afterwards."""
        with scratch.make_folder("store") as folder:
            path = folder / split_key(key)[-1]
            self.fetch(key, path)
            yield path

    def size(self, key: str) -> int | None:
        found = self._head(key)
        return None if found is None else int(found["ContentLength"])

    def keys(self, folder: str) -> list[str]:
        return sorted(key for key in self._list_keys(folder) if NAME.fullmatch(key.rpartition("/")[2]))

    def names(self, folder: str) -> list[str]:
        start = f"{self._get_name(folder)}/" if folder else self._address.prefix
        found = set[str]()
        for page in self._list_pages("list_objects_v2", Prefix=start, Delimiter="/"):
            found |= {entry["Prefix"].removeprefix(start).rstrip("/") for entry in page.get("CommonPrefixes", ())}
            found |= {entry["Key"].removeprefix(start) for entry in page.get("Contents", ())}
        return sorted(name for name in found if NAME.fullmatch(name))

    def delete(self, key: str) -> None:
        self._delete_object(self._get_name(key))

    def delete_folder(self, folder: str) -> None:
        for key in self._list_keys(folder):  # one by one: not every server takes boto3's request for many
            self._delete_object(self._address.prefix + key)

    def age(self, name: str) -> float | None:
        file = self._head(name)
        if file is not None:
            return _count_seconds(file, file["LastModified"])
        pages = self._list_pages("list_objects_v2", Prefix=f"{self._get_name(name)}/")
        ages = [_count_seconds(page, entry["LastModified"]) for page in pages for entry in page.get("Contents", ())]
        return min(ages, default=None)

    def delete_old(self, name: str, seconds: float) -> None:
        age = self.age(name)
        if age is not None and age > seconds:
            self.delete(name)
            self.delete_folder(name)

    def delete_unfinished(self, seconds: float) -> None:
        for page in self._list_pages("list_multipart_uploads", Prefix=self._address.prefix):
            for upload in page.get("Uploads", ()):
                if _count_seconds(page, upload["Initiated"]) > seconds:
                    with suppress(FileNotFoundError), self._explain(upload["Key"]):
                        self._client.abort_multipart_upload(
                            Bucket=self._address.bucket, Key=upload["Key"], UploadId=upload["UploadId"]
                        )

    def is_at(self, folder: str, path: Path) -> bool:
        return False

    def check(self) -> None:
        """Also that the bucket keeps no old versions, which nothing would delete."""
        bucket, probe = self._address.bucket, f"{self._address.prefix}.check-{secrets.token_hex(8)}"
        with self._explain(probe):
            try:
                self._client.put_object(Bucket=bucket, Key=probe, Body=b"x")
                self._client.get_object(Bucket=bucket, Key=probe)["Body"].close()
            finally:
                self._delete_object(probe)
            if self._client.get_bucket_versioning(Bucket=bucket).get("Status"):
                text = f"the bucket {bucket} keeps old versions, so what Prefine deletes would stay in it: use another"
                raise StoreError(text, permanent=True)

    def _get_name(self, key: str) -> str:
        return self._address.prefix + "/".join(split_key(key))

    def _upload(self, name: str, source: Source) -> None:
        """In parts when it is large; until the last one is there, the object does not exist or is the old one."""
        with self._explain(name):
            self._client.upload_fileobj(_Stream(source), self._address.bucket, name, Config=TRANSFER)

    def _open(self, key: str, start: int, end: int | None) -> BinaryIO:
        """Bytes from `start` to before `end`, or to the file's end."""
        name = self._get_name(key)

        def request(position: int, etag: str = "") -> Any:
            asked: dict[str, str] = {"IfMatch": etag} if etag else {}
            if position or end is not None:  # an empty object has no range
                asked["Range"] = f"bytes={position}-{'' if end is None else end - 1}"
            with self._explain(key):
                return self._client.get_object(Bucket=self._address.bucket, Key=name, **asked)

        reader = ObjectReader(request, start, f"the store broke off while it sent {key}")
        return cast(BinaryIO, io.BufferedReader(reader, BUFFER_BYTES))

    def _head(self, key: str) -> Any:
        """What the server says of the object; None if there is none."""
        with suppress(FileNotFoundError), self._explain(key):
            return self._client.head_object(Bucket=self._address.bucket, Key=self._get_name(key))
        return None

    def _delete_object(self, name: str) -> None:
        with suppress(FileNotFoundError), self._explain(name):
            self._client.delete_object(Bucket=self._address.bucket, Key=name)

    def _list_keys(self, folder: str) -> list[str]:
        pages = self._list_pages("list_objects_v2", Prefix=f"{self._get_name(folder)}/")
        return [entry["Key"].removeprefix(self._address.prefix) for page in pages for entry in page.get("Contents", ())]

    def _list_pages(self, operation: str, **asked: str) -> Iterator[Any]:
        with self._explain(asked.get("Prefix", "")):
            yield from self._client.get_paginator(operation).paginate(Bucket=self._address.bucket, **asked)

    @contextmanager
    def _explain(self, key: str) -> Iterator[None]:
        """Turn boto3's errors into those of the interface."""
        place = f"the store {self._address.endpoint}/{self._address.bucket}"
        try:
            yield
        except ClientError as error:
            code = read_code(error)
            if code in MISSING:
                raise FileNotFoundError(f"the store has no file {key}") from error
            if code in REFUSALS:
                raise StoreError(f"{place} {REFUSALS[code]} ({code})", permanent=True) from error
            if code == WRONG_CLOCK:  # clocks are set right without anything else being changed
                raise StoreError(f"{place} says that the clock of {socket.gethostname()} is wrong ({code})") from error
            raise StoreError(f"{place} failed: {error}") from error
        except (NoCredentialsError, PartialCredentialsError) as error:
            raise StoreError(f"PREFINE_STORE_URL has no key, and this machine has none for {place}", True) from error
        except (BotoCoreError, urllib3.exceptions.HTTPError) as error:
            raise StoreError(f"{place} does not answer: {error}") from error


def read_code(error: ClientError) -> str:
    """The server's error code. Where it says no more than 403, as to HEAD, its clock tells whether ours is wrong."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    date = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    skewed = date and abs(parsedate_to_datetime(date).timestamp() - time.time()) > MOST_SKEW
    return WRONG_CLOCK if code == "403" and skewed else code


TRANSFER = TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES, use_threads=False)


class _Stream:
    """A source that can only be read: boto3 would close a file that can be sought, and read it twice to sign it."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def read(self, size: int = -1) -> bytes:
        return self._source.read(size)


class ObjectReader(io.RawIOBase):
    """An object as a file. A broken connection is opened again where it broke, if the object is still the same."""

    def __init__(self, request: Callable[..., Any], start: int, failure: str) -> None:
        super().__init__()
        self._request, self._failure = request, failure
        answer = request(start)
        self._body, self._etag = answer["Body"], answer["ETag"]
        self._position, self._end = start, start + int(answer["ContentLength"])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._end}[whence]
        if base + offset != self._position:
            self._position = max(0, base + offset)
            self._drop()
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        wanted = min(len(buffer), self._end - self._position)
        if wanted <= 0:
            return 0
        for attempt in range(ATTEMPTS):
            try:
                self._body = self._body or self._request(self._position, self._etag)["Body"]
                if data := self._body.read(wanted):
                    buffer[: len(data)] = data
                    self._position += len(data)
                    return len(data)
            except (BotoCoreError, urllib3.exceptions.HTTPError):
                pass
            self._drop()
            time.sleep(0.1 * 2**attempt)
        raise StoreError(self._failure)

    def close(self) -> None:
        if not self.closed:
            self._drop()
        super().close()

    def _drop(self) -> None:
        if self._body is not None:
            self._body.close()
        self._body = None


def _count_seconds(answer: Any, moment: datetime) -> float:
    """Seconds since this moment by the server's clock, which this machine's need not agree with."""
    now = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
    return (now - moment).total_seconds()
