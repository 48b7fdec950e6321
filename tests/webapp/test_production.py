"""The loop's tests once more, on a real PostgreSQL with a real Redis."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.webapp.servers import ROOT, database_url


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("module", ["test_jobs", "test_loop", "test_events", "test_nul"])
def test_on_postgresql_and_redis(module: str, postgres: int, redis: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"tests/webapp/{module}.py", "-q", "-p", "no:cacheprovider", "--create-db"],
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
