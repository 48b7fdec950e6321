"""A site is half a dozen processes, each of which imports what it serves: what is slow to import waits for its use."""

import subprocess
import sys

import pytest

from tests.webapp.servers import ROOT, clean_environment, empty_database

pytestmark = pytest.mark.slow

SITE = """
import sys
import webapp.asgi, webapp.celery, webapp.urls
from webapp.experiments.execute import run
print(0, sorted({"mujoco", "openai", "pydantic", "torch", "typst"} & set(sys.modules)))
"""
WORKER = """
import os, signal, sys
from celery.signals import worker_ready
from django.core.management import ManagementUtility

worker_ready.connect(lambda **_: os.kill(os.getpid(), signal.SIGTERM), weak=False)
try:
    ManagementUtility(["manage.py", "worker", "llm"]).execute()
except SystemExit as end:
    pages = {"webapp.bench.admin", "webapp.bench.admin_site", "webapp.urls"}
    print(end.code, sorted({"celery.bin", *pages} & set(sys.modules)))
"""
"""Started as it is for work, and told to end as soon as it is ready."""


@pytest.mark.parametrize("program", [SITE, WORKER], ids=["site", "worker"])
def test_processes_start_without_what_only_others_use(program, tmp_path):
    empty_database(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**clean_environment(), "DJANGO_SETTINGS_MODULE": "webapp.settings", "PREFINE_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 []"
