"""The system calls that a locked process may make; every other fails with EPERM.

It lists allowed calls, because new kernels add calls. No network, no new process (threads only), no exec, no change of
owners, modes or times, no signals to others, no tracing, mounts, namespaces, keys, bpf or io_uring.
"""

from __future__ import annotations

import errno
import os

import pyseccomp as seccomp

from simulation.rewards import file_control

CLONE_THREAD = 0x00010000
PRCTL_ALLOWED = (15, 16, 0x53564D41)
"""Set and get the thread's name; name a memory area (glibc)."""
IOCTL_ALLOWED = (0x5401, 0x5413, 0x541B, 0x5421, 0x5451)
"""isatty, window size, bytes waiting, non-blocking, close on exec."""
IOCTL_NVIDIA = ((0xFF00, 0x4600), (0xFFFFFF00, 0), (0xFFFFFF00, 0x30000000))
"""(mask, value) of the requests of NVIDIA's driver."""

FILES = """
    read write readv writev pread64 pwrite64 preadv pwritev open openat close close_range fstat stat lstat newfstatat
    statx lseek access faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd mkdir mkdirat rmdir unlink
    unlinkat rename renameat renameat2 ftruncate fsync fdatasync fallocate fadvise64 sync_file_range
    flock umask dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait
    eventfd2 sendfile copy_file_range statfs fstatfs
"""
MEMORY = "mmap mprotect munmap mremap madvise brk msync mincore mlock munlock membarrier get_mempolicy"
THREADS = """
    futex futex_waitv set_robust_list get_robust_list rseq set_tid_address sched_yield sched_getaffinity
    sched_setaffinity sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min getcpu exit
    exit_group wait4 waitid arch_prctl rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait
    sigaltstack restart_syscall pause
"""
INFORMATION = """
    nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times getrusage getitimer setitimer alarm
    getpid gettid getppid getpgrp getpgid getsid getuid geteuid getgid getegid getgroups getresuid getresgid getrandom
    uname sysinfo getrlimit getpriority capget
"""


def restrict() -> None:
    """Confine this process, every thread of it, to the list, for good. Raises OSError when the kernel refuses."""
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    rules.set_attr(seccomp.Attr.CTL_TSYNC, 1)
    for name in (FILES + MEMORY + THREADS + INFORMATION).split():
        _allow(rules, name)
    _allow(rules, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD))
    file_control.allow(seccomp, rules)
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")  # its flags are out of sight; glibc then uses clone
    own = os.getpid()
    _allow(rules, "kill", seccomp.Arg(0, seccomp.EQ, own))
    _allow(rules, "tgkill", seccomp.Arg(0, seccomp.EQ, own))
    _allow(rules, "prlimit64", seccomp.Arg(0, seccomp.EQ, 0))
    for option in PRCTL_ALLOWED:
        _allow(rules, "prctl", seccomp.Arg(0, seccomp.EQ, option))
    for request in IOCTL_ALLOWED:
        _allow(rules, "ioctl", seccomp.Arg(1, seccomp.EQ, request))
    if os.path.exists("/dev/nvidiactl"):
        for mask, value in IOCTL_NVIDIA:
            _allow(rules, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, mask, value))
    rules.load()


def _allow(rules: seccomp.SyscallFilter, name: str, *conditions: seccomp.Arg) -> None:
    if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) != -1:  # unknown to an older libseccomp
        rules.add_rule(seccomp.ALLOW, name, *conditions)
