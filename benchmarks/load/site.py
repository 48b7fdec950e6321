"""Prefine as production runs it, each process by itself: PostgreSQL, Redis, web, workers, reaper."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.webapp.servers import free_port, listening, program, static_files
from trainer.process import ROOT
from webapp.supervisor import list_programs, raise_file_limit

START_SECONDS = 120
PASSWORD = "only-for-this-run"
LEFT_OUT = ("train",)
"""Trainings need a machine of their own at this size (docs/cluster.md)."""


@dataclass
class Site:
    """The running processes by name, and where they are reached."""

    data: Path
    environment: dict[str, str]
    addresses: list[str] = field(default_factory=list)
    """Of the web processes: http://host:port."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def run(self, code: list[str], text: str = "") -> str:
        """What a Python program prints that runs among the site's rows."""
        command = [sys.executable, *code]
        ended = subprocess.run(command, cwd=ROOT, env=self.environment, input=text, stdout=subprocess.PIPE, text=True)
        if ended.returncode:
            raise RuntimeError(f"{' '.join(code)} ended with status {ended.returncode}")
        return ended.stdout

    def begin(self, code: list[str]) -> subprocess.Popen[str]:
        """Such a program, running, with pipes to it and from it."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen([sys.executable, *code], cwd=ROOT, env=self.environment, text=True, **pipes)


@contextmanager
def started(folder: Path, web: int, undo_seconds: int) -> Iterator[Site]:
    """A site in this empty folder with this many web processes."""
    raise_file_limit()
    data = folder / "data"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFINE_")}
    own = {"PREFINE_DATA": str(data), "PREFINE_PROXIES": "1", "PREFINE_UNDO_SECONDS": str(undo_seconds)}
    site = Site(data, kept | own | {"OMP_NUM_THREADS": "1", "DJANGO_SETTINGS_MODULE": "webapp.settings"})
    (data / "log").mkdir(parents=True)
    static_files(data)
    with ExitStack() as stack:
        _start_postgres(site, stack)
        _start_redis(site, stack)
        site.run(["manage.py", "migrate", "-v0"])
        _start_prefine(site, stack, web)
        yield site


def _start_postgres(site: Site, stack: ExitStack) -> None:
    """With a password and a disk that is waited for, as Compose starts it. It refuses to run as root."""
    folder, secret, port = site.data.parent / "postgres", site.data.parent / "password", free_port()
    folder.mkdir(mode=0o700)
    secret.write_text(PASSWORD)
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    if user:
        site.data.parent.chmod(0o711)
        for path in (folder, secret):
            shutil.chown(path, "nobody", "nogroup")
    create = [program("initdb"), "-D", str(folder), "-U", "prefine", "--pwfile", str(secret), "-E", "UTF8"]
    subprocess.run([*create, "--auth", "scram-sha-256"], check=True, stdout=subprocess.DEVNULL, cwd="/", **user)
    command = [program("postgres"), "-D", str(folder), "-p", str(port), "-k", str(folder)]
    command += ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300"]
    _start(site, stack, "postgres", command, port, signal.SIGINT, cwd="/", **user)
    connection = ["-h", "127.0.0.1", "-p", str(port), "-U", "prefine", "prefine"]
    subprocess.run([program("createdb"), *connection], check=True, env=os.environ | {"PGPASSWORD": PASSWORD})
    site.environment["PREFINE_DATABASE_URL"] = f"postgres://prefine:{PASSWORD}@127.0.0.1:{port}/prefine"


def _start_redis(site: Site, stack: ExitStack) -> None:
    port = free_port()
    command = [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    _start(site, stack, "redis", [*command, "--requirepass", PASSWORD, "--dir", str(site.data)], port)
    site.environment["PREFINE_BROKER_URL"] = f"redis://:{PASSWORD}@127.0.0.1:{port}/0"


def _start_prefine(site: Site, stack: ExitStack, web: int) -> None:
    """The programs of the supervisor, without those that need another machine and with as many web processes."""
    ports = [free_port() for _ in range(web)]
    site.addresses = [f"http://127.0.0.1:{port}" for port in ports]
    site.environment["PREFINE_URL"] = site.addresses[0]
    site.environment["PREFINE_HOSTS"] = "127.0.0.1"
    for one in list_programs("127.0.0.1", ports[0]):
        if one.name not in (*LEFT_OUT, "web"):
            _start(site, stack, one.name, one.command, cwd=ROOT)
    for number, port in enumerate(ports, 1):
        command = next(one.command for one in list_programs("127.0.0.1", port) if one.name == "web")
        _start(site, stack, f"web-{number}" if web > 1 else "web", command, port, cwd=ROOT)
    for address in site.addresses:
        with urllib.request.urlopen(f"{address}/health/ready", timeout=START_SECONDS):
            pass


def _start(
    site: Site,
    stack: ExitStack,
    name: str,
    command: list[str],
    port: int = 0,
    end: signal.Signals = signal.SIGTERM,
    **options: object,
) -> None:
    """Start a program, wait until it listens where it does, and end it with the run."""
    with (site.data / "log" / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=site.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options
        )
    stack.callback(_stop, process, end)
    site.processes[name] = process
    deadline = time.monotonic() + START_SECONDS
    while port and not listening(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{name} did not start: {(site.data / 'log' / f'{name}.log').read_text()[-2000:]}")
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes], end: signal.Signals) -> None:
    process.send_signal(end)
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
    process.kill()
    process.wait()
