"""A comparison shared out over machines: what reports of elsewhere hold is counted, and not run again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import Client

from tests.webapp import fake_workers
from webapp.comparisons import csv_tables, experiment_results, foreground, report
from webapp.comparisons.arms import parse_arm
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Cell, Plan
from webapp.experiments import loop
from webapp.experiments.models import Candidate, Experiment, ModelCall, Run

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
TABLES = ("summary.csv", "experiments.csv", "rounds.csv")
WORDS = ["compare", "--tasks", "Cartpole", "--methods", "icpl:k=3", "open_loop:k=3", "--budget", "candidates=6"]
WORDS += ["--retrain", "0", "--controls"]


def plan_of(**values: Any) -> Plan:
    arms = (parse_arm("icpl:k=3", 6), parse_arm("open_loop:k=3", 6))
    return Plan(**{"tasks": ("Cartpole",), "arms": arms, "experiments": 2, "candidates": 6, **values})


def finish(plan: Plan, cell: Cell, scale: float) -> Experiment:
    """The cell's experiment to its end, with scores and costs that have many digits; one candidate of three fails."""
    row = plan.experiment(cell)
    loop.start(row)
    fake_workers.do_work(row, failed=(0,) if cell.index else ())
    Candidate.objects.filter(iteration__experiment=row).update(rts=F("rts") * scale)
    for step, request in enumerate(row.requests.filter(kind="Train")):
        Run.objects.create(request=request, seconds=0.1 + step / 3)
        call = {"request": request, "model": "m", "data": {}, "request_hash": "a", "seed": 1}
        ModelCall.objects.create(**call, prompt_tokens=10, completion_tokens=4, cost=scale / 7)
    row.refresh_from_db()
    return row


def finish_all(plan: Plan) -> None:
    for number, cell in enumerate(plan.cells()):
        if plan.experiment(cell).status not in foreground.OVER:
            finish(plan, cell, (1 + cell.index + 10 * plan.seed + number % 2) / 3)


def same_tables(first: Path, second: Path) -> bool:
    return all((first / name).read_bytes() == (second / name).read_bytes() for name in TABLES)


def test_a_report_is_read_back_as_it_was_when_its_data_are_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finish_all(plan_of())
    call_command(*WORDS, "--experiments", "2", "--out", str(tmp_path / "there"))
    Experiment.objects.all().delete()
    capsys.readouterr()
    call_command(*WORDS, "--experiments", "2", "--with", str(tmp_path / "there"), "--out", str(tmp_path / "here"))
    said = capsys.readouterr().out
    assert f"Finished elsewhere: 4 experiments in {tmp_path / 'there'}." in said
    assert "0 of 24 candidates to try" in said and not Experiment.objects.exists()
    assert same_tables(tmp_path / "there", tmp_path / "here")
    assert re.search(r"\.\d{15}", (tmp_path / "here" / "rounds.csv").read_text()), "digits that matter"
    text = (tmp_path / "here" / "report.md").read_text()
    assert "4 of 4 experiments finished" in text and "| ICPL on Cartpole, 2 | 20" in text
    assert text.count(f"| {tmp_path / 'there'} |") == 4

    call_command(*WORDS, "--experiments", "2", "--with", str(tmp_path / "here"), "--out", str(tmp_path / "here"))
    assert same_tables(tmp_path / "there", tmp_path / "here"), "into the folder that it was read from"


def test_halves_make_the_whole(tmp_path: Path, admin_client: Client) -> None:
    whole, first, second = plan_of(), plan_of(experiments=1), plan_of(experiments=1, seed=1)
    finish_all(whole)
    for name, plan in (("whole", whole), ("first", first), ("second", second)):
        report.write_report(plan, tmp_path / name)
    Experiment.objects.exclude(public_id__in=first.public_ids).delete()
    call_command(
        *(*WORDS, "--experiments", "2", "--out", str(tmp_path / "joined")),
        *("--with", str(tmp_path / "second"), "--with", str(tmp_path / "whole")),
    )
    assert same_tables(tmp_path / "joined", tmp_path / "whole")
    text = (tmp_path / "joined" / "report.md").read_text()
    assert text.count(f"| {tmp_path / 'second'} |") == 2 and f"| {tmp_path / 'whole'} |" not in text
    row = Comparison.objects.get(by_command=True)
    assert row.status == "finished" and len(row.finished_elsewhere) == 4
    report.write_report(whole, tmp_path / "half", csv_tables.read_reports(whole, [tmp_path / "second"]))
    kept = csv_tables.select_rows(csv_tables.read_tables(tmp_path / "half"), second.public_ids)
    assert {*csv_tables.parse_report(whole, kept, "")} == {*second.public_ids}, "not what is finished here"
    assert "4 of 4" in admin_client.get(f"/bench/comparisons/{row.public_id}/").text


def test_what_is_finished_here_is_taken_from_here_and_what_is_not_from_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(experiments=1)
    finish_all(plan)
    report.write_report(plan, tmp_path / "there")
    there = csv_tables.read_reports(plan, [tmp_path / "there"])
    Experiment.objects.all().delete()
    icpl, loose = plan.cells()
    finish(plan, icpl, 5.0)
    loop.start(plan.experiment(loose))
    mine, theirs = experiment_results.read_results(plan, there)
    assert (mine.ts, mine.folder) == (22.0 * 5, "") and theirs == there[plan.public_id(loose)]
    assert theirs.finished and not experiment_results.read_results(plan)[1].finished
    call_command(*WORDS, "--experiments", "1", "--with", str(tmp_path / "there"), "--plan")
    said = capsys.readouterr().out
    assert "Finished elsewhere: 1 experiments" in said
    assert "Begun here, finished there: OpenLoop on Cartpole, 1 of 1. That one counts." in said
    assert "ICPL on Cartpole, 1 of 1" not in said


def test_what_is_left_is_what_neither_has(tmp_path: Path) -> None:
    half = plan_of(experiments=1)
    finish_all(half)
    report.write_report(half, tmp_path)
    Experiment.objects.all().delete()
    plan = plan_of()
    there = csv_tables.read_reports(plan, [tmp_path])
    now = foreground.read_state(plan, there)
    assert (now.finished, now.experiments, now.candidates, now.budget) == (2, 4, 12, 24)
    assert now.seconds_left is None and foreground.read_state(half, there).seconds_left == 0
    assert list(foreground.run_experiments(half, lambda *said: None, there)) == [] and not Experiment.objects.exists()


def test_unfinished_experiments_of_a_report_are_to_be_run(tmp_path: Path) -> None:
    plan = plan_of(experiments=1)
    row = plan.experiment(next(plan.cells()))
    loop.start(row)
    report.write_report(plan, tmp_path)
    assert csv_tables.read_reports(plan, [tmp_path]) == {} and foreground.read_state(plan, {}).finished == 0


def without_column(name: str) -> Any:
    def change(text: str) -> str:
        at = text.splitlines()[0].split(",").index(name)
        return "".join(",".join(c for n, c in enumerate(r.split(",")) if n != at) + "\r\n" for r in text.splitlines())

    return change


def test_a_report_from_before_seconds_on_a_gpu_were_known_is_read(tmp_path: Path) -> None:
    plan = plan_of(experiments=1)
    finish_all(plan)
    report.write_report(plan, tmp_path)
    path = tmp_path / "experiments.csv"
    lines = path.read_bytes().decode().splitlines()  # it is the last column
    path.write_bytes("".join(f"{line.rpartition(',')[0]}\r\n" for line in lines).encode())
    found = csv_tables.read_reports(plan, [tmp_path])
    assert len(found) == 2 and {result.gpu_seconds for result in found.values()} == {None}


WRONG: list[tuple[str, Any, str]] = [
    ("experiments.csv", None, "No such file"),
    ("rounds.csv", None, "No such file"),
    ("experiments.csv", without_column("queries"), "experiments.csv has no queries"),
    ("rounds.csv", without_column("public_id"), "rounds.csv has no public_id"),
    ("experiments.csv", lambda text: text[:-3], "experiments.csv breaks off"),
    ("experiments.csv", lambda text: text[: text.rindex(",", 0, -60)], "experiments.csv breaks off"),
    ("experiments.csv", lambda text: text[: text.rindex("Cartpole")], "that experiments.csv lacks"),
    ("rounds.csv", lambda text: text[: text.rindex("Cartpole")], "rounds.csv has 1 of the 2 rounds of"),
    ("rounds.csv", lambda text: text.replace(",12.0,", ",twelve,", 1), "twelve"),
    ("experiments.csv", lambda text: "", "experiments.csv has no task, method"),
]
"""A table, what happens to it, and what is said of it."""


def test_a_folder_that_is_not_whole_is_refused_before_anything_runs(tmp_path: Path) -> None:
    plan = plan_of(experiments=1)
    for cell in plan.cells():
        finish(plan, cell, 1.0)
    report.write_report(plan, tmp_path)
    Experiment.objects.all().delete()
    for name, change, words in WRONG:
        path = tmp_path / name
        whole = path.read_bytes()
        path.unlink()
        if change:
            assert change(whole.decode()) != whole.decode()
            path.write_bytes(change(whole.decode()).encode())
        with pytest.raises(CommandError, match=re.escape(words)) as refused:
            call_command(*WORDS, "--experiments", "2", "--with", str(tmp_path))
        assert str(refused.value).startswith(f"--with {tmp_path}: ") and not Experiment.objects.exists()
        path.write_bytes(whole)


def test_a_report_of_something_else_is_refused(tmp_path: Path) -> None:
    other = plan_of(experiments=1, label="other")
    finish_all(other)
    report.write_report(other, tmp_path)
    with pytest.raises(CommandError, match="none of this comparison's experiments"):
        call_command(*WORDS, "--experiments", "1", "--with", str(tmp_path))
