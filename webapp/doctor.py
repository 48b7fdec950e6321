"""Looks at everything that a site needs on this machine, and says what is wrong and what to do about it."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import smtplib
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import imageio_ffmpeg
from django.conf import settings
from django.core.mail import get_connection
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from llm import prompts
from trainer.run import find_device_and_gpu
from webapp import health
from webapp.backup.archive import describe_size
from webapp.base import scratch
from webapp.base.database import read_now
from webapp.experiments import provenance, workers
from webapp.experiments.models import Worker

SECONDS = 10.0
"""How long another machine has to answer."""
CLOCK_WARN, CLOCK_FAIL = 1.0, 5.0
DISK_FAIL, DISK_WARN = 1e9, 10e9
MEMORY_FAIL, MEMORY_WARN = 1e9, 3e9
OPEN_FILES = 4096
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Finding:
    state: str
    """ok, warn or fail."""
    text: str
    advice: str = ""


def report_ok(text: str) -> Finding:
    return Finding("ok", text)


def warn(text: str, advice: str) -> Finding:
    return Finding("warn", text, advice)


def fail(text: str, advice: str) -> Finding:
    return Finding("fail", text, advice)


def examine_database() -> Iterator[Finding]:
    health.check_database()
    if connection.vendor == "sqlite":
        yield report_ok(f"SQLite at {connection.settings_dict['NAME']}: one machine")
    else:
        yield report_ok(f"PostgreSQL {getattr(connection, 'pg_version', 0) // 10000}")


def examine_migrations() -> Iterator[Finding]:
    missing = health.list_missing_migrations()
    known = health.list_known_migrations() | health.list_replaced_migrations()
    if missing:
        yield fail(f"{len(missing)} are not applied, from {missing[0]} on", "./prefine manage migrate")
    elif newer := set(MigrationRecorder(connection).applied_migrations()) - known:
        app, name = min(newer)
        yield warn(f"the database has {app}.{name}, which is unknown here", "upgrade this machine")
    else:
        yield report_ok("all applied")


def examine_broker() -> Iterator[Finding]:
    health.check_broker()
    yield report_ok(settings.CELERY_BROKER_URL.partition("://")[0])


def examine_store() -> Iterator[Finding]:
    health.check_store()
    yield report_ok("wrote, read and deleted a file")


def examine_clock() -> Iterator[Finding]:
    off = abs((datetime.now(UTC) - read_now()).total_seconds())
    advice = "keep both in time (timedatectl set-ntp true): a store in a bucket and codes for signing in need it"
    if off > CLOCK_FAIL:
        yield fail(f"{off:.0f} s away from the database's", advice)
    elif off > CLOCK_WARN:
        yield warn(f"{off:.1f} s away from the database's", advice)
    else:
        yield report_ok("that of the database")


def examine_disk() -> Iterator[Finding]:
    for name, folder in {"data": settings.DATA_DIR, "scratch": scratch.get_folder()}.items():
        usage = shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists()))
        text = f"{name}: {describe_size(usage.free)} of {describe_size(usage.total)} are free at {folder}"
        advice = "free some, or delete studies whose time is over: /bench/data/ (docs/operations.md, A disk is full)"
        yield (
            fail(text, advice)
            if usage.free < DISK_FAIL
            else warn(text, advice)
            if usage.free < DISK_WARN
            else report_ok(text)
        )


def read_free_memory() -> int:
    """Bytes, within the limit of this container if there is one."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return free
    return free if limit == "max" else min(free, int(limit) - int(used))


def examine_memory() -> Iterator[Finding]:
    free = read_free_memory()
    text = f"{describe_size(free)} are free"
    advice = "a round on Ant takes 1.5 GB, on Humanoid 3 GB: use fewer workers here, or a machine with more"
    yield fail(text, advice) if free < MEMORY_FAIL else warn(text, advice) if free < MEMORY_WARN else report_ok(text)


def examine_files() -> Iterator[Finding]:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"a process may open {soft}"
    yield report_ok(text) if soft >= OPEN_FILES else warn(text, "ulimit -n 65536: an open page needs one")


def examine_device() -> Iterator[Finding]:
    name = os.environ.get("PREFINE_DEVICE", "auto")
    try:
        device, gpu = find_device_and_gpu(name)
    except ValueError as error:
        yield fail(str(error), "set PREFINE_DEVICE to cpu or auto, or install the driver (docs/gpu.md)")
        return
    yield report_ok(f"{device} {gpu}".strip())


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=120
    )


def examine_rendering() -> Iterator[Finding]:
    done = run_python("-m", "simulation.opengl")
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or ["no frame was rendered"]
        yield fail(said[-1], "apt-get install libegl1 libgl1-mesa-dri libopengl0")
    else:
        yield report_ok("a frame was rendered without a display")


def examine_ffmpeg() -> Iterator[Finding]:
    try:
        program = imageio_ffmpeg.get_ffmpeg_exe()
        said = subprocess.run([program, "-version"], capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        yield fail(f"it does not run: {error}", "unset IMAGEIO_FFMPEG_EXE, or let it name an ffmpeg with libx264")
        return
    yield (
        report_ok(" ".join(said.split()[:3]))
        if "libx264" in said
        else fail("it lacks libx264", "unset IMAGEIO_FFMPEG_EXE")
    )


JAIL = "from simulation.rewards import sandbox; print('\\n'.join(sandbox.lock()))"


def examine_jail() -> Iterator[Finding]:
    done = run_python("-c", JAIL)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1].partition(": ")[2]
        yield fail(f"no reward can be checked or trained: {said}", "apt-get install libseccomp2, and allow seccomp")
    elif notes := done.stdout.strip():
        for note in notes.splitlines():
            yield warn(note, "a kernel of 5.13 or later with Landlock (docs/decisions/0003-hostile-code.md)")
    else:
        yield report_ok("system calls, files and the network can be denied to generated code")


def examine_prompts() -> Iterator[Finding]:
    own = prompts.read_own()
    if not own:
        yield report_ok("Prefine's own")
        return
    yield report_ok(f"set {prompts.hash_texts(own)} of your own replaces {len(own)}: {', '.join(own)}")
    if not (settings.MODEL_BASE_URL or settings.LOCAL_MODEL):
        words = "the offline writer finds what it needs by Prefine's headings, and may miss them in prompts of your own"
        yield warn(words, "name a language model: PREFINE_BASE_URL and PREFINE_MODEL")


def examine_workers() -> Iterator[Finding]:
    known = list(Worker.objects.filter(stopped_at=None))
    alive = [worker for worker in known if workers.is_alive(worker)]
    for kind, title in Worker.Kind.choices:
        mine = [worker for worker in alive if worker.kind == kind]
        if mine:
            yield report_ok(f"{title}: {len(mine)}")
        else:
            yield fail(f"{title}: nobody works", f"./prefine worker {kind} (or ./prefine up, which starts all)")
    version = provenance.get_running_version()
    for worker in known:
        if worker not in alive:
            text = f"{worker.name} was last heard at {worker.heartbeat:%Y-%m-%d %H:%M} UTC"
            yield warn(text, "start it again; its row goes by itself after two days")
        elif worker.version != version:
            yield warn(f"{worker.name} runs {worker.version}, this is {version}", "upgrade the older one")


def examine_address() -> Iterator[Finding]:
    advice = "start the site, or set PREFINE_URL to the address that people type"
    try:
        with httpx2.Client(timeout=SECONDS) as client:
            live = client.get(f"{settings.SITE_URL.rstrip('/')}/health/live")
            page = client.get(settings.SITE_URL)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        yield fail(f"{settings.SITE_URL} does not answer: {error}", advice)
        return
    try:
        version = str(live.json()["version"])
    except (ValueError, KeyError, TypeError):
        version = ""
    if live.status_code != 200 or not version:
        yield fail(f"what answers at {settings.SITE_URL} is not Prefine", advice)
    elif page.status_code == 400:
        yield fail(f"{settings.SITE_URL} refuses its own name", "add it to PREFINE_HOSTS where the site runs")
    elif version != settings.VERSION:
        yield warn(f"{settings.SITE_URL} runs {version}, this is {settings.VERSION}", "upgrade the older")
    else:
        yield report_ok(settings.SITE_URL)


def examine_mail() -> Iterator[Finding]:
    if not settings.EMAIL_READY:
        yield report_ok("none: participants are told in their page, or by their browser")
        return
    mail = get_connection(timeout=SECONDS)
    try:
        mail.open()
    except (OSError, smtplib.SMTPException) as error:
        yield fail(f"{settings.EMAIL_HOST} refused: {error}", "mend PREFINE_EMAIL_URL")
        return
    mail.close()
    yield report_ok(settings.EMAIL_HOST)


def examine_secrets() -> Iterator[Finding]:
    data = Path(settings.DATA_DIR)
    private = [data / name for name in ("secret_key", "encryption_key", "vapid.pem", "db.sqlite3")]
    for path in (path for path in private if path.exists() and path.stat().st_mode & 0o077):
        yield fail(f"other users of this machine may read {path}", f"chmod 600 {path}")
    if settings.DEBUG:
        yield fail("PREFINE_DEBUG shows code and settings to visitors", "unset it")
    host = httpx2.URL(settings.SITE_URL).host
    if host not in LOCAL_HOSTS and not settings.SECURE:
        yield warn("the site is reached without TLS", "put a proxy with https:// before it, and name it in PREFINE_URL")
    if host not in LOCAL_HOSTS and not settings.REQUIRE_2FA:
        yield warn("staff sign in with a password alone", "PREFINE_REQUIRE_2FA=1")


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "database": examine_database,
    "migrations": examine_migrations,
    "broker": examine_broker,
    "store": examine_store,
    "clock": examine_clock,
    "workers": examine_workers,
    "address": examine_address,
    "e-mail": examine_mail,
    "secrets": examine_secrets,
    "disk": examine_disk,
    "memory": examine_memory,
    "open files": examine_files,
    "device": examine_device,
    "rendering": examine_rendering,
    "ffmpeg": examine_ffmpeg,
    "jail": examine_jail,
    "prompts": examine_prompts,
}
NEED_DATABASE = ("migrations", "clock", "workers")
ADVICE = {
    "database": "start it, or mend PREFINE_DATABASE_URL",
    "broker": "start it, or mend PREFINE_BROKER_URL",
    "store": "mend PREFINE_STORE_URL, or the rights and space of the data folder",
}


def examine() -> Iterator[tuple[str, Finding]]:
    """Every finding, with what it is about."""
    away = False
    for name, check in CHECKS.items():
        if away and name in NEED_DATABASE:
            yield name, warn("not looked at, because the database is away", ADVICE["database"])
            continue
        try:
            for finding in check():
                yield name, finding
        except Exception as error:  # whatever it is, it is a finding
            away = away or name == "database"
            yield name, fail(describe_failure(error), ADVICE.get(name, "see docs/operations.md"))


def describe_failure(error: Exception) -> str:
    """Its kind and first line; for a mistake in the program also the place."""
    first = next(iter(str(error).strip().splitlines()), "")
    frames = traceback.extract_tb(error.__traceback__) if isinstance(error, health.FAULTS) else []
    place = f" ({frames[-1].filename}, line {frames[-1].lineno}: please report it)" if frames else ""
    return f"{type(error).__name__}: {first}{place}"


def describe_machine() -> str:
    return f"Prefine {provenance.read_version()} on {platform.platform()}, Python {platform.python_version()}"
