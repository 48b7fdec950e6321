"""A site is half a dozen processes, each of which imports what it serves: what is slow to import waits for its use."""

import os
import subprocess
import sys

import pytest

from tests.webapp.servers import ROOT

pytestmark = pytest.mark.slow

SITE = """
import sys
import webapp.asgi, webapp.celery, webapp.urls
from webapp.experiments.execute import run
print(sorted({"mujoco", "openai", "pydantic", "torch", "typst"} & set(sys.modules)))
"""
WORKER = """
import sys
from django.core.management import ManagementUtility
try:
    ManagementUtility(["manage.py", "worker", "train", "--name", "a"]).execute()
except SystemExit:
    print(sorted({"unfold.admin", "webapp.bench.admin", "webapp.urls"} & set(sys.modules)))
"""
"""Without a database it refuses after everything that starts it is loaded."""


@pytest.mark.parametrize("program", [SITE, WORKER], ids=["site", "worker"])
def test_processes_start_without_what_only_others_use(program, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "webapp.settings", "PREFINE_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
