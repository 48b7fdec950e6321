"""What depends on the database and the broker once more, on a real PostgreSQL with a real Redis."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.webapp.servers import ROOT, database_url

pytestmark = pytest.mark.slow

MODULES = ("test_jobs", "test_calls_of_jobs", "test_races", "test_nul", "test_clocks", "test_prepared")
"""Where locks, transactions, the clock, what a column holds and how SQL is made decide."""
MORE = (
    "test_requests",
    "test_events",
    "test_panel",
    "test_loop",
    "test_loop_command",
    "test_loop_endpoint",
    "test_loop_real",
    "test_archive_import",
)
"""What is killed in the middle there: test_crash.py."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("modules", [MODULES, pytest.param(MORE, marks=pytest.mark.exhaustive)], ids=["first", "more"])
def test_on_postgresql_and_redis(postgres: int, redis: int, modules: tuple[str, ...]) -> None:
    """In one process, which makes one database."""
    files = [f"tests/webapp/{module}.py" for module in modules]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *files, "-q", "-p", "no:cacheprovider", "--create-db"],
        cwd=ROOT,
        env={
            **os.environ,
            "PREFINE_TEST_DATABASE_URL": database_url(postgres, "postgres"),
            "PREFINE_TEST_BROKER_URL": f"redis://127.0.0.1:{redis}/1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
