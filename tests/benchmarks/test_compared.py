"""The programs that print the tables of docs/benchmarks.md from files in the repository."""

import re
from pathlib import Path

import pytest

from benchmarks import (
    compared,
    competence,
    learning,
    prior,
    seeds,
    shared_experience,
    sheets,
    stepping,
    successes,
    variants,
)
from benchmarks.kept import KEPT, read_records, read_table, write_records
from benchmarks.peers.bpref import compare, reward_models
from simulation import catalog

ROOT = Path(__file__).parents[2]
KEPT_BY = {
    compare: (compare.Run, "bpref-returns.csv", 0),
    reward_models: (reward_models.Fit, "bpref-reward-models.csv", 0),
    prior: (prior.Run, "prior.csv", 0),
    variants: (variants.Run, "variants.csv", 0),
    sheets: (sheets.Row, "sheets.csv", 12),
    competence: (competence.Run, "competence.csv", 1),
}
"""What prints tables, with what from which file, and how many lines the page leaves out."""
PAGE = re.sub(r"\s+", " ", (ROOT / "docs" / "benchmarks.md").read_text())


@pytest.mark.parametrize("name", compared.USUAL)
def test_the_documented_comparisons_are_those_of_the_kept_reports(name):
    said = compared.describe(KEPT / name)
    last = said.splitlines()[-1].partition(": ")[2].rstrip(".")
    assert last in PAGE, "methods with feedback less OpenLoop"
    if name != "cartpole":
        rows = [line for line in said.splitlines() if line.startswith("| ") and line.count("|") == 8]
        assert len(rows) == 9 and all(re.sub(r"\s+", " ", row) in PAGE for row in rows)


def test_cartpole_tells_no_methods_apart_from_the_first_round_on():
    _, methods = compared.read_methods(KEPT / "cartpole")
    firsts = [bests[0] for one in methods for bests in one.rounds.values()]
    assert f"all {len(firsts)} reach 499 in their first round" in PAGE and set(firsts) == {499.0}


def test_the_documented_successes_are_those_of_their_file():
    rows = read_table(KEPT / "successes.csv")
    lines = (ROOT / "docs" / "benchmarks.md").read_text().splitlines()
    for row in rows:
        said = successes.format_share(int(row["successes"]), int(row["episodes"]))
        shown = [line for line in lines if line.startswith(f"| {row['task']} |") and f"{int(row['samples']):,}" in line]
        said = said if row["seed"] == "0" else f"with mean actions {said[:-1]}, {row['episodes']} episodes)"
        if row["task"] != "HumanoidPush":
            assert any(said in line for line in shown), row
    pushed = [row for row in rows if row["task"] == "HumanoidPush"]
    assert all(successes.format_share(int(row["successes"]), int(row["episodes"])) in PAGE for row in pushed)


@pytest.mark.parametrize("name", ["learning-ant", "learning-ant-200"])
def test_the_documented_differences_are_those_of_the_kept_rounds(name):
    trials = learning.read_trials(KEPT / f"{name}.csv")
    assert learning.describe_differences(trials).partition(": ")[2].rstrip(".") in PAGE


def test_the_documented_differences_of_few_seeds_are_those_of_their_file():
    found = seeds.read(KEPT / "seeds.csv")
    rows = [line for name, runs in found.items() for line in seeds.render(name, runs).splitlines() if "|" in line]
    gaps = {row.split("|")[-2].strip() for row in rows} - {"", "---", "less the first"}
    assert len(gaps) == 3 and all(gap in PAGE for gap in gaps)


@pytest.mark.parametrize("program", KEPT_BY, ids=lambda program: program.__name__)
def test_the_documented_tables_are_those_of_their_file(program, tmp_path):
    kind, file, left_out = KEPT_BY[program]
    records = read_records(KEPT / file, kind)
    lines = [line for line in program.render(records).splitlines() if line and not line.startswith(("#", "|--"))]
    assert len([line for line in lines if re.sub(r"\s+", " ", line) not in PAGE]) == left_out
    write_records(tmp_path / file, records)
    assert read_records(tmp_path / file, kind) == records


def test_the_documented_curves_of_shared_experience_are_those_of_their_file(tmp_path):
    runs = shared_experience.read(KEPT / "shared-experience.csv")
    rows = [line for line in shared_experience.render(runs).splitlines() if line.startswith("| ")]
    assert len(rows) == 16 and all(re.sub(r"\s+", " ", row) in PAGE for row in rows)
    shared_experience.write(tmp_path / "again.csv", runs)
    assert shared_experience.read(tmp_path / "again.csv") == runs


def test_the_documented_speeds_of_all_tasks_are_those_of_their_file(tmp_path):
    found = read_records(KEPT / "stepping.csv", stepping.Row)
    assert {row.task for row in found} == set(catalog.list_tasks()) and len(found) == 38
    assert stepping.render(found) in (ROOT / "docs" / "performance.md").read_text()
    write_records(tmp_path / "again.csv", found)
    assert read_records(tmp_path / "again.csv", stepping.Row) == found


def test_a_difference_pairs_what_has_one_number():
    assert compared.subtract({0: 3.0, 1: 5.0, 2: 9.0}, {0: 1.0, 1: 1.0}) == "3 (-9.71 to 15.7)", "Student, 1 degree"
    assert compared.spread([2.0]) == "2" and compared.spread([2.0, 2.0]) == "2" and compared.spread([]) == "-"


def test_rounds_are_read_as_they_were_saved(tmp_path):
    trials = learning.read_trials(KEPT / "learning-ant.csv")
    learning.save_trials(tmp_path / "again.csv", trials)
    again = learning.read_trials(tmp_path / "again.csv")
    assert [(t.method, t.seed, t.best, t.mean) for t in again] == [(t.method, t.seed, t.best, t.mean) for t in trials]
    assert len(trials) == 6 and trials[0].best[0] == 3.14
