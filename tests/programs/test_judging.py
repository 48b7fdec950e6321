"""Programs compiled and run on cases: verdicts, limits, points by subtask, and what is said where it cannot be done."""

import pytest

from programs import compiling, judging, lock
from programs.judging import compute_share, grade_subtasks, judge
from programs.records import Case, CaseResult, Harness, HarnessError, JailError, Limits, Report

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
    assert compute_share(grade_subtasks(cpp, CASES, {})) == 0.0
    assert not judge(["#" * 300_000], "python", CASES, Limits())[0].compiled


@pytest.mark.parametrize(
    ("seconds", "ends"),
    [
        (
            0.5,
            {
                "while True: pass": "time",
                "import time\ntime.sleep(600)": "time",
                "import sys\nsys.setrecursionlimit(10**9)\nf = lambda n: f(n + 1)\nf(0)": "memory crash time",
            },
        ),
        (
            5.0,  # a slow machine may need 0.6 s to fill the memory
            {
                "x = bytearray(400 << 20)": "memory",
                "while True: print('x' * 100000)": "output",
                "import os\nos.abort()": "crash",
            },
        ),
        pytest.param(
            5.0,
            {"x = [0]\nwhile True: x = x * 2": "memory", "raise SystemExit(3)": "crash", "print(1 // 0)": "crash"},
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_limits(seconds, ends):
    limits = Limits(cpu_seconds=seconds, memory_mb=128, output_kb=256)
    reports = judge(list(ends), "python", [Case("", "")], limits)
    for (source, verdict), report in zip(ends.items(), reports, strict=True):
        assert report.results[0].verdict in verdict.split(), source


def test_points_are_earned_by_whole_subtasks():
    cases = [Case("", "", 1), Case("", "", 2), Case("", "", 2), Case("", "", 3)]
    report = Report(True, "", tuple(CaseResult(v, 0, 0) for v in ("ok", "ok", "wrong", "ok")))
    subtasks = grade_subtasks(report, cases, {1: 20, 2: 50, 3: 30})
    assert [(s.number, s.earned, s.passed, s.cases) for s in subtasks] == [(1, 20, 1, 1), (2, 0, 1, 2), (3, 30, 1, 1)]
    assert compute_share(subtasks) == pytest.approx(0.5)
    assert compute_share(()) == 0.0


def test_a_missing_compiler_is_said(monkeypatch):
    monkeypatch.setattr(compiling.shutil, "which", lambda *a, **k: None)
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
    monkeypatch.setattr(compiling, "find_python", lambda: ["/none/python"])
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


HEADER = "int find(int n);\nint ask(int x);\n"
GRADER = """#include "guess.h"
#include <cstdio>
static int n, secret, asked;
int ask(int x) { ++asked; return x < secret ? -1 : x > secret; }
int main() { scanf("%d %d", &n, &secret); int found = find(n); printf("%d %d\\n", found, asked); }
"""
BY_HALVES = """#include "guess.h"
int find(int n) {
    int low = 1, high = n;
    while (low < high) { int middle = (low + high) / 2; if (ask(middle) < 0) low = middle + 1; else high = middle; }
    return low;
}
"""
ONE_BY_ONE = (
    '#include "guess.h"\nint find(int n) { for (int x = 1; x <= n; x++) if (ask(x) == 0) return x; return 0; }\n'
)
CHECKER = """#include <cstdio>
#include <fstream>
int main(int count, char** names) {
    int n, secret, most, found, asked;
    std::ifstream(names[1]) >> n >> secret;
    std::ifstream(names[2]) >> most;
    std::ifstream(names[3]) >> found >> asked;
    if (found != secret) { puts("0"); fputs("another number", stderr); return 0; }
    if (asked <= most) { puts("1.0"); return 0; }
    printf("%f\\n", 0.5);
    fprintf(stderr, "%d questions", asked);
}
"""
GUESS = Harness(HEADER, "guess.h", GRADER, CHECKER)
GUESSES = (Case("100 7\n", "40\n"), Case("1000 900\n", "40\n", 2))


def test_a_grader_calls_a_programs_functions_and_a_checker_gives_shares_of_points():
    sources = [BY_HALVES, ONE_BY_ONE, '#include "guess.h"\nint find(int n) { return 7; }', "int main() {}"]
    halves, one, seven, none = judge(sources, "cpp", GUESSES, Limits(), harness=GUESS)
    assert [r.verdict for r in halves.results] == ["ok", "ok"]
    assert [(r.verdict, r.worth, r.note) for r in one.results] == [("ok", 1.0, ""), ("part", 0.5, "900 questions")]
    assert [r.note for r in seven.results] == ["", "another number"]
    assert not none.compiled and "main" in none.message
    subtasks = grade_subtasks(one, GUESSES, {1: 40, 2: 60})
    assert [s.earned for s in subtasks] == [40, 30] and compute_share(subtasks) == pytest.approx(0.7)


def test_a_checker_of_python_programs_is_written_in_python():
    checker = "import sys\nwanted, printed = (open(name).read().split() for name in sys.argv[2:])\n"
    checker += "print(sum(a == b for a, b in zip(wanted, printed)) / len(wanted))\n"
    cases = [Case("", "1 2 3 4")]
    report, *_ = judge(["print(1, 2, 3, 0)"], "python", cases, Limits(), harness=Harness(checker=checker))
    assert report.results[0].verdict == "part" and grade_subtasks(report, cases, {1: 8})[0].earned == 6


def test_an_output_that_a_checker_cannot_read_is_wrong_and_stops_nothing():
    checker = "import sys\nprint(float(open(sys.argv[3]).read() == open(sys.argv[2]).read()))\n"
    checker += "open(sys.argv[3]).read().split()[0]\n"
    reports = judge(["", "print(5)"], "python", [Case("", "5\n")], Limits(), harness=Harness(checker=checker))
    assert [report.results[0].verdict for report in reports] == ["wrong", "ok"]
    assert reports[0].results[0].note == "The checker could not read what was printed."


@pytest.mark.parametrize(
    ("harness", "reason"),
    [
        (Harness(HEADER, "guess.h", "int main() { return find(1) }"), "grader does not compile"),
        (Harness(checker="int main( {"), "checker does not compile"),
        (Harness(checker="int main() { return 3; }"), "number from 0 to 1. It ended with status 3"),
        (Harness(checker='#include <cstdio>\nint main() { puts("1.5"); }'), "printed '1.5"),
        (Harness(checker='#include <cstdio>\nint main() { puts("nan"); }'), "printed 'nan"),
    ],
)
def test_a_harness_that_does_not_work_is_no_verdict(harness, reason):
    source = BY_HALVES if harness.grader else SUM
    with pytest.raises(HarnessError, match=reason):
        judge([source], "cpp", CASES[:1], Limits(), harness=harness)
