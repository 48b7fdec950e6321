"""Processes that hold claims: their names, whether they still run, whether this one must end."""

from __future__ import annotations

import os
import socket
import threading
import uuid

stopping = threading.Event()
"""Set when this process must end; its work stops at the next heartbeat."""


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
