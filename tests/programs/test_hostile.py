"""Programs that attack. Each first does its harm with no jail around it where that is harmless, so that it is one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from programs.judging import judge
from programs.records import Case, Limits

pytestmark = pytest.mark.slow

LIMITS = Limits(cpu_seconds=2.0, memory_mb=128, output_kb=256)
ATTACKS = {
    "fork": "import os\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\nprint('harm')",
    "thread": "import threading\nt = threading.Thread(target=lambda: None)\nt.start()\nt.join()\nprint('harm')",
    "shell": "import subprocess\nprint('harm' if subprocess.run(['/bin/sh', '-c', 'true']).returncode == 0 else '')",
    "exec": "import os\nos.execv('/bin/echo', ['echo', 'harm'])",
    "socket": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nprint('harm')",
    "unix socket": "import socket\nsocket.socketpair()\nprint('harm')",
    "write": "open('{folder}/written', 'w').write('x')\nprint('harm')",
    "write here": "open('written', 'w').write('x')\nprint('harm')",
    "delete": "import os\nos.remove('{folder}/secret')\nprint('harm')",
    "rename": "import os\nos.rename('{folder}/secret', '{folder}/other')\nprint('harm')",
    "mode": "import os\nos.chmod('{folder}/secret', 0o777)\nprint('harm')",
    "read": "print('harm' if open('{folder}/secret').read() == 'key' else '')",
    "passwd": "print('harm' if 'root' in open('/etc/passwd').read() else '')",
    "list": "import os\nprint('harm' if os.listdir('{folder}') else '')",
    "proc": "print('harm' if open('/proc/self/environ').read() is not None else '')",
    "parent": "import os\nprint('harm' if open(f'/proc/{os.getppid()}/cmdline').read() else '')",
    "environment": "import os\nprint('harm' if os.environ.get('SECRET') else '')",
    "output again": "import os\nos.open('/proc/self/fd/1', os.O_WRONLY)\nprint('harm')",
    "handles": "import os\nprint('harm' if any(os.read(n, 1) is not None for n in range(3, 20)) else '')",
    "signal": "import os, signal\nos.kill(os.getppid(), 0)\nprint('harm')",
    "owner of a file": "import fcntl, os\nfcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())\nprint('harm')",
    "signal when ready": "import fcntl, os\nfcntl.fcntl(0, 10, 9)  # F_SETSIG, SIGKILL\nprint('harm')",
    "asynchronous file": "import fcntl, os\nfcntl.fcntl(0, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)\nprint('harm')",
    "limit": "import resource as r\nr.setrlimit(r.RLIMIT_AS, (-1, -1))\nx = bytearray(600 << 20)\nprint('harm')",
    "session": "import os\nos.setpgid(0, 0) or os.setsid()\nprint('harm')",
    "shared memory": "import os\nos.memfd_create('x')\nprint('harm')",
    "nice": "import os\nos.nice(1)\nprint('harm')",
    "link": "import os\nos.symlink('/etc/passwd', '{folder}/link')\nprint('harm')",
}
OPEN_HARMLESS = sorted(set(ATTACKS) - {"session", "limit", "handles"})
"""Attacks that succeed without the jail on any machine that the tests run on."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "secret").write_text("key")
    return tmp_path


def program(name, folder):
    return ATTACKS[name].replace("{folder}", str(folder))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("passwd", "environment") else pytest.mark.exhaustive)
        for name in OPEN_HARMLESS
    ],
)
def test_it_is_an_attack(name, folder):
    script = folder / "attack.py"
    script.write_text(program(name, folder))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=folder, env={**os.environ, "SECRET": "1"}
    )
    assert "harm" in done.stdout, done.stderr


def test_no_attack_does_harm(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    folders = {name: tmp_path_factory.mktemp("attack") for name in ATTACKS}
    for folder in folders.values():
        (folder / "secret").write_text("key")
    reports = judge([program(name, folders[name]) for name in ATTACKS], "python", [Case("", "harm")], LIMITS)
    for (name, folder), report in zip(folders.items(), reports, strict=True):
        assert report.compiled, (name, report.message)
        assert report.results[0].verdict in ("wrong", "crash", "memory"), (name, report)
        assert sorted(p.name for p in folder.iterdir()) == ["secret"], name
        assert (folder / "secret").read_text() == "key" and (folder / "secret").stat().st_mode & 0o777 != 0o777, name


CPP_ATTACKS = r"""
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
  int harm = 0;
  for (int i = 0; i < 1000; i++) { pid_t p = fork(); if (p == 0) _exit(0); if (p > 0) harm |= 1; }
  if (vfork() == 0) _exit(0);
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0) harm |= 2;
  if (open("/etc/passwd", O_RDONLY) >= 0 || open("/usr/include/stdio.h", O_RDONLY) >= 0) harm |= 4;
  if (open("case.out", O_RDONLY) >= 0 || open("case.in", O_WRONLY) >= 0) harm |= 8;
  if (open("x", O_CREAT | O_WRONLY, 0600) >= 0) harm |= 8;
  if (kill(getppid(), 0) == 0 || kill(-1, 0) == 0) harm |= 16;
  if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) harm |= 32;
  if (syscall(SYS_io_uring_setup, 1, 0) >= 0 || syscall(SYS_bpf, 0, 0, 0) >= 0) harm |= 64;
  if (syscall(SYS_unshare, 0x10000000) >= 0) harm |= 64;
  char* arguments[] = {(char*)"sh", (char*)"-c", (char*)"echo harm", nullptr};
  execv("/bin/sh", arguments);
  if (write(0, "x", 1) == 1) harm |= 128;
  close(0); close(0);
  printf("%d\n", harm);
}
"""
COMPILE_ATTACKS = {
    "template bomb": "template<int A, int B> struct F { static const long v = F<A - 1, B>::v + F<A, B - 1>::v; };\n"
    "template<int A> struct F<A, 0> { static const long v = 1; };\n"
    "template<int B> struct F<0, B> { static const long v = 1; };\n"
    "constexpr long spin(long n) { long s = 0; for (long i = 0; i < n; i++) s += i; return s; }\n"
    "int main() { constexpr long x = spin(1L << 62); return x + F<3000, 3000>::v; }",
    "endless include": '#include "/dev/zero"\nint main() {}',
    "include itself": "#include __FILE__\nint main() {}",
    "include a secret": '#include "/etc/passwd"\nint main() {}',
    "assemble a secret": 'asm(".incbin \\"/etc/passwd\\"");\nint main() {}',
    "huge program": "int a[100000000] = {1};\nint main() { return a[5]; }",
}


def test_a_compiled_program_does_no_harm_either():
    (report,) = judge([CPP_ATTACKS], "cpp", [Case("", "0")], LIMITS)
    assert report.compiled, report.message
    assert report.results[0].verdict == "ok", report.results[0]


def test_a_program_that_cannot_be_executed_has_crashed():
    source = 'char i[] __attribute__((section(".interp"))) = "/none";\nint main() {}'
    crashed, fine = judge([source, "int main() {}"], "cpp", [Case("", ""), Case("", "")], LIMITS)
    assert [result.verdict for result in crashed.results] == ["crash"] * 2
    assert crashed.results[0].note.startswith("The system could not start the program: ")
    assert [result.verdict for result in fine.results] == ["ok"] * 2


def test_the_compiler_is_jailed_too():
    reports = judge(list(COMPILE_ATTACKS.values()), "cpp", [Case("", "")], LIMITS)
    for name, report in zip(COMPILE_ATTACKS, reports, strict=True):
        assert not report.compiled, name
        assert "root:" not in report.message and report.message, (name, report.message)


def test_nothing_is_left_running_or_lying_about(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other processes judge at the same time
    judge(["import time\ntime.sleep(600)"], "python", [Case("", "")], Limits(cpu_seconds=0.2))
    assert list(tmp_path.iterdir()) == []
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert not [pid for pid in children if b"program.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
