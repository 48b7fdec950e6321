"""Run Prefine on one machine: the site, its workers and the reaper.

    python -m webapp.supervisor [--host 127.0.0.1] [--port 8000] [--prepare]

Each program runs in its own session, is started again after growing pauses when it ends, and dies with the supervisor.
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TextIO

import django
from django.conf import settings

from trainer.process import die_with_parent
from webapp.base.database import PollSchedule
from webapp.base.private_files import write_private_files
from webapp.experiments.job_kinds import QUEUES

POLL_SECONDS = 0.2
"""Between two looks while the site or a program starts."""
REST_SECONDS = 2.0
"""Between two looks while all of them run; a signal or a program's end is seen at once."""
FIRST_PAUSE, LAST_PAUSE = 0.5, 8.0
HEALTHY_SECONDS = 30.0
"""A program that ran at least this long starts again after the first pause."""
STOP_SECONDS = 10.0
"""How long programs have to end before they are killed; a worker may publish a checkpoint for some of it."""
IDLE_SECONDS = 60.0
"""How often events are read though nothing was committed."""
LOG_BYTES = 10_000_000
"""A longer log is renamed at the next start."""
CONNECT_SECONDS = 0.2
SITE_FIRST_SECONDS = 15.0
"""How long the others wait for the site at most."""
OPEN_FILES = 65_536
"""Each open page is a file of the web process; the usual limit is 1 024."""
WORKERS = {"train": "train", "film-1": "film", "film-2": "film", "llm-1": "llm", "llm-2": "llm"}
"""Worker -> its queue. Queues are separate so that a short step never waits behind a long one."""


@dataclass
class Program:
    """One child process and when to start it again."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = FIRST_PAUSE
    start_at: float = 0.0

    def start(self, logs: Path) -> None:
        with (logs / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=settings.BASE_DIR,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid()),  # the supervisor has one thread
            )
        self.started = time.monotonic()

    def restart_if_ended(self, logs: Path) -> None:
        """Start the program if it is time to; if it has ended, say so and set the time of the next start."""
        now = time.monotonic()
        if self.process is None:
            if now >= self.start_at:
                self.start(logs)
            return
        status = self.process.poll()
        if status is None:
            return
        self.pause = FIRST_PAUSE if now - self.started > HEALTHY_SECONDS else min(2 * self.pause, LAST_PAUSE)
        self.start_at, self.process = now + self.pause, None
        cause = signal.Signals(-status).name if status < 0 else f"status {status}"
        print_line(f"{self.name} ended ({cause}); starting it again in {self.pause:g} s. See {logs / self.name}.log")

    def send(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill_session(self) -> None:
        """Kill what is left of its process group."""
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return


def list_programs(host: str, port: int) -> list[Program]:
    """All programs, in the order in which they are stopped: workers, reaper, web server."""
    python = sys.executable
    worker, machine = [python, "manage.py", "worker"], socket.gethostname()
    web = [python, "-m", "webapp.web_server", "--host", host, "--port", str(port)]
    return [
        *(Program(name, [*worker, queue, "--name", f"{name}@{machine}"]) for name, queue in WORKERS.items()),
        Program("reaper", [python, "manage.py", "reaper"]),
        Program("web", web),
    ]


class Refused(Exception):
    """Prefine cannot start; the text says why and what to do."""


def lock_folder(folder: Path) -> TextIO:
    """Lock the data folder for as long as the file returned is open. Raises Refused when another supervisor has it."""
    file = (folder / "supervisor.lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.seek(0)
        pid = file.read().strip() or "unknown"
        file.close()
        raise Refused(
            f"Prefine already runs on {folder} (process {pid}). Stop it first, or set PREFINE_DATA to another folder."
        ) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def require_free(host: str, port: int) -> None:
    """Raises Refused when the address cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise Refused(f"Port {port} is taken by another program. Choose another one with --port.") from error
            raise Refused(f"Cannot listen on {host}, port {port}: {error.strerror}.") from error


def prepare_broker() -> None:
    """Empty the filesystem broker, as the rows say what is to be done, and declare its queues before workers start."""
    from webapp.celery import app

    if settings.CELERY_BROKER_URL.startswith("filesystem://"):
        folder = settings.DATA_DIR / "broker"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with app.connection_for_write() as connection:
            for name in QUEUES:
                app.amqp.queues[name](connection.default_channel).declare()


def raise_file_limit() -> None:
    """For this process and its children."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def rotate_long_logs(logs: Path) -> None:
    for log in logs.glob("*.log"):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))


def print_line(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


class EventPrinter:
    """Prints the events of experiments on the console."""

    def __init__(self) -> None:
        from webapp.live import tail

        self.tail = tail
        self.window: tail.Window | None = None
        self.watch = PollSchedule()
        self.next_at = 0.0

    def print_new(self) -> None:
        """Print new events, at most once a second; a database that does not answer is asked again."""
        from django.db import InterfaceError, OperationalError, close_old_connections

        now = time.monotonic()
        if now < self.next_at:
            return
        self.next_at = now + 1.0
        try:
            self.window = self.window or self.tail.Window(self.tail.find_newest_id())
            if not self.watch.is_due():
                return
            for _, experiment, _, text, *_ in self.window.take_new(self.tail.read_events(self.window.floor), now):
                if text:
                    print_line(f"experiment {experiment}: {text.splitlines()[0][:160]}")
            self.watch.rest(IDLE_SECONDS)
        except (OperationalError, InterfaceError):
            close_old_connections()


def format_address(host: str, port: int) -> str:
    """The site's address in a browser on this machine."""
    name = "localhost" if host in ("127.0.0.1", "0.0.0.0", "::1", "::") else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def is_listening(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host if host != "0.0.0.0" else "127.0.0.1", port), timeout=CONNECT_SECONDS):
            return True
    except OSError:
        return False


def open_signal_pipe() -> int:
    """A file that becomes readable at every signal that this process handles, the end of a child too."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # an ignored signal wakes nobody
    return reader


def wait_for_signal(pipe: int, seconds: float) -> None:
    if select.select([pipe], [], [], seconds)[0]:
        os.read(pipe, 4096)


def run(children: list[Program], host: str, port: int, stop: list[int]) -> None:
    """Keep the programs running until a signal comes. The site starts first: eight programs at once start slowly."""
    logs, pipe = settings.DATA_DIR / "log", open_signal_pipe()
    events, ready = EventPrinter(), False
    begun = time.monotonic()
    while not stop:
        site_only = not ready and time.monotonic() - begun < SITE_FIRST_SECONDS
        for program in children:
            if program.name == "web" or not site_only:
                program.restart_if_ended(logs)
        if not ready and is_listening(host, port):
            ready = True
            print_line("Prefine is ready (Ctrl-C stops it)")
            for place, path in (("take part", "/"), ("experiments", "/bench/"), ("administration", "/admin/")):
                print(f"    {place:<15} {settings.SITE_URL}{path}", flush=True)
        events.print_new()
        all_run = ready and all(program.process for program in children)
        wait_for_signal(pipe, REST_SECONDS if all_run else POLL_SECONDS)


def shut_down(children: list[Program]) -> None:
    """Ask all programs to end, kill those that do not, and give their work back."""
    from webapp.experiments import leases

    for program in children:
        program.send(signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for program in children:
        if program.process is not None:
            try:
                program.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                program.process.kill()
                program.process.wait()
        program.kill_session()
    leases.requeue_stopped()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m webapp.supervisor", description="Run Prefine on this machine.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--prepare", action="store_true", help="first run `manage.py prepare`")
    arguments = parser.parse_args()
    if not 0 < arguments.port < 65536:
        parser.error(f"--port must be between 1 and 65535, not {arguments.port}")
    write_private_files()
    raise_file_limit()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    os.environ.setdefault("PREFINE_URL", format_address(arguments.host, arguments.port))
    django.setup()
    try:
        lock = lock_folder(settings.DATA_DIR)
        require_free(arguments.host, arguments.port)
    except Refused as reason:
        print(reason, file=sys.stderr)
        return 1
    if arguments.prepare:  # only now: nobody else uses the folder
        prepared = subprocess.run([sys.executable, "manage.py", "prepare"], cwd=settings.BASE_DIR)
        if prepared.returncode:
            return prepared.returncode
    if arguments.host in ("0.0.0.0", "::") and "PREFINE_HOSTS" not in os.environ:
        print_line("Other machines are refused until PREFINE_HOSTS lists the names by which they reach this one.")
    stop: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        stop.append(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, remember)
    rotate_long_logs(settings.DATA_DIR / "log")
    prepare_broker()
    children = list_programs(arguments.host, arguments.port)
    try:
        run(children, arguments.host, arguments.port, stop)
    finally:
        print_line("Stopping ...")
        shut_down(children)
        lock.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
