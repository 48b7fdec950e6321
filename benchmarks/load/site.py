"""Prefine as production runs it, each process by itself: PostgreSQL, Redis, a store, web, workers, reaper."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.webapp import object_storage
from tests.webapp.servers import free_port, listening, program, static_files
from trainer.process import ROOT
from webapp.supervisor import WORKERS, list_programs, raise_file_limit

START_SECONDS = 120
PASSWORD = "only-for-this-run"


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How a site is started."""

    web: int = 1
    """The number of web processes."""
    left_out: tuple[str, ...] = ()
    """Names of programs of the supervisor that are not started."""
    worker_niceness: int = 0
    """How far workers stand behind the other programs when a core is short; 10 gives them a ninth of their share."""
    python: str = sys.executable
    bucket: bool = False
    """Whether the store is a bucket. Each program then has a data folder of its own, as on a machine of its own."""
    hosts: tuple[str, ...] = ("127.0.0.1",)
    """The addresses at which PostgreSQL, Redis and the store listen."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Program:
    """A program of the site, which can be ended and started again."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    port: int = 0
    """Where it listens; 0: nowhere."""
    end: signal.Signals = signal.SIGTERM
    """What ends it in order."""
    options: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.options
            )

    def start(self) -> None:
        """Launch it and wait until it listens where it does."""
        self.launch()
        deadline = time.monotonic() + START_SECONDS
        while self.port and not listening(self.port):
            if not self.is_alive() or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.1)

    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal that ends it at once, and wait for its end."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(self.end)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.kill()


@dataclass
class Site:
    """The running programs by name, and where they are reached."""

    data: Path
    environment: dict[str, str]
    setup: Setup
    addresses: list[str] = field(default_factory=list)
    """Addresses of the web processes: http://host:port."""
    programs: dict[str, Program] = field(default_factory=dict)

    def run(self, code: list[str], text: str = "") -> str:
        """What a Python program prints that runs among the site's rows."""
        command = [sys.executable, *code]
        ended = subprocess.run(command, cwd=ROOT, env=self.environment, input=text, stdout=subprocess.PIPE, text=True)
        if ended.returncode:
            raise RuntimeError(f"{' '.join(code)} ended with status {ended.returncode}")
        return ended.stdout

    def begin(self, code: list[str]) -> subprocess.Popen[str]:
        """Such a program, running, with pipes to it and from it."""
        command, pipe = [sys.executable, *code], subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, text=True, stdin=pipe, stdout=pipe)

    def add(self, name: str, command: list[str], port: int = 0, **more: Any) -> Program:
        """A program that is not started yet."""
        own = {"PREFINE_DATA": str(self.data / name)} if self.setup.bucket else {}
        environment = self.environment | own | more.pop("environment", {})
        log = self.data / "log" / f"{name}.log"
        self.programs[name] = Program(name, command, environment, log, port, **more)
        return self.programs[name]

    def add_worker(self, name: str, queue: str, prefix: list[str], environment: dict[str, str]) -> Program:
        """A worker beside those of the supervisor. `prefix`: a command that starts it elsewhere."""
        command = [*prefix, self.setup.python, "manage.py", "worker", queue, "--name", name]
        return self.add(name, command, environment=environment, options={"cwd": ROOT})

    def stop(self) -> None:
        """End all programs, the last ones first."""
        for one in reversed(self.programs.values()):
            one.stop()


@contextmanager
def start_site(folder: Path, setup: Setup) -> Iterator[Site]:
    """A site in this empty folder."""
    raise_file_limit()
    data = folder / "data"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFINE_")}
    own = {"PREFINE_DATA": str(data), "PREFINE_PROXIES": "1", "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    own |= {"OMP_NUM_THREADS": "1", "PREFINE_STATIC": str(data / "static"), "PYTHONUNBUFFERED": "1"}
    site = Site(data, kept | own | dict(setup.environment), setup)
    (data / "log").mkdir(parents=True)
    static_files(data)
    with ExitStack() as stack:
        stack.callback(site.stop)
        _start_postgres(site)
        _start_redis(site)
        if setup.bucket:
            _start_store(site)
        site.run(["manage.py", "migrate", "-v0"])
        _start_prefine(site)
        yield site


def create_cluster(folder: Path, hosts: tuple[str, ...]) -> dict[str, Any]:
    """An empty PostgreSQL folder with a password. Returns how its programs are started: it refuses to run as root."""
    secret = folder.with_name("password")
    folder.mkdir(mode=0o700)
    secret.write_text(PASSWORD)
    user: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    if user:
        folder.parent.chmod(0o711)
        for path in (folder, secret):
            shutil.chown(path, "nobody", "nogroup")
    create = [program("initdb"), "-D", str(folder), "-U", "prefine", "--pwfile", str(secret), "-E", "UTF8"]
    subprocess.run([*create, "--auth", "scram-sha-256"], check=True, stdout=subprocess.DEVNULL, cwd="/", **user)
    with (folder / "pg_hba.conf").open("a") as rules:
        rules.writelines(f"host all all {host}/24 scram-sha-256\n" for host in hosts)
    return {"cwd": "/", **user}


def create_database(port: int) -> None:
    """Once the server takes connections: it listens before."""
    server, deadline = ["-h", "127.0.0.1", "-p", str(port)], time.monotonic() + START_SECONDS
    while subprocess.run([program("pg_isready"), "-q", *server]).returncode and time.monotonic() < deadline:
        time.sleep(0.1)
    command = [program("createdb"), *server, "-U", "prefine", "prefine"]
    subprocess.run(command, check=True, env=os.environ | {"PGPASSWORD": PASSWORD})


def _start_postgres(site: Site) -> None:
    """With a password and a disk that is waited for, as Compose starts it."""
    folder, port = site.data.parent / "postgres", free_port()
    options = create_cluster(folder, site.setup.hosts)
    command = [program("postgres"), "-D", str(folder), "-p", str(port), "-k", str(folder)]
    command += ["-c", f"listen_addresses={','.join(site.setup.hosts)}", "-c", "max_connections=300"]
    site.add("postgres", command, port, end=signal.SIGINT, options=options).start()
    create_database(port)
    site.environment["PREFINE_DATABASE_URL"] = f"postgres://prefine:{PASSWORD}@127.0.0.1:{port}/prefine"


def _start_redis(site: Site) -> None:
    port = free_port()
    command = [program("redis-server"), "--port", str(port), "--bind", *site.setup.hosts, "--save", ""]
    site.add("redis", [*command, "--requirepass", PASSWORD, "--dir", str(site.data)], port).start()
    site.environment["PREFINE_BROKER_URL"] = f"redis://:{PASSWORD}@127.0.0.1:{port}/0"


def _start_store(site: Site) -> None:
    folder = site.data.parent / "store"
    folder.mkdir()
    command, port = object_storage.prepare_server(folder, "127.0.0.1")
    if len(site.setup.hosts) > 1:
        command.append("-s3.ip.bind=0.0.0.0")
    store = site.add("store", command, port, environment=object_storage.ENVIRONMENT, options={"cwd": folder})
    store.start()
    object_storage.wait_until_it_stores(store.is_alive, port, "127.0.0.1", store.log)
    site.environment["PREFINE_STORE_URL"] = object_storage.create_bucket(port)


def _start_prefine(site: Site) -> None:
    """The programs of the supervisor, without those that are left out and with as many web processes."""
    ports = [free_port() for _ in range(site.setup.web)]
    site.addresses = [f"http://127.0.0.1:{port}" for port in ports]
    site.environment["PREFINE_URL"] = site.addresses[0]
    site.environment["PREFINE_HOSTS"] = "127.0.0.1"
    for one in list_programs("127.0.0.1", ports[0]):
        if one.name not in (*site.setup.left_out, "web"):
            prefix = ["nice", "-n", str(site.setup.worker_niceness)] if one.name in WORKERS else []
            site.add(one.name, [*prefix, site.setup.python, *one.command[1:]], options={"cwd": ROOT}).start()
    for number, port in enumerate(ports, 1):
        command = next(one.command for one in list_programs("127.0.0.1", port) if one.name == "web")
        name = f"web-{number}" if site.setup.web > 1 else "web"
        site.add(name, [site.setup.python, *command[1:]], port, options={"cwd": ROOT}).start()
    for address in site.addresses:
        with urllib.request.urlopen(f"{address}/health/ready", timeout=START_SECONDS):
            pass
