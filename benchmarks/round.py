"""A newcomer's wait: from "start" to a review page whose K videos all play, as a browser asks for them.

    python -m benchmarks.round [--tasks Cartpole Ant]

A real supervisor with a data folder of its own; the demonstration studies; consent, waiting, review over HTTP.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import CookieJar
from pathlib import Path

from benchmarks.machine import machine

POLL_SECONDS = 0.5
LIMIT_SECONDS = 1800


class Browser:
    """A minimal browser: forms and clips."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path: str) -> tuple[str, str]:
        """The path after redirects, and the page."""
        return self._open(urllib.request.Request(self.site + path))

    def send(self, page: str, action: str, **fields: str) -> tuple[str, str]:
        """Post the form of `page` that goes to `action`, with these fields filled in."""
        form = re.search(rf'<form[^>]*action="{re.escape(action)}".*?</form>', page, re.DOTALL)
        assert form is not None, f"no form to {action}"
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0])
        data = urllib.parse.urlencode({**dict(hidden), **fields}).encode()
        headers = {"Referer": self.site + action, "Origin": self.site}
        return self._open(urllib.request.Request(self.site + action, data, headers))

    def _open(self, request: urllib.request.Request) -> tuple[str, str]:
        with self.opener.open(request, timeout=30) as response:
            return urllib.parse.urlparse(response.url).path, response.read().decode(errors="replace")


@contextmanager
def prefine(data: Path) -> Iterator[str]:
    """A running Prefine; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"PREFINE_DATA": str(data)}
    subprocess.run([sys.executable, "manage.py", "prepare"], env=environment, check=True, stdout=subprocess.DEVNULL)
    command = [sys.executable, "-m", "webapp.supervisor", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    site = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with suppress(OSError), urllib.request.urlopen(site, timeout=5):
                break
            time.sleep(0.1)
        yield site
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def wait_for_videos(site: str, task: str) -> tuple[float, float, int]:
    """Seconds to the first practice clip and to the review page with all videos loaded, and how many these are."""
    browser = Browser(site)
    home = browser.get("/")[1]
    card = {"Cartpole": "Balance a pole", "Ant": "Teach an ant"}[task]
    action = re.search(rf'{card}.*?action="(/start/\d+/)"', home, re.DOTALL)
    assert action is not None, f"no demonstration of {task} on the home page"
    link, consent = browser.send(home, action[1])
    began = time.monotonic()
    _, page = browser.send(consent, f"{link}consent/", agree="yes")
    browser.send(page, f"{link}ready/")
    practice = 0.0
    while time.monotonic() - began < LIMIT_SECONDS:
        page = browser.get(link)[1]
        clips = set(re.findall(r'"(/clip/[\w-]+/)"', page))
        if clips and not practice:
            practice = time.monotonic() - began
        if 'id="ballot"' in page:
            for clip in clips:
                assert "ftyp" in browser.get(clip)[1][:64], f"{clip} is no video"
            return practice, time.monotonic() - began, len(clips)
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"no review page after {LIMIT_SECONDS} s")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.round", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["Cartpole", "Ant"])
    arguments = parser.parse_args()
    rows = []
    for task in arguments.tasks:
        with tempfile.TemporaryDirectory() as data, prefine(Path(data)) as site:
            practice, ready, count = wait_for_videos(site, task)
        first = f"{practice:.0f} s" if practice < ready - POLL_SECONDS else "-"
        rows.append(f"| {task} | {first} | {ready:.0f} s | {count} |")
    print(f"From start to videos, quick preset, K=6\n\n{machine()}\n")
    print("| task | first practice clip | all videos play | videos |\n|---|---:|---:|---:|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
