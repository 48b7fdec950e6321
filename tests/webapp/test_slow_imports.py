"""A site is half a dozen processes, each of which imports what it serves: what is slow to import waits for its use."""

import os
import subprocess
import sys

import pytest

from tests.webapp.servers import ROOT

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import webapp.asgi, webapp.celery, webapp.urls
from webapp.experiments.execute import run
print(sorted({"mujoco", "openai", "pydantic", "torch", "typst"} & set(sys.modules)))
"""


def test_pages_and_workers_start_without_what_only_some_of_them_use():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "webapp.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
