"""Real servers for the tests that need them, and an environment for programs that are started as a user would."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 180
KEPT = 10
"""Cached results of each kind: one for each branch in work."""
MIGRATIONS = ("webapp/**/migrations/*.py", "webapp/**/roles.py")
DECIDE_ALL = ("webapp/settings.py", "webapp/base/static_files.py", "requirements.txt")


@dataclass(frozen=True)
class Stack:
    """Where a started Prefine keeps everything."""

    name: str
    environment: dict[str, str]
    interpreter: str = sys.executable

    @property
    def data(self) -> Path:
        return Path(self.environment["PREFINE_DATA"])

    def manage(self, *arguments: str) -> str:
        return subprocess.check_output(
            [self.interpreter, "manage.py", *arguments], cwd=ROOT, env=self.environment, text=True
        )

    def python(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.interpreter, *arguments],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def program(name: str) -> str:
    """The path of a server program. Debian keeps PostgreSQL's out of PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(debian[-1]) if debian else None)
    if found is None:
        pytest.fail(f"{name} is missing: ./prefine test installs what the tests need", pytrace=False)
    return found


def free_port() -> int:
    """A port that nothing listens on, that no outgoing connection is given and no other process of these tests takes
    before it is used.
    """
    first = 20_000 + 1_000 * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10)
    for port in random.sample(range(first, first + 1_000), 100):
        if not listening(port):
            return port
    pytest.fail("100 ports were tried, and something listens on each")


def wait_for(condition: Callable[[], object], what: str, seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.25)  # most conditions read all of /proc


def processes() -> dict[int, tuple[int, str]]:
    """Every living process: id -> (parent, command line)."""
    table = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            table[int(folder.name)] = (int(parent), command)
    return table


def have_ended(pids: dict[int, str]) -> bool:
    alive = processes()
    return not any(pid in alive and alive[pid][1] == command for pid, command in pids.items())


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def server(command: list[str], port: int, log: Path, **options: object) -> Iterator[int]:
    """Run a server until the test session ends."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd="/", **options)
    try:
        wait_for(lambda: listening(port) or process.poll() is not None, f"the start of {command[0]}")
        assert process.poll() is None, log.read_text()
        yield port
    finally:
        process.send_signal(signal.SIGINT)  # at SIGTERM PostgreSQL waits for those who are still connected
        process.wait()


@pytest.fixture(scope="session")
def postgres() -> Iterator[int]:
    """The port of a PostgreSQL server of our own, as an unprivileged user: it refuses to run as root."""
    data = Path(os.environ["PREFINE_DATA"])
    folder = data / "postgres"
    folder.mkdir(mode=0o700)
    options = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    if options:
        shutil.chown(folder, "nobody", "nogroup")
        data.chmod(0o711)
    create = [program("initdb"), "-D", str(folder), "-U", "prefine", "--auth", "trust", "--no-sync", "-E", "UTF8"]
    subprocess.run(create, check=True, capture_output=True, cwd="/", **options)
    port = free_port()
    command = [program("postgres"), "-D", str(folder), "-p", str(port), "-k", str(folder)]
    command += ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    yield from server(command, port, data / "postgres.log", **options)


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis server of our own."""
    folder, port = tmp_path_factory.mktemp("redis"), free_port()
    command = [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    yield from server(command, port, folder / "log")


def database_url(port: int | str, name: str) -> str:
    return f"postgres://prefine@127.0.0.1:{port}/{name}"


def cache_folder() -> Path:
    """The folder of files that are costly to make and equal in every run."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prefine-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def make_once(product: str, patterns: tuple[str, ...], make: Callable[[Path], object]) -> Path:
    """What a function makes in an empty data folder: seconds of processor time. It is kept between runs, for as long as
    the files that decide what is in it stay as they are.
    """
    sources = {path for pattern in (*patterns, *DECIDE_ALL) for path in ROOT.glob(pattern) if path.is_file()}
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    folder = cache_folder()
    kept = folder / f"{digest.hexdigest()[:20]}-{product}"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=folder) as data:
                make(Path(data))
                Path(data, product).replace(kept)
        os.utime(kept)
        for other in sorted(folder.glob(f"*-{product}"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    return kept


@functools.cache
def migrated() -> Path:
    """An empty SQLite database with every migration."""
    return make_once("db.sqlite3", MIGRATIONS, lambda data: _embedded(data).manage("migrate", "-v0"))


@functools.cache
def collected() -> Path:
    """The folder that collectstatic makes."""
    patterns = ("static/**/*", "webapp/**/static/**/*")
    return make_once("static", patterns, lambda data: _embedded(data).manage("collectstatic", "--noinput", "-v0"))


def static_files(data: Path) -> None:
    """What collectstatic would put into this data folder, with hashes in the files' names."""
    shutil.copytree(collected(), data / "static", dirs_exist_ok=True)


def empty_database(data: Path) -> None:
    """Put an empty SQLite database with every migration into this data folder."""
    data.mkdir(parents=True, exist_ok=True)
    shutil.copy(migrated(), data / "db.sqlite3")


def clean_environment() -> dict[str, str]:
    """This process's environment without Prefine's variables: a program started with it has its own database."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFINE_")}


def _embedded(data: Path, interpreter: str = sys.executable) -> Stack:
    chosen = {"PREFINE_DATA": str(data), "OMP_NUM_THREADS": "1", "PREFINE_UNDO_SECONDS": "1", "PREFINE_ATTEMPTS": "12"}
    return Stack("embedded", clean_environment() | chosen, interpreter)


def embedded(data: Path, interpreter: str = sys.executable) -> Stack:
    """SQLite and the filesystem broker in this folder; an empty, migrated database."""
    empty_database(data)
    return _embedded(data, interpreter)


def production(data: Path, postgres_port: int, redis_port: int) -> Stack:
    """A PostgreSQL database of its own and Redis; empty and migrated."""
    servers = {
        "PREFINE_DATABASE_URL": database_url(postgres_port, create_database(postgres_port)),
        "PREFINE_BROKER_URL": f"redis://127.0.0.1:{redis_port}/0",
    }
    return Stack("production", _embedded(data).environment | servers)


def create_database(port: int) -> str:
    """The name of an empty PostgreSQL database with every migration."""
    server = ["-h", "127.0.0.1", "-p", str(port), "-U", "prefine"]
    ready = [program("pg_isready"), "-q", *server]  # it listens before it takes connections
    wait_for(lambda: subprocess.run(ready).returncode == 0, "the start of PostgreSQL")

    def create() -> str:
        name = f"prefine_{time.time_ns()}"
        subprocess.run([program("createdb"), *server, name], check=True, capture_output=True)
        return name

    def dump(data: Path) -> None:
        name, prepared = create(), _embedded(data)
        prepared.environment["PREFINE_DATABASE_URL"] = database_url(port, name)
        prepared.manage("migrate", "-v0")
        subprocess.run([program("pg_dump"), *server, "-f", str(data / "migrated.sql"), name], check=True)

    name, migrated = create(), make_once("migrated.sql", MIGRATIONS, dump)
    command = [program("psql"), *server, "-q", "-v", "ON_ERROR_STOP=1", "-f", str(migrated), name]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return name


@pytest.fixture(params=["embedded", "production"])
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> Stack:
    if request.param == "embedded":
        return embedded(tmp_path / "data")
    ports = request.getfixturevalue("postgres"), request.getfixturevalue("redis")
    return production(tmp_path / "data", *ports)
