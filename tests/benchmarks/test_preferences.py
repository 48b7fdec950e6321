"""The table of policies that learn from answers: what is run, with which settings, and how it is told."""

import argparse
from dataclasses import replace

from benchmarks.kept import KEPT
from benchmarks.preferences import (
    ICPL,
    Part,
    Policy,
    Row,
    choose_preset,
    find_kept,
    folder_of,
    list_parts,
    make_job,
    mark_outdated,
    name_settings,
    read_rows,
    read_tables,
    save_rows,
    table,
)
from simulation import catalog
from trainer.records import CandidateResult, TrainResult, resolve_preset, write_json

ROWS = [
    Row(ICPL, 49, "metric", {0: Policy(3.0), 1: Policy(4.0)}),
    Row("PEBBLE", 49, "metric", {0: Policy(1.0, 2.0, 0.5), 1: Policy(2.0, 2.0), 2: Policy(3.0, 2.0)}),
    Row("SAC", None, "human reward", {0: Policy(4.0)}),
]


def make_options(**changed):
    usual = {"queries": [49, 150], "seeds": [0, 1, 2], "iterations": None, "segment": 50}
    return argparse.Namespace(**usual | changed)


def test_references_come_first_for_each_algorithm_and_every_truth_is_a_job():
    parts = list_parts("Cartpole", ["prefppo", "pebble"], ("reward", "metric"))
    assert [part.source for part in parts[:4]] == ["human reward", "sparse reward"] * 2
    assert parts[4:] == [Part(name, truth) for name in ("prefppo", "pebble") for truth in ("reward", "metric")]


def test_a_part_is_all_seeds_for_each_number_of_queries():
    job = make_job("Cartpole", Part("pebble", "metric"), make_options())
    assert job.preset == "quick-sac" and job.seeds == (0, 1, 2, 0, 1, 2)
    assert [one.budget for one in job.preferences] == [49, 49, 49, 150, 150, 150]
    assert {one.truth for one in job.preferences} == {"metric"}


def test_references_learn_from_the_reward_or_from_the_metric_alone():
    sparse = make_job("Cartpole", Part("ppo", "sparse reward"), make_options())
    assert sparse.by_metric and not sparse.preferences and sparse.seeds == (0, 1, 2)
    assert not make_job("Cartpole", Part("ppo", "human reward"), make_options()).by_metric


def test_without_quick_settings_of_sac_cartpoles_train_for_the_samples_of_quick():
    name, changed = choose_preset("Ant", "sac", None)
    assert name == "paper-sac" and changed["worlds"] == 32
    job = make_job("Ant", Part("pebble", "reward"), make_options())
    assert resolve_preset(job).samples == catalog.get_preset("Ant", "quick").samples
    assert choose_preset("Ant", "sac", 7)[1]["iterations"] == 7


def test_a_row_has_means_with_intervals_and_says_how_many_seeds_there_are():
    lines = table(ROWS, 3).splitlines()
    assert lines[2] == f"| {ICPL} | metric | 49 | 2 of 3 | 3.5 (-2.853 to 9.853) |  |  |  |"
    assert lines[3] == "| PEBBLE | metric | 49 | 3 | 2 (-0.4841 to 4.484) | -2 | 2 | 0.5 |"
    assert lines[4].startswith("| SAC | human reward |  | 1 of 3 | 4 | 1 |")


def test_a_file_keeps_every_policy_and_what_it_had_of_others(tmp_path):
    path = tmp_path / "kept.csv"
    save_rows(path, "Ant", ROWS[2:])
    save_rows(path, "Cartpole", ROWS[1:])
    save_rows(path, "Cartpole", ROWS[:2])
    found = read_tables(path)
    assert found == {"Ant": ROWS[2:], "Cartpole": [ROWS[2], *ROWS[:2]]}


def test_seeds_are_kept_one_by_one_but_not_those_of_other_settings(tmp_path):
    path = tmp_path / "kept.csv"
    first, second = (Row("PEBBLE", 49, "metric", {seed: Policy(1.0 + seed)}, "1.abc") for seed in (0, 1))
    save_rows(path, "Ant", [first])
    save_rows(path, "Ant", [second])
    assert read_tables(path)["Ant"] == [replace(first, policies={0: Policy(1.0), 1: Policy(2.0)})]
    today = replace(second, settings="2.def")
    save_rows(path, "Ant", [today])
    assert read_tables(path)["Ant"] == [today]


def test_rows_are_read_by_number_of_queries_and_those_that_failed_are_left_out(tmp_path):
    options, part = make_options(data=str(tmp_path), seeds=[0, 1]), Part("prefppo", "reward")
    assert [*read_rows("Cartpole", part, options)] == []
    candidates = [
        CandidateResult(index, ok=index != 3, rts=10.0 * index, evaluation={"score": index + 0.5}) for index in range(4)
    ]
    folder = folder_of("Cartpole", part, options)
    folder.mkdir()
    write_json(folder / "result.json", TrainResult(tuple(candidates)))
    first, second = read_rows("Cartpole", part, options)
    assert (first.queries, first.policies) == (49, {0: Policy(0.0, 0.5), 1: Policy(10.0, 1.5)})
    assert (second.queries, second.policies) == (150, {0: Policy(20.0, 2.5)})


def test_what_the_file_has_with_todays_settings_and_all_seeds_is_not_trained_again(tmp_path):
    options, part = make_options(save=tmp_path / "kept.csv"), Part("prefppo", "reward")
    policies = {seed: Policy(1.0) for seed in range(3)}
    row = Row("PrefPPO (B-Pref, 2021)", 49, "reward", policies, name_settings("Cartpole", part, 49, options))
    few = replace(row, queries=150, policies={0: Policy(1.0)}, settings=name_settings("Cartpole", part, 150, options))
    old = replace(row, queries=1500, settings="1.000000")
    save_rows(options.save, "Cartpole", [row, few, old])
    assert find_kept("Cartpole", part, make_options(save=options.save, queries=[49, 150, 1500])) == [row]
    assert find_kept("Ant", part, options) == []
    assert [one.outdated for one in mark_outdated("Cartpole", [row, old, ROWS[0]], options)] == [False, True, False]
    assert "| PrefPPO (B-Pref, 2021)* |" in table([replace(row, outdated=True)], 3)


def test_the_settings_are_those_of_a_row_and_no_seed_changes_them():
    part = Part("pebble", "metric")
    found = [
        name_settings("Cartpole", part, 49, make_options()),
        name_settings("Cartpole", part, 49, make_options(queries=[150], seeds=[7])),
        name_settings("Cartpole", part, 150, make_options()),
        name_settings("Cartpole", part, 49, make_options(segment=25)),
        name_settings("Cartpole", part, 49, make_options(iterations=9)),
        name_settings("Cartpole", Part("surf", "metric"), 49, make_options()),
    ]
    assert found[0] == found[1] and len(set(found)) == 5


def test_the_documented_tables_are_those_of_their_file():
    page = (KEPT.parent / "benchmarks.md").read_text()
    tables = read_tables(KEPT / "preferences.csv")
    assert [*tables] == ["Cartpole", "Ant", "Quadcopter", "Humanoid"]
    for task, rows in tables.items():
        assert table(mark_outdated(task, rows, make_options()), 3) in page
