"""Become a jailed program: lock this process, report it, exec. Only programs.jail starts it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from programs.lock import Permissions, enter
from programs.records import JailError

EXIT_NOT_STARTED = 127


def make_request(permissions: Permissions, command: list[str], status: int) -> str:
    """The argument of `main`. `status` is the descriptor that it reports on."""
    return json.dumps({"permissions": asdict(permissions), "command": command, "status": status})


def main(argument: str) -> None:
    """Write what this process has used so far, or why there is no jail, to the status pipe; then exec.

    A command that cannot be executed is reported in a second line.
    """
    asked = json.loads(argument)
    status = asked["status"]
    os.set_inheritable(status, False)  # so that it closes with exec: the other end sees that it succeeded
    try:
        enter(Permissions(**asked["permissions"]))
    except JailError as error:
        _report(status, error=str(error))
        os._exit(EXIT_NOT_STARTED)
    used = os.times()
    _report(status, cpu=used.user + used.system)
    try:
        os.execve(asked["command"][0], asked["command"], {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "."})
    except OSError as error:
        _report(status, not_started=error.strerror)
        os._exit(EXIT_NOT_STARTED)


def _report(status: int, **fields: Any) -> None:
    os.write(status, json.dumps(fields).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
