"""Processes that hold claims: their names, whether they still run, whether this one must end."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

stopping = threading.Event()
"""Set when this process must end; its work stops at the next heartbeat."""
draining = threading.Event()
"""Set when this process must take no more work."""
_working = threading.Lock()


@contextmanager
def begin_work() -> Iterator[bool]:
    """A block in which this process works, if it may: the value says so."""
    with _working:
        yield not draining.is_set()


def is_idle() -> bool:
    """Whether this process is outside such a block."""
    return not _working.locked()


def get_machine() -> str:
    """The name of this machine or container; process ids are unique only within it."""
    return f"{socket.gethostname()[:80]}/{os.stat('/proc/self/ns/pid').st_ino}"


def make_owner() -> str:
    """A name for one claim of this process: "<machine>:<process id>:<random>"."""
    return f"{get_machine()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def has_ended(owner: str) -> bool:
    """Whether the owner's process ran on this machine and has ended."""
    host, _, rest = owner.partition(":")
    return host == get_machine() and not os.path.exists(f"/proc/{rest.partition(':')[0]}")
