"""Seconds from `./prefine up` to a usable page: in a fresh clone with an empty virtual environment, and again.

    python -m benchmarks.startup [--starts 2]

Downloads are part of the first figure: it depends on the network.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from benchmarks.machine import machine

ROOT = Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 1800


def seconds_to_page(clone: Path) -> float:
    """Start the launcher and wait for its home page; then stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PREFINE_", "VIRTUAL_ENV"))}
    began = time.monotonic()
    process = subprocess.Popen(["./prefine", "up", "--port", str(port)], cwd=clone, env=own, stdout=subprocess.DEVNULL)
    try:
        while time.monotonic() - began < LIMIT_SECONDS and process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
                return time.monotonic() - began
            time.sleep(0.1)
        raise SystemExit(f"no page; the launcher ended with {process.poll()}")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "prefine"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        times = [seconds_to_page(clone) for _ in range(arguments.starts)]
    print(f"`./prefine up` to a usable page\n\n{machine()}\n\n| start | seconds |\n|---|---:|")
    for number, seconds in enumerate(times):
        print(f"| {'fresh clone, empty virtual environment' if number == 0 else 'again'} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
