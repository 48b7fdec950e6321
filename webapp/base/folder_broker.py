"""Kombu's filesystem broker for one machine; inotify wakes idle workers instead of polling."""

from __future__ import annotations

import ctypes
import os
import select
import time
from pathlib import Path
from queue import Empty
from typing import Any, ClassVar

from kombu.transport import filesystem
from kombu.utils.json import loads

LIST_SECONDS = 30.0
"""The folder is listed at least this often, though the kernel tells of no change."""
IN_CLOSE_WRITE = 0x8
"""A file was written and closed (inotify(7))."""


class Channel(filesystem.Channel):
    """Delivers a message to exactly one of several workers, and never before it is fully written."""

    connection: Transport

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """The queue's oldest message, deleted from the folder. (Kombu moves it first, to a name that two may share.)"""
        if self.connection.is_known_empty(queue):
            raise Empty
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
        self.connection.note_empty(queue)
        raise Empty


class Transport(filesystem.Transport):
    """An idle worker waits for inotify events."""

    default_connection_params: ClassVar[dict[str, Any]] = {}
    """A folder has no host. (Kombu warns of a missing one where the transport knows a default.)"""

    Channel = Channel

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.folder = client.transport_options["data_folder_in"]
        self.poll_seconds = client.transport_options["polling_interval"]
        self.changes: int | None = None
        """File descriptor of inotify; None before the first wait, negative if there is no inotify."""
        self.empty: dict[str, float] = {}
        """When each queue was last found empty, since the last change of the folder."""

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> None:
        """Deliver one message. Raises TimeoutError when none came within `timeout` seconds."""
        ends = float("inf") if timeout is None else time.monotonic() + timeout
        while True:
            self.notice_change(0)
            try:
                self.cycle.get(self._deliver, timeout=timeout)  # type: ignore[union-attr]
                return
            except Empty:
                left = ends - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.wait(min(left, LIST_SECONDS))

    def wait(self, seconds: float) -> None:
        """Wait until a message is written, at most this long; without inotify, for the polling interval."""
        if self.changes is None:
            self.changes = watch_folder(self.folder)  # a message that came before the watch is found by listing at once
            seconds = 0
        if self.changes < 0:
            time.sleep(min(seconds, self.poll_seconds))
        else:
            self.notice_change(seconds)

    def notice_change(self, seconds: float) -> None:
        """Wait for a change of the folder, at most this long; after one, all queues are listed again."""
        if self.changes is not None and self.changes >= 0 and select.select([self.changes], [], [], seconds)[0]:
            os.read(self.changes, 1 << 16)
            self.empty.clear()

    def note_empty(self, queue: str) -> None:
        if self.changes is not None and self.changes >= 0:
            self.empty[queue] = time.monotonic()

    def is_known_empty(self, queue: str) -> bool:
        """Whether nothing has been written since the queue was found empty, which was not long ago."""
        found = self.empty.get(queue)
        return found is not None and time.monotonic() - found < LIST_SECONDS

    def close_connection(self, connection: Any) -> None:
        super().close_connection(connection)
        if self.changes is not None and self.changes >= 0:
            os.close(self.changes)
        self.changes = None


def watch_folder(folder: str) -> int:
    """An inotify file descriptor for files written in this folder; -1 without inotify."""
    libc = ctypes.CDLL(None)
    file = libc.inotify_init1(os.O_CLOEXEC)
    if file >= 0 and libc.inotify_add_watch(file, os.fsencode(folder), IN_CLOSE_WRITE) < 0:
        os.close(file)
        return -1
    return int(file)
