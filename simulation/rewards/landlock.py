"""Landlock (Linux 5.13 and later): confine this thread, and what it starts, to named files and folders, for good.

The kernel's own interface (linux/landlock.h) through three system calls; no maintained Python package covers it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG, PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FILE_RIGHTS = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV

KNOWN_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Version of the interface -> how many file rights it knows; later ones know as many as the last."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def version() -> int:
    """The kernel's version of the interface; 0 where there is none."""
    found: int = _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION_FLAG))
    return max(0, found)


def restrict(
    readable: Sequence[Path], writable: Sequence[Path], devices: Sequence[Path], executable: Sequence[Path] = ()
) -> None:
    """Allow this thread to read `readable`, to read and write `writable` and `devices`, and no other file.

    It may start programs from `executable`, and read there. Where there are none, it may start nothing.

    Where the kernel can, TCP and signals and abstract sockets that leave this process are refused as well. Paths that
    do not exist, or that this user cannot reach, are skipped. Raises OSError when the kernel refuses.
    """
    known = version()
    handled = (1 << KNOWN_RIGHTS[min(known, 5)]) - 1
    ruleset = _Ruleset(handled, 0b11 if known >= 4 else 0, 0b11 if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    descriptor = _call(CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), ctypes.c_uint32(0))
    for paths, rights in ((readable, READ), (writable, WRITE), (devices, DEVICE), (executable, READ | EXECUTE)):
        for path in paths:
            _allow(descriptor, path, rights & handled)
    _call(RESTRICT_SELF, descriptor, ctypes.c_uint32(0))
    os.close(descriptor)


def _allow(descriptor: int, path: Path, rights: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    if not path.is_dir():
        rights &= FILE_RIGHTS
    rule = _PathBeneath(rights, folder)
    _call(ADD_RULE, descriptor, ctypes.c_int(PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    os.close(folder)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result
