"""Real servers for tests in a real browser: each in a data folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.webapp.servers import empty_database, free_port, static_files

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
SHELL = shutil.which("chromium-headless-shell")
BROWSER = WHOLE_BROWSER | ({"executable_path": SHELL} if SHELL else {})
"""Chromium without windows and notifications, for a third of its processor time."""


@dataclass(frozen=True)
class Site:
    url: str
    env: dict[str, str]

    def python(self, code: str) -> dict:
        """Run code among the site's rows, in a process of its own; what it puts into `out` comes back."""
        begin = "import json, django; django.setup(); out = {}\nfrom tests.webapp import rows\n"
        ended = subprocess.run(
            [sys.executable, "-c", f"{begin}{code}\nprint(json.dumps(out))"],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout.splitlines()[-1])


def create_site(data: Path) -> Site:
    """An installation in a data folder of its own, with database and static files, without a server."""
    own = {"PREFINE_DATA": str(data), "DJANGO_SETTINGS_MODULE": "webapp.settings", "OMP_NUM_THREADS": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFINE_")}
    empty_database(data)
    static_files(data)
    return Site("", kept | own)


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
        yield Site(url, env)
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
