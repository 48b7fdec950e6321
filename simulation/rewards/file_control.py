"""The commands of fcntl that a locked process may give.

Left out are those that make the kernel signal a process when a file is ready (F_SETOWN, F_SETSIG, O_ASYNC, leases,
notices of folders): Landlock stops such signals from Linux 6.12 on only.
"""

from __future__ import annotations

import fcntl
import os
from types import ModuleType
from typing import Any

ALLOWED = (
    *(fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL),
    *(fcntl.F_GETLK, fcntl.F_SETLK, fcntl.F_SETLKW, fcntl.F_OFD_GETLK, fcntl.F_OFD_SETLK, fcntl.F_OFD_SETLKW),
    fcntl.F_GETPIPE_SZ,
)


def allow(seccomp: ModuleType, rules: Any) -> None:
    """Add them to a filter of `seccomp`, which is pyseccomp: its import looks for the library."""
    for command in ALLOWED:
        rules.add_rule(seccomp.ALLOW, "fcntl", seccomp.Arg(1, seccomp.EQ, command))
    no_signals = seccomp.Arg(2, seccomp.MASKED_EQ, os.O_ASYNC, 0)
    rules.add_rule(seccomp.ALLOW, "fcntl", seccomp.Arg(1, seccomp.EQ, fcntl.F_SETFL), no_signals)
