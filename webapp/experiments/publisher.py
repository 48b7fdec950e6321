"""Publishes a training that runs in a folder of this machine. Only its beginning and its end wait for the store."""

from __future__ import annotations

import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from webapp.base import scratch
from webapp.base.store import store
from webapp.base.store_interface import StoreError
from webapp.experiments import run_folder
from webapp.experiments.models import Request
from webapp.experiments.run_folder import DONE, JOB, MOST_CHECKPOINT, NEEDED, STATE, Beat

log = logging.getLogger(__name__)

PUBLISH_SECONDS = 60.0
"""Interval at which checkpoints are published."""
BACKGROUND_RATE = 16e6
"""Bytes per second of these uploads: 256 MB take 16 s, and a line of 1 Gbit/s keeps seven eighths for the rest."""
HANDOVER_SECONDS = 5.0
"""How long a worker that must end publishes what it has. The supervisor waits longer, like Slurm and Docker."""

LINK_TRIES = 100


class _Aborted(Exception):
    """The upload is not needed any more, or comes too late."""


class SlowFile:
    """A file that is read at this rate until it is no longer wanted."""

    def __init__(self, file: BinaryIO, rate: float, abort: threading.Event) -> None:
        self._file, self._rate, self._abort = file, rate, abort

    def read(self, size: int = -1, /) -> bytes:
        if self._abort.is_set():
            raise _Aborted
        data = self._file.read(size)
        self._abort.wait(len(data) / self._rate)
        return data


def link_replaced(path: Path, link: Path) -> None:
    """Link a file that its writer may be replacing: in that moment Linux says that there is none. Raises OSError."""
    for _ in range(LINK_TRIES - 1):
        with suppress(FileNotFoundError):
            os.link(path, link, follow_symlinks=False)
            return
    os.link(path, link, follow_symlinks=False)


class Publisher:
    """`beat` is called after each file, but not from the thread that publishes while the training runs."""

    def __init__(self, request: Request, beat: Beat) -> None:
        self.request, self.folder, self._beat = request, run_folder.get_folder(request), beat
        self._needless = run_folder.is_in_store()
        self._sent: dict[str, tuple[int, int]] = {}
        """Name -> time and size of files in the store."""
        self._at = time.monotonic()
        self._thread: threading.Thread | None = None
        self._abort = threading.Event()
        self.seconds = 0.0
        """How long the training waited for the store."""
        self.bytes = 0
        """What was uploaded."""

    @contextmanager
    def wait_for_store(self, keep_lease: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
        """A block that may wait for the store, while something else keeps the lease."""
        if self._needless:
            yield
            return
        begun = time.monotonic()
        try:
            with keep_lease():
                yield
        finally:
            self.seconds += time.monotonic() - begun

    def publish_job(self) -> None:
        """Publish the job once; later the store's copy counts, from which words may have been erased."""
        if not self._needless and store.size(self._get_key(JOB)) is None:
            store.publish(self._get_key(JOB), self.folder / JOB)

    def publish_if_due(self) -> None:
        """Publish all files so far in a thread, at the rate of the background."""
        if self._thread is not None and not self._thread.is_alive():
            self._thread, self._at = None, time.monotonic()
        if not self._needless and self._thread is None and time.monotonic() - self._at >= PUBLISH_SECONDS:
            self._thread = threading.Thread(target=self._publish_quietly, args=[BACKGROUND_RATE], daemon=True)
            self._thread.start()

    def publish(self, large: bool = False) -> None:
        """Publish all files so far; `large`: checkpoints of any size, too."""
        if not self._needless:
            self.stop()
            self._publish_all(beat=self._beat, large=large)
            self._at = time.monotonic()

    def try_to_publish(self) -> bool:
        """Publish all files so far. False if the store is away, which is logged."""
        return self._try(self.publish)

    def try_to_send(self, wanted: re.Pattern[str]) -> bool:
        """Publish the files of such names, which are small. False if the store is away, which is logged."""
        if self._needless:
            return True
        return self._try(lambda: [self._send(name, self.folder / name) for name in self._list_names(wanted)])

    def _try(self, publish: Callable[[], object]) -> bool:
        try:
            publish()
        except StoreError as error:
            if error.permanent:
                raise
            log.warning("films of %s wait: %s", self.request, error)
            return False
        return True

    def finish(self) -> None:
        """Publish the result and delete the checkpoints from the store."""
        self.publish()
        if self._needless:
            return
        for name in DONE:
            self._send(name, self.folder / name)
            self._beat()
        for key in store.keys(self._get_key("checkpoints")):
            if STATE.fullmatch(key.removeprefix(self._get_key(""))):
                store.delete(key)

    def hand_over(self) -> None:
        """Publish what there is, as far as it fits into HANDOVER_SECONDS: another worker continues from it."""
        if self._needless:
            return
        self.stop()
        self._thread = threading.Thread(target=self._publish_quietly, args=[float("inf")], daemon=True)
        self._thread.start()
        self._thread.join(HANDOVER_SECONDS)
        if self._thread.is_alive():  # a store that hangs would hold this process until it is killed
            self._abort.set()
            self._thread = None

    def stop(self) -> None:
        """End what the thread does."""
        if self._thread is not None:
            self._abort.set()
            self._thread.join()
            self._abort.clear()
            self._thread = None

    def clear(self) -> None:
        """Delete the folder, whose needed files are in the store."""
        if not self._needless:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _publish_quietly(self, rate: float) -> None:
        """An upload that fails leaves the store's older checkpoint, and is tried again at the next interval."""
        try:
            self._publish_all(rate)
        except _Aborted:
            log.info("stopped publishing %s", self.request)
        except OSError as error:
            log.warning("could not publish %s: %s", self.request, error)

    def _publish_all(self, rate: float = float("inf"), beat: Beat = lambda: None, large: bool = False) -> None:
        # The trainer replaces files, so links keep a consistent state.
        with scratch.make_folder("publish") as kept:
            state = {name: kept / str(number) for number, name in enumerate(self._list_names(STATE))}
            for name, link in state.items():
                link_replaced(self.folder / name, link)
            needed = {name: self.folder / name for name in self._list_names(NEEDED)}
            sent = {name: link for name, link in state.items() if large or link.stat().st_size <= MOST_CHECKPOINT}
            for name, path in [*needed.items(), *sent.items()]:
                if self._send(name, path, rate):
                    beat()

    def _get_key(self, name: str) -> str:
        return f"{self.request.run_key}/{name}"

    def _list_names(self, wanted: re.Pattern[str]) -> list[str]:
        """Names of matching files, without links, which generated code may have made."""
        paths = [Path(path, name) for path, _, names in os.walk(self.folder) for name in names]
        found = {path.relative_to(self.folder).as_posix(): path for path in paths if not path.is_symlink()}
        return sorted(name for name in found if wanted.fullmatch(name))

    def _send(self, name: str, path: Path, rate: float = float("inf")) -> bool:
        """Publish the file, unless the store has it. Returns whether it was sent."""
        if path.is_symlink() or not path.is_file():
            return False
        with path.open("rb") as file:
            seen = os.fstat(file.fileno())
            if self._sent.get(name) == (seen.st_mtime_ns, seen.st_size):
                return False
            store.publish(self._get_key(name), SlowFile(file, rate, self._abort))
        self._sent[name] = (seen.st_mtime_ns, seen.st_size)
        self.bytes += seen.st_size
        return True
