"""Sets of problems as YAML: what is refused, what of them is kept."""

import itertools
from pathlib import Path

import pytest
import yaml
from django.db import connection

from tests.webapp.problem_rows import SET, files, stored
from webapp.archive import unpack
from webapp.base import zips
from webapp.problems import missing_files, problem_sets
from webapp.problems.models import ATTACHMENT_TYPES, Attachment, Problem

pytestmark = pytest.mark.django_db
PROGRAM = "format: 1\nproblems: [{name: a, title: t, statement: s, form: program"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format: 2\nproblems: []", "format: 1"),
        ("- 1", "not a mapping"),
        ("a: [", "cannot be read"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("format: 1\nproblems: [{name: Bad Name, title: t, statement: s}]", "Small letters"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, secret: 1}]", "unknown fields secret"),
        ("format: 1\nproblems: [{name: ant, title: t, statement: s}]", "robot's task has this name"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, attachments: [{file: no.png}]}]", "'no.png' is not"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, form: novel}]", "form"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, subtasks: [{number: x}]}]", "number"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, tolerance: .nan}]", "tolerance: .* finite"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, cpu_seconds: .nan}]", "cpu_seconds: .* finite"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, memory_mb: .inf}]", "infinity"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, subtasks: [{points: .nan}]}]", "points: .* finite"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, subtasks: [{points: .inf}]}]", "points: .* finite"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, subtasks: [{cases: [{stdin: 007}]}]}]", "quotes"),
        (f"{PROGRAM}, header: int f();}}]", "belong together"),
        (f"{PROGRAM}, header: h, header_name: f.h, grader: g, language: python}}]", "Only C[+][+] programs"),
        (f"{PROGRAM}, header: h, header_name: ../f.h, grader: g}}]", "A name such as guess.h"),
        ("format: 1\nproblems: [{name: a, title: t, statement: s, checker: c}]", "Only programs have one"),
        (f"{PROGRAM}, grader_file: no.cpp}}]", "'no.cpp' is not there"),
        (f"{PROGRAM}, subtasks: [{{cases_in: cases}}]}}]", "no file in it ends in .in"),
        ("a: 2026-13-40", "cannot be read"),
        ("!!python/object/apply:os.system ['true']", "cannot be read"),
    ],
)
def test_a_bad_set_is_refused_whole_and_says_why(text, said):
    with pytest.raises(problem_sets.BadSet, match=said):
        problem_sets.import_set(files(text))
    assert not Problem.objects.exists()


def test_empty_fields_are_empty_texts():
    problem_sets.import_set(files("format: 1\nproblems: [{name: a, title: t, statement: s, reference: , answer: }]"))
    text = "format: 1\nproblems: [{name: b, title: t, statement: s, subtasks: [{cases: [{stdin: , expected: ''}]}]}]"
    (problem,) = problem_sets.import_set(files(text))
    assert [(case.stdin, case.expected) for case in problem.test_cases()] == [("", "")]


def test_a_set_that_is_refused_leaves_no_file_behind():
    bad = SET + "  - {name: Bad Name, title: t, statement: s}\n"
    with pytest.raises(problem_sets.BadSet, match="Small letters"):
        problem_sets.import_set(files(bad))
    assert stored() == []


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(problem_sets, "MOST_BYTES", 1000)
    with pytest.raises(problem_sets.BadSet, match="more than"):
        problem_sets.read_bytes("set.zip", zips.pack({"problems.yaml": b"0" * 2000}))
    with pytest.raises(problem_sets.BadSet, match="no readable ZIP"):
        problem_sets.read_bytes("set.zip", b"PK nothing")
    damaged = bytearray(zips.pack({"problems.yaml": bytes(range(256))}))
    damaged[44:60] = bytes(16 * [255])
    with pytest.raises(problem_sets.BadSet, match="no readable ZIP"):
        problem_sets.read_bytes("set.zip", bytes(damaged))


def test_a_set_from_windows_is_kept_with_ends_of_lines_as_everywhere():
    problem_sets.import_set({**files(), "tests/2.in": b"10\r\n20\r\n"})
    with connection.cursor() as cursor:
        cursor.execute("SELECT stdin FROM problems_testcase WHERE subtask = 2")
        assert cursor.fetchone() == ("10\n20\n",)


def test_the_example_set_is_imported_and_its_program_cases_are_right():
    folder = Path(__file__).parents[2] / "examples" / "problems"
    assert len(problem_sets.import_set(problem_sets.read_path(folder))) == 5
    (guess,) = [
        entry
        for entry in yaml.safe_load(problem_sets.export_set(Problem.objects.all())["problems.yaml"])["problems"]
        if entry["name"] == "hidden-number"
    ]
    assert guess["header_name"] == "guess.h" and "int main()" in guess["grader"] and "argv" not in guess["header"]
    assert [case["expected"] for case in guess["subtasks"][1]["cases"]] == ["20\n", "20\n"]
    with pytest.raises(problem_sets.BadSet, match="send a .zip"):
        missing_files.list_missing({"problems.yaml": (folder / "problems.yaml").read_bytes()})
    grader = f"{PROGRAM}, grader_file: g.cpp}}]"
    assert missing_files.list_missing(files(grader)) == ["g.cpp"]
    plateau = Problem.objects.get(name="longest-plateau")
    for case in plateau.test_cases():
        numbers = [int(x) for x in case.stdin.split()[1:]]
        runs = [(value, len(list(group))) for value, group in itertools.groupby(numbers)]
        best = max(min(length + 1, len(numbers)) for _, length in runs)
        joined = [
            a + 1 + c for (x, a), (_, b), (y, c) in zip(runs, runs[1:], runs[2:], strict=False) if b == 1 and x == y
        ]
        assert int(case.expected) == max([best, *joined])


@pytest.mark.parametrize("name", ["a.svg", "a.html", "a.exe", "a", "a.png.js"])
def test_files_that_a_browser_might_run_are_refused(name):
    text = f"format: 1\nproblems: [{{name: a, title: t, statement: s, attachments: [{{file: {name}}}]}}]"
    with pytest.raises(problem_sets.BadSet, match="cannot be taken"):
        problem_sets.import_set({"problems.yaml": text.encode(), name: b"<script>"})
    assert not Attachment.objects.exists()


def test_exports_take_what_problems_take():
    assert set(ATTACHMENT_TYPES) == set(unpack.MAGIC) - {".mp4"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &a [1]\nb: *a", "aliases"),
        ("[" * 5000, "nested"),
        ("- " * 5000, "nested"),
        ("format: 1\nproblems: [" + "{a: [1, 2]}, " * 60_000 + "]", "more than 100,000 values"),  # it took 40 s
        ("x" * (problem_sets.MOST_YAML + 1), "more than 4 MB"),
    ],
)
def test_yaml_that_is_small_and_becomes_large_is_refused(text, reason):
    with pytest.raises(problem_sets.BadSet, match=reason):
        problem_sets.import_set({"problems.yaml": text.encode()})
