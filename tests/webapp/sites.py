"""Real servers for tests in a real browser: each in a data folder of its own."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.webapp.servers import clean_environment, empty_database, free_port, static_files

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 240
PATIENCE = 120_000
"""Milliseconds that a page and an expectation have: Playwright's own five seconds pass on a busy machine."""
expect.set_options(timeout=PATIENCE)
WHOLE_BROWSER: dict[str, Any] = {
    "executable_path": "/usr/bin/chromium",
    "args": [
        *["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
        *["--disable-component-update", "--disable-sync"],
    ],
}
"""How Playwright launches it."""
WEB_PROCESS = ["uvicorn", "webapp.asgi:application", "--lifespan", "off", "--log-level", "warning"]
"""For `serve`: the web process alone."""
SHELL = shutil.which("chromium-headless-shell")
BROWSER = WHOLE_BROWSER | ({"executable_path": SHELL} if SHELL else {})
"""Chromium without windows and notifications, for a third of its processor time."""


RUN = """
import json, os, sys, traceback
answers, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
import django
django.setup()
from django.db import connections
from tests.webapp import rows
for line in sys.stdin:
    known, error = {"json": json, "django": django, "rows": rows, "out": {}}, ""
    try:
        exec(json.loads(line), known)
    except BaseException:
        error = traceback.format_exc()
    connections.close_all()
    print(json.dumps([known["out"], error]), file=answers, flush=True)
"""
"""Runs one code after the other: to start a process for each would take two seconds."""


@dataclass(frozen=True)
class Site:
    url: str
    env: dict[str, str]
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def python(self, code: str) -> dict:
        """Run code among the site's rows, in a process apart; what it puts into `out` comes back."""
        with self._lock:
            self._runner.stdin.write(json.dumps(code) + "\n")
            self._runner.stdin.flush()
            answer = self._runner.stdout.readline()
        assert answer, "the process has ended; it says above why"
        out, error = json.loads(answer)
        assert not error, error
        return out

    def close(self) -> None:
        """End what `python` started."""
        if "_runner" in self.__dict__:
            self._runner.communicate(timeout=120)

    @cached_property
    def _runner(self) -> subprocess.Popen[str]:
        command, pipes = [sys.executable, "-c", RUN], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(command, cwd=ROOT, env=self.env, text=True, **pipes)


def create_site(data: Path) -> Site:
    """An installation in a data folder of its own, with database and static files, without a server."""
    own = {"PREFINE_DATA": str(data), "DJANGO_SETTINGS_MODULE": "webapp.settings", "OMP_NUM_THREADS": "1"}
    empty_database(data)
    static_files(data)
    return Site("", clean_environment() | own)


@contextlib.contextmanager
def serve(data: Path, module: list[str], python: str = sys.executable, **settings: str) -> Iterator[Site]:
    """A site started with `python -m <module> --port <free>`."""
    port = free_port()
    env = create_site(data).env | settings
    with (data / "site.log").open("w") as log:
        command = [python, "-m", *module, "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, process, data / "site.log")
        with contextlib.closing(Site(url, env)) as site:
            yield site
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def _wait(url: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=10):
            return
        time.sleep(0.2)
    raise AssertionError(f"the site did not start:\n{log.read_text()}")
