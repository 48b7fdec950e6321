"""A real worker whose Redis goes away while it works."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg2
import pytest
from redis import Redis

from tests.webapp.servers import Stack, free_port, listening, production, program, wait_for

START = """
from webapp.experiments import loop
from webapp.experiments.models import Experiment
loop.start(Experiment.objects.create(name="x", task="Cartpole", judge="proxy", k=2, n=1))
"""


@contextmanager
def redis_server(port: int) -> Iterator[None]:
    command = [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: listening(port), "the start of Redis")
        yield
    finally:
        process.kill()
        process.wait()


def find_statuses(stack: Stack) -> dict[str, str]:
    """The status of each kind of job."""
    with closing(psycopg2.connect(stack.environment["PREFINE_DATABASE_URL"])) as database, database.cursor() as rows:
        rows.execute("SELECT kind, status FROM experiments_job")
        return dict(rows.fetchall())


def waits_for_messages(port: int) -> bool:
    with Redis(port=port) as broker:
        return any(client["cmd"] == "brpop" for client in broker.client_list())


@pytest.mark.slow
def test_a_worker_goes_on_when_the_broker_was_away_at_the_end_of_its_job(postgres: int, tmp_path: Path) -> None:
    """Once it has lost the broker before: a new worker goes on in any case."""
    port = free_port()
    stack = production(tmp_path / "data", postgres, port)
    with ExitStack() as started, closing(psycopg2.connect(stack.environment["PREFINE_DATABASE_URL"])) as database:
        with redis_server(port):
            started.enter_context(running(stack, "worker", "llm"))
            wait_for(lambda: waits_for_messages(port), "the start of the worker")
        stack.manage("shell", "-v0", "-c", START)
        database.cursor().execute("SELECT 1 FROM experiments_experiment FOR UPDATE")  # the first job waits for it
        with redis_server(port):
            started.enter_context(running(stack, "reaper"))  # calls for jobs whose message no broker took
            wait_for(lambda: find_statuses(stack) == {"advance": "running"}, "the first job")
        database.rollback()
        wait_for(lambda: find_statuses(stack) == {"advance": "done", "write": "queued"}, "its end")
        with redis_server(port):
            wait_for(lambda: find_statuses(stack)["write"] != "queued", "the second job", 60)


@contextmanager
def running(stack: Stack, *command: str) -> Iterator[None]:
    process = stack.python("manage.py", *command)
    try:
        yield
    finally:
        process.kill()
        process.communicate()
