"""Programs compiled and run on cases: verdicts, limits, points by subtask, and what is said where it cannot be done."""

import pytest

from programs import judging, lock
from programs.judging import by_subtask, judge, share
from programs.records import Case, CaseResult, JailError, Limits, Report

pytestmark = pytest.mark.slow

SUM = '#include <cstdio>\nint main() { long long a, b; scanf("%lld %lld", &a, &b); printf("%lld\\n", a + b); }\n'
SUM_PYTHON = "a, b = map(int, input().split())\nprint(a + b)\n"
CASES = (Case("1 2\n", "3\n"), Case("40 2\n", "  42  ", 2), Case("5 5\n", "11\n", 2))


@pytest.mark.parametrize(("source", "language"), [(SUM, "cpp"), (SUM_PYTHON, "python")])
def test_a_program_is_run_on_every_case_and_white_space_does_not_matter(source, language):
    (report,) = judge([source], language, CASES, Limits())
    assert report.compiled and not report.message
    assert [r.verdict for r in report.results] == ["ok", "ok", "wrong"]
    assert all(r.seconds >= 0 and r.memory_mb > 0 and len(r.output) == 64 for r in report.results)


def test_programs_keep_their_order_and_equal_answers_have_equal_outputs():
    sources = [SUM_PYTHON, "input()\nprint(0)\n", "print(sum(int(x) for x in input().split()))"]
    first, second, third = judge(sources, "python", CASES, Limits())
    assert [r.verdict for r in second.results] == ["wrong"] * 3
    assert [r.output for r in first.results] == [r.output for r in third.results]
    assert first.results[0].output != second.results[0].output


def test_what_is_no_program_says_what_the_compiler_said():
    (cpp,) = judge(["int main() { return x; }"], "cpp", CASES, Limits())
    (python,) = judge(["def f(:\n"], "python", CASES, Limits())
    assert not cpp.compiled and "not declared" in cpp.message and cpp.results == ()
    assert not python.compiled and "SyntaxError" in python.message
    assert share(by_subtask(cpp, CASES, {})) == 0.0
    assert not judge(["#" * 300_000], "python", CASES, Limits())[0].compiled


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("while True: pass", "time"),
        ("import time\ntime.sleep(600)", "time"),
        ("x = bytearray(400 << 20)", "memory"),
        ("x = [0]\nwhile True: x = x * 2", "memory"),
        ("while True: print('x' * 100000)", "output"),
        ("raise SystemExit(3)", "crash"),
        ("print(1 // 0)", "crash"),
        ("import os\nos.abort()", "crash"),
        ("import sys\nsys.setrecursionlimit(10**9)\nf = lambda n: f(n + 1)\nf(0)", "memory crash time"),
    ],
)
def test_limits(source, verdict):
    seconds = 0.5 if "time" in verdict else 5.0  # a slow machine may need 0.6 s to fill the memory
    limits = Limits(cpu_seconds=seconds, memory_mb=128, output_kb=256)
    (report,) = judge([source], "python", [Case("", "")], limits)
    assert report.results[0].verdict in verdict.split()


def test_points_are_earned_by_whole_subtasks():
    cases = [Case("", "", 1), Case("", "", 2), Case("", "", 2), Case("", "", 3)]
    report = Report(True, "", tuple(CaseResult(v, 0, 0) for v in ("ok", "ok", "wrong", "ok")))
    subtasks = by_subtask(report, cases, {1: 20, 2: 50, 3: 30})
    assert [(s.number, s.earned, s.passed, s.cases) for s in subtasks] == [(1, 20, 1, 1), (2, 0, 1, 2), (3, 30, 1, 1)]
    assert share(subtasks) == pytest.approx(0.5)
    assert share(()) == 0.0


def test_a_missing_compiler_is_said(monkeypatch):
    monkeypatch.setattr(judging.shutil, "which", lambda *a, **k: None)
    with pytest.raises(JailError, match="apt-get install g\\+\\+"):
        judge([SUM], "cpp", CASES, Limits())


def test_a_kernel_without_landlock_runs_nothing(monkeypatch):
    monkeypatch.setattr(lock.landlock, "version", lambda: 0)
    with pytest.raises(JailError, match="no Landlock"):
        lock.enter(lock.Permissions(1, 1 << 30, 1 << 20))


def test_a_jail_that_is_not_built_is_no_verdict(monkeypatch):
    monkeypatch.setattr(judging.jail, "ROOT", judging.Path("/nowhere"))
    with pytest.raises(JailError, match="before the jail was built"):
        judge([SUM_PYTHON], "python", CASES, Limits())


def test_an_interpreter_that_cannot_be_executed_is_no_verdict(monkeypatch):
    monkeypatch.setattr(judging, "_python", lambda: ["/none/python"])
    with pytest.raises(JailError, match="/none/python could not be started in the jail: No such file"):
        judge([SUM_PYTHON], "python", CASES, Limits())


def test_an_unknown_language_is_refused():
    with pytest.raises(ValueError, match="known: cpp, python"):
        judge(["10 PRINT"], "basic", CASES, Limits())


def test_judging_can_be_stopped():
    class Enough(Exception):
        pass

    calls = []

    def stop():
        calls.append(1)
        if len(calls) > 2:
            raise Enough

    with pytest.raises(Enough):
        judge([SUM_PYTHON], "python", CASES, Limits(), stop)
