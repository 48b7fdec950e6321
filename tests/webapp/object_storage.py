"""A real S3 server (SeaweedFS) for tests, and buckets on it."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.webapp.servers import START_SECONDS, free_port

KEY, SECRET = "prefine", "secret/+="
PORTS = [f"{part}.port{kind}" for part in ("s3", "master", "volume", "filer") for kind in ("", ".grpc")]


def connect(port: int, host: str = "127.0.0.1"):
    """A client beside the one that is tested."""
    import boto3  # not above: slow to import, and every run of tests imports this file
    from botocore.config import Config

    config = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})
    return boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
        config=config,
    )


def store_url(port: int, bucket: str, secret: str = SECRET, host: str = "127.0.0.1") -> str:
    return f"s3://{KEY}:{quote(secret, safe='')}@{host}:{port}/{bucket}?tls=0"


def create_bucket(port: int, host: str = "127.0.0.1") -> str:
    """A new bucket; returns the address for PREFINE_STORE_URL."""
    bucket = f"b-{uuid.uuid4().hex}"
    connect(port, host).create_bucket(Bucket=bucket)
    return store_url(port, bucket, host=host)


ENVIRONMENT = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}
"""Without it a bucket takes seven of the 200 volumes, and the 29th bucket of a run of tests stores nothing."""


def prepare_server(folder: Path, host: str) -> tuple[list[str], int]:
    """The command of a server that keeps everything in this folder, and its port."""
    drawn = set[int]()
    while len(drawn) < len(PORTS):
        drawn.add(free_port())
    ports = dict(zip(PORTS, drawn, strict=True))
    rights = ["Admin", "Read", "Write", "List", "Tagging"]
    person = {"name": "prefine", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": rights}
    (folder / "s3.json").write_text(json.dumps({"identities": [person]}))
    weed = Path(sysconfig.get_path("scripts")) / "weed"
    command = [str(weed), "server", f"-dir={folder}", f"-ip={host}", f"-ip.bind={host}", "-s3"]
    command += [f"-s3.config={folder / 's3.json'}", "-s3.iam=false", "-master.telemetry=false"]
    command += [
        "-s3.autoCreateBucket=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.volumeSizeLimitMB=64",
        "-volume.max=200",
    ]
    return [*command, *(f"-{name}={port}" for name, port in ports.items())], ports["s3.port"]


@contextmanager
def serve(folder: Path, host: str = "127.0.0.1", prefix: tuple[str, ...] = ()) -> Iterator[int]:
    """The port of a server that keeps everything in this folder. `prefix`: a command that starts it elsewhere."""
    command, port = prepare_server(folder, host)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*prefix, *command], stdout=log, stderr=log, cwd=folder, env=os.environ | ENVIRONMENT
        )
    try:
        wait_until_it_stores(lambda: process.poll() is None, port, host, folder / "log")
        yield port
    finally:
        process.kill()
        process.wait()


def wait_until_it_stores(is_alive: Callable[[], bool], port: int, host: str, log: Path) -> None:
    from botocore.exceptions import BotoCoreError, ClientError

    deadline, client = time.monotonic() + START_SECONDS, connect(port, host)
    while is_alive() and time.monotonic() < deadline:
        try:
            if not client.list_buckets()["Buckets"]:
                client.create_bucket(Bucket="first")
            client.put_object(Bucket="first", Key="x", Body=b"x")
            return
        except (ClientError, BotoCoreError):
            time.sleep(0.2)
    raise AssertionError(f"the S3 server did not start:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an S3 server of our own."""
    with serve(tmp_path_factory.mktemp("s3")) as port:
        yield port


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.slow)])
def any_store(request: pytest.FixtureRequest) -> str:
    """Once with the store in the data folder, once with one in a bucket."""
    if request.param == "s3":
        request.getfixturevalue("s3_store")
    return str(request.param)


@pytest.fixture
def s3_store(s3_server: int, settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The store is a new bucket; returns its address."""
    from webapp.base import store as chosen
    from webapp.base.store_address import read_address

    url = create_bucket(s3_server)
    settings.STORE, settings.SCRATCH = read_address(url), tmp_path / "scratch"
    monkeypatch.setattr(chosen.store, "_wrapped", chosen.open_store())
    return url
