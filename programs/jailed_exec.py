"""Become a jailed program: lock this process, report it, exec. Only programs.jail starts it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

from programs.lock import Permissions, enter
from programs.records import JailError


def request(permissions: Permissions, command: list[str], status: int) -> str:
    """The argument of `main`. `status` is the descriptor that it reports on."""
    return json.dumps({"permissions": asdict(permissions), "command": command, "status": status})


def main(argument: str) -> None:
    """Write what this process has used so far, or why there is no jail, to the status pipe; then exec."""
    asked = json.loads(argument)
    status = asked["status"]
    os.set_inheritable(status, False)  # so that it closes with exec: the other end sees that it succeeded
    try:
        enter(Permissions(**asked["permissions"]))
        used = os.times()
        os.write(status, json.dumps({"cpu": used.user + used.system}).encode())
        os.execve(asked["command"][0], asked["command"], {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "."})
    except (JailError, OSError) as error:
        os.write(status, json.dumps({"error": str(error)}).encode())
        os._exit(127)


if __name__ == "__main__":
    main(sys.argv[1])
