"""Loaded before Django's settings (see addopts in pyproject.toml): tests write into a folder of their own.

A second run of some tests, against PostgreSQL and Redis, gets their addresses in PREFINE_TEST_DATABASE_URL and
PREFINE_TEST_BROKER_URL.
"""

import atexit
import gc
import os
import shutil
import signal
import tempfile

import pytest

for name in [name for name in os.environ if name.startswith("PREFINE_") and not name.startswith("PREFINE_TEST_")]:
    del os.environ[name]
for name in ("DATABASE_URL", "BROKER_URL"):
    if f"PREFINE_TEST_{name}" in os.environ:
        os.environ[f"PREFINE_{name}"] = os.environ[f"PREFINE_TEST_{name}"]
os.environ["PREFINE_DATA"] = tempfile.mkdtemp(prefix="prefine-test-")
atexit.register(shutil.rmtree, os.environ["PREFINE_DATA"], ignore_errors=True)
# Background jobs of a shell and their children ignore Control-C; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

os.fsync = lambda descriptor: None  # no test cuts the power, and a disk takes milliseconds, thousands of times
gc.disable()  # collections take a third of the time of reading all tests, and find nothing


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.freeze()
    gc.set_threshold(50_000)  # at Python's 700, a fifth of a test of pages is spent on collections
    gc.enable()
