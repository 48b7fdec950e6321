"""Without a network to database and broker every process gives up in seconds, and nothing waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.webapp.lines import line, silent_server
from tests.webapp.servers import ROOT, database_url

pytestmark = pytest.mark.slow

PATIENCE = 60
"""A process that has not given up by then waits for ever, or as long as the kernel does: a quarter of an hour."""
QUERY = """
from django.db import OperationalError, connection
try:
    connection.ensure_connection()
    print("ready", flush=True)
    with connection.cursor() as cursor:
        {before}
        cursor.execute({query!r})
except OperationalError as error:
    print("gave up")
"""
ASK = QUERY.format(before="input()", query="SELECT 1")
WAIT = QUERY.format(before="", query="SELECT pg_sleep(600)")
PUBLISH = """
from webapp.base.broker import send_message
from webapp.celery import app
send_message("prefine.run_job", (1,), "train")
print("ready", flush=True)
input()
send_message("prefine.run_job", (2,), "train")
print("gave up")
"""
LISTEN = """
from kombu import Consumer
from webapp.celery import app
with app.connection_for_read() as broker, Consumer(broker, [app.amqp.queues["film"]]):
    try:
        broker.drain_events(timeout=1)
    except TimeoutError:
        print("ready", flush=True)
    while True:
        try:
            broker.drain_events(timeout=1)
        except TimeoutError:
            continue
        except broker.connection_errors:
            print("gave up")
            break
"""


@contextmanager
def running(code: str, folder: Path, **addresses: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", f"import django\ndjango.setup()\n{code}"],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "webapp.settings", "PREFINE_DATA": str(folder), **addresses},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def finish(process: subprocess.Popen[str]) -> str:
    """What it says after one line of input."""
    try:
        return process.communicate("\n", timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        pytest.fail(f"it still waits after {PATIENCE} s", pytrace=False)


def cut_while_running(code: str, server: int, folder: Path, variable: str, address: str) -> str:
    """What this code says once its line to the server is cut."""
    with line(server) as cable, running(code, folder, **{variable: address.format(cable.port)}) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        cable.cut()
        return finish(process)


@pytest.mark.parametrize("code", [ASK, WAIT], ids=["asks", "waits"])
def test_a_cut_line_to_the_database_ends_a_query(postgres, tmp_path, code):
    address = database_url("{}", "postgres")
    assert cut_while_running(code, postgres, tmp_path, "PREFINE_DATABASE_URL", address) == "gave up\n"


@pytest.mark.parametrize("code", [PUBLISH, LISTEN], ids=["publishes", "listens"])
def test_a_cut_line_to_the_broker_is_noticed(redis, tmp_path, code):
    address = "redis://127.0.0.1:{}/2"
    assert cut_while_running(code, redis, tmp_path, "PREFINE_BROKER_URL", address) == "gave up\n"


def test_a_database_that_never_answers_is_given_up(tmp_path):
    address = database_url("{}", "postgres")
    with silent_server() as port, running(ASK, tmp_path, PREFINE_DATABASE_URL=address.format(port)) as process:
        assert finish(process) == "gave up\n"


def test_a_broker_that_never_answers_is_given_up(tmp_path):
    address = "redis://127.0.0.1:{}/2"
    with silent_server() as port, running(PUBLISH, tmp_path, PREFINE_BROKER_URL=address.format(port)) as process:
        assert finish(process) == "ready\ngave up\n"
