"""The broker of one machine: a folder of messages, as Kombu has it, listed when a message came and not all the time."""

from __future__ import annotations

import ctypes
import os
import select
import time
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import loads

LIST_SECONDS = 2.0
"""The folder is listed this often in any case."""
IN_CLOSE_WRITE = 0x8
"""A file was written and closed (inotify(7))."""


class Channel(filesystem.Channel):
    """Workers that wake together take a message once, and never half of it."""

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """The queue's oldest message, gone from the folder. Kombu moves it elsewhere first, where two may meet."""
        for name in sorted(os.listdir(self.data_folder_in)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            path = Path(self.data_folder_in, name)
            try:
                message = loads(path.read_text())
                path.unlink()
            except (FileNotFoundError, ValueError):  # another worker has it; or it is still being written
                continue
            return message
        raise Empty


class Transport(filesystem.Transport):
    """An idle worker sleeps in the kernel, which wakes it for a new message."""

    Channel = Channel

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.folder = client.transport_options["data_folder_in"]
        self.poll_seconds = client.transport_options["polling_interval"]
        self.changes: int | None = None
        """The file that tells of changes to the folder; None before the first wait."""

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> None:
        """Deliver one message. Raises TimeoutError when none came within `timeout` seconds."""
        ends = float("inf") if timeout is None else time.monotonic() + timeout
        while True:
            try:
                self.cycle.get(self._deliver, timeout=timeout)  # type: ignore[union-attr]
                return
            except Empty:
                left = ends - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.wait(min(left, LIST_SECONDS))

    def wait(self, seconds: float) -> None:
        """Until a message was written, at most this long; where the kernel cannot tell, for the polling interval."""
        if self.changes is None:
            self.changes = watch_folder(self.folder)  # what came just before is found by the next listing
            seconds = 0
        if self.changes < 0:
            time.sleep(min(seconds, self.poll_seconds))
        elif select.select([self.changes], [], [], seconds)[0]:
            os.read(self.changes, 1 << 16)

    def close_connection(self, connection: Any) -> None:
        super().close_connection(connection)
        if self.changes is not None and self.changes >= 0:
            os.close(self.changes)
        self.changes = None


def watch_folder(folder: str) -> int:
    """A file to read when something was written in this folder; -1 where the kernel gives none."""
    libc = ctypes.CDLL(None)
    file = libc.inotify_init1(os.O_CLOEXEC)
    if file >= 0 and libc.inotify_add_watch(file, os.fsencode(folder), IN_CLOSE_WRITE) < 0:
        os.close(file)
        return -1
    return int(file)
