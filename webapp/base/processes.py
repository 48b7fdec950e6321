"""Processes that hold a claim: which machine and process it is, whether it still runs, whether this one is to end."""

from __future__ import annotations

import os
import socket
import threading
import uuid

stopping = threading.Event()
"""Set when this process is to end: its work is put down at the next heartbeat."""


def get_machine() -> str:
    """This machine, or this container: process ids mean something only within it."""
    return f"{socket.gethostname()[:80]}/{os.stat('/proc/self/ns/pid').st_ino}"


def new_owner() -> str:
    """A name for one claim of this process: "<machine>:<process id>:<random>"."""
    return f"{get_machine()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def has_ended(owner: str) -> bool:
    """Whether the process of this owner ran on this machine and has ended; False for one of another machine."""
    host, _, rest = owner.partition(":")
    return host == get_machine() and not os.path.exists(f"/proc/{rest.partition(':')[0]}")
