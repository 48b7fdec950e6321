"""The jail of a foreign program: the process that becomes the program locks itself right before exec. It cannot be
undone.

A reward function is an allow-listed text; a program is anything. So nothing is run where this machine cannot provide a
part of the jail. What it stops and what it does not: docs/decisions/0013-reasoning-problems.md.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from programs.records import JailError
from simulation.rewards import file_control, landlock

CAPABILITY_VERSION = 0x20080522
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
OPEN_FILES = 64
READ_AND_RUN = """
    read write readv writev pread64 pwrite64 open openat close close_range fstat stat lstat newfstatat statx lseek
    access faccessat faccessat2 readlink readlinkat getdents64 getcwd dup dup2 dup3 poll ppoll select pselect6
    pipe2 mmap mprotect munmap mremap madvise brk mincore futex set_robust_list get_robust_list rseq set_tid_address
    sched_yield sched_getaffinity getcpu exit exit_group arch_prctl rt_sigaction rt_sigprocmask rt_sigreturn
    sigaltstack restart_syscall pause nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times
    getrusage getpid gettid getppid getuid geteuid getgid getegid getrandom uname sysinfo getrlimit umask execve
"""
COMPILE = """
    clone clone3 vfork fork wait4 waitid unlink unlinkat rename renameat renameat2 ftruncate fallocate pipe
    copy_file_range sendfile flock getpgrp kcmp msync rt_sigtimedwait rt_sigpending sched_setaffinity chdir readahead
    fadvise64 statfs fstatfs getgroups getresuid getresgid sched_getparam sched_getscheduler membarrier
"""
"""A compiler starts its parts and writes files. Its source cannot make it do anything else that this would allow."""


@dataclass(frozen=True)
class Permissions:
    """A program's permissions: processor time, memory, file size, and files by their paths."""

    cpu_seconds: int
    memory_bytes: int
    file_bytes: int
    readable: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    compiles: bool = False


def enter(permissions: Permissions) -> None:
    """Lock this process. Raises JailError where this machine cannot, before anything foreign has run."""
    if landlock.version() == 0:
        raise JailError("this kernel has no Landlock (Linux 5.13 and later): programs are not run without it")
    try:
        import pyseccomp
    except RuntimeError as error:
        raise JailError(f"{error}: install it (Debian: apt-get install libseccomp2)") from None
    try:
        _reset_signals()
        _limit(permissions)
        _drop_privileges()
        landlock.restrict(
            _make_paths(permissions.readable),
            _make_paths(permissions.writable),
            [Path("/dev/null")],
            _make_paths(permissions.executable),
        )
        _filter(pyseccomp, READ_AND_RUN + (COMPILE if permissions.compiles else ""))
        _set_limit(resource.RLIMIT_AS, permissions.memory_bytes)  # last: this process may hold more already
    except OSError as error:
        raise JailError(f"the jail could not be built: {error}") from error


def _make_paths(names: Sequence[str]) -> list[Path]:
    return [Path(name) for name in names]


def _reset_signals() -> None:
    """Ignored signals stay ignored over exec: give a program the defaults. End with the parent."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit(permissions: Permissions) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: permissions.file_bytes,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_STACK: permissions.memory_bytes,
        resource.RLIMIT_CPU: permissions.cpu_seconds,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for name, value in limits.items():
        _set_limit(name, value)


def _set_limit(name: int, value: int) -> None:
    """Soft and hard alike, so that it cannot be raised again."""
    hard = resource.getrlimit(name)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(name, (value, value))


def _drop_privileges() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    if libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "privileges could not be dropped")


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _filter(seccomp: ModuleType, names: str) -> None:
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    for name in names.split():
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) != -1:  # unknown to an older libseccomp
            rules.add_rule(seccomp.ALLOW, name)
    file_control.allow(seccomp, rules)
    rules.add_rule(seccomp.ALLOW, "prlimit64", seccomp.Arg(0, seccomp.EQ, 0))  # its own: to lower them, at most
    for request in (0x5401, 0x5413, 0x5451):  # isatty, window size, close on exec
        rules.add_rule(seccomp.ALLOW, "ioctl", seccomp.Arg(1, seccomp.EQ, request))
    own = os.getpid()
    for name in ("kill", "tgkill"):  # abort() signals itself
        rules.add_rule(seccomp.ALLOW, name, seccomp.Arg(0, seccomp.EQ, own))
    rules.load()
