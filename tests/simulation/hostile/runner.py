"""Runs every attack on the jail in a process of its own, locked or not: `python -I runner.py ROOT locked|free FOLDER`.

Prints {attack: {"harm", "error", "files", "secret", "victim"}} as JSON. Forks instead of starting Python for each.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any


def main(root: str, mode: str, folder: str) -> None:
    sys.path.insert(0, root)
    from simulation.rewards import sandbox
    from tests.simulation.hostile.jail_attacks import ATTACKS

    def lock(inside: Path) -> None:
        if mode == "locked":
            sandbox.lock([inside], 256 << 20, 1)

    json.dump({name: attacked(code, Path(folder) / name, lock) for name, code in ATTACKS.items()}, sys.stdout)


def attacked(code: str, folder: Path, lock: Any) -> dict[str, Any]:
    """What one attack did to a folder, a secret file and a sleeping process."""
    inside, secret = folder / "inside", folder / "secret.txt"
    inside.mkdir(parents=True)
    secret.write_text("secret")
    names = scene(inside, secret)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        attack(code, names, lock, inside, writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        output = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    alive = os.waitpid(names["VICTIM"], os.WNOHANG) == (0, 0)
    if alive:
        os.kill(names["VICTIM"], signal.SIGKILL)
        os.waitpid(names["VICTIM"], 0)
    for listener in names["LISTENERS"]:
        listener.close()
    files = sorted(path.name for path in folder.iterdir())
    content = secret.read_text() if secret.exists() else ""
    shutil.rmtree(folder)
    error = output.removeprefix("locked ") or f"status {status}"
    return {"harm": "harm" in output, "error": error, "files": files, "secret": content, "victim": alive}


def scene(inside: Path, secret: Path) -> dict[str, Any]:
    """The names that an attack finds."""
    listeners = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
    path, abstract = str(secret.with_name("socket")), f"\0prefine-test-{os.getpid()}"
    for listener, name in zip(listeners[1:], (path, abstract), strict=True):
        listener.bind(name)
        listener.listen()
    memory = ctypes.create_string_buffer(b"secret!")
    victim = os.fork()
    if victim == 0:
        time.sleep(60)
        os._exit(0)
    return {
        "VICTIM": victim, "ADDRESS": ctypes.addressof(memory), "MEMORY": memory, "SECRET": str(secret),
        "OUTSIDE": str(secret.parent), "INSIDE": str(inside), "SOCKET": path, "ABSTRACT": abstract,
        "ROOT": sys.path[0], "PORT": listeners[0].getsockname()[1], "LISTENERS": listeners,
    }  # fmt: skip


def attack(code: str, names: dict[str, Any], lock: Any, inside: Path, writing: int) -> None:
    """In the child: lock, attack, tell. Never returns."""
    import resource
    import subprocess

    libc = ctypes.CDLL(None, use_errno=True)
    libc.getenv.restype = ctypes.c_void_p

    def syscall(number: int, *arguments: Any) -> int:
        result = libc.syscall(number, *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result

    modules = {m.__name__: m for m in (ctypes, os, resource, signal, socket, subprocess, sys, threading)}
    os.chdir(inside)
    lock(inside)
    threading.excepthook = lambda _: None
    try:
        exec(code, {**modules, **names, "syscall": syscall, "HARD": resource.getrlimit(resource.RLIMIT_NOFILE)[1]})
        os.write(writing, b"harm")
    except BaseException as error:
        os.write(writing, repr(error).encode()[:500])
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
