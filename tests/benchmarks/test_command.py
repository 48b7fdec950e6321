"""`./prefine benchmark`: what it writes, what it says of wrong names, and what competence keeps and reads."""

import itertools
import re
import sys
from dataclasses import replace

import pytest

from benchmarks import command, competence
from benchmarks.kept import read_records, write_records
from benchmarks.peers import list_absent
from benchmarks.published import references
from simulation import catalog
from trainer.records import TrainJob

pytestmark = pytest.mark.slow


def test_a_program_gets_its_tasks_in_its_own_way():
    assert [c[3:] for c in command.commands("stepping", ["Ant", "Cartpole"], [])] == [
        ["benchmarks.stepping", "--tasks", "Ant", "Cartpole"]
    ]
    assert [c[4:] for c in command.commands("bridge", ["Ant", "Cartpole"], [])] == [
        ["--task", "Ant"],
        ["--task", "Cartpole"],
    ]
    assert [c[4:] for c in command.commands("startup", ["Ant"], ["--starts", "1"])] == [["--starts", "1"]]


def test_every_program_is_found_and_the_tables_name_programs():
    assert {*command.USUAL, *command.TASKWISE} <= set(command.names())
    assert not command.HELPERS & set(command.names())
    without = [name for name in command.names() if "__main__" not in command.find_source(name).read_text()]
    assert [name for name in without if command.find_source(name).name != "__main__.py"] == []


def test_a_section_has_what_was_printed_and_a_failure_its_reason(capsys):
    text, fine = command.section([sys.executable, "-c", "print('| 1 |')"], "stepping")
    assert fine and "| 1 |" in text and "## stepping" in text and "How fast worlds step" in text
    assert "| 1 |" in capsys.readouterr().out
    text, fine = command.section([sys.executable, "-c", "print('half'); raise SystemExit(3)"], "stepping")
    assert not fine and "stepping failed with status 3" in text and "half" in text


def test_it_says_how_long_a_program_took_last_time(monkeypatch, tmp_path, capsys):
    quick = [sys.executable, "-c", "", "x", "--tasks", "Ant"]
    monkeypatch.setattr(command, "commands", lambda name, tasks, rest: [quick])
    for name in ("first", "second"):
        assert command.run_benchmarks(["stepping"], [], [], tmp_path / f"{name}.md") == 0
    first, second = capsys.readouterr().out.split("Written to")[:2]
    assert "1 of 1" in first and "not known here yet" in first and "last time" in second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stepings"], "unknown benchmark 'stepings'. Did you mean stepping?"),
        (["filming", "--tasks", "Atn"], "unknown task 'Atn'"),
    ],
)
def test_wrong_names_are_named(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(sys, "argv", ["benchmark", *arguments])
    assert command.main() == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "options"), [(["--help"], ["--tasks", "--out"]), (["lockstep", "--help"], ["--tasks", "--whole"])]
)
def test_help_is_the_commands_or_one_programs(monkeypatch, capfd, arguments, options):
    monkeypatch.setattr(sys, "argv", ["benchmark", *arguments])
    assert command.main() == 0
    said = capfd.readouterr().out
    assert all(option in said for option in options) and "## lockstep" not in said


def test_printed_scores_come_from_the_papers_table():
    assert references("Ant")["Human"] == "6.75 +- 0.30 (RF-Agent, table 1)"
    assert references("AntLieDown") == {"Sparse": "0.12 +- 0.03 (RF-Agent, table 6)"}
    assert references("Cartpole") == {}


def test_a_row_shows_seeds_failures_old_settings_and_what_was_printed(tmp_path):
    settings = competence.name_settings("Ant", "quick", "human")
    fine = competence.Run("Ant", "quick", "human", settings, 0, 1000, 3.0, 2.0, 4.0, 900.0, 20.0)
    failed = replace(fine, seed=1, rts=None, last=None, evaluated=None, length=None, failure="it diverged")
    older = replace(fine, seed=2, settings="1.0ld0ne", evaluated=5.0, processor=None)
    runs = [fine, failed, older]
    write_records(tmp_path / "kept.csv", runs)
    assert read_records(tmp_path / "kept.csv", competence.Run) == runs
    row = next(line for line in competence.render(runs).splitlines() if line.startswith("| Ant, "))
    assert "| 1,000 | 4, it diverged, 5* | 4.5 (-1.85 to 10.9) |  |  | 6.75" in row and row.endswith("| 20 |")
    assert re.search(r"\| 60, 8 \| \d\d,\d{3} \| 0\.\d\d \| 1,000 \|", row), "how fast the task steps, as it is kept"
    assert "HumanoidJump" in competence.render(runs).splitlines()[-1]


def test_other_rewards_and_presets_are_other_settings():
    names = {
        competence.name_settings(*key) for key in itertools.product(["Ant", "PushCube"], ["quick"], ["human", "sparse"])
    }
    assert len(names | {competence.name_settings("Ant", "long", "human")}) == 5
    assert competence.make_job("Ant", "sparse", "quick", [0]).by_metric, "Ant has no sparse reward of its own"
    assert not competence.make_job("PushCube", "sparse", "quick", [0]).by_metric


def test_a_changed_preset_or_seed_is_another_run(tmp_path):
    job = TrainJob("Ant", (catalog.read_reference_reward("Ant"),) * 2, seeds=(0, 1), film_at=(100,))
    folders = {
        competence.folder_of(changed, tmp_path)
        for changed in (job, replace(job, seeds=(0, 2)), replace(job, overrides={"iterations": 3}), replace(job))
    }
    assert len(folders) == 3


def test_a_figure_is_known_by_what_its_task_shares_too():
    files = {task: {file.name for file in competence.list_files(task)} for task in ("PokeCube", "Ant")}
    assert {"panda.xml", "tabletop.xml", "tabletop.py", "tabletop_info.py", "model.xml"} <= files["PokeCube"]
    assert {"legged.py", "common.xml", "model.xml"} <= files["Ant"] and "panda.xml" not in files["Ant"]
    folders = {file.parent.name for file in competence.list_files("PullCube")}
    assert folders == {"pull_cube", "push_cube", "robots", "tasks"}


def test_absent_peers_are_said():
    assert list_absent("Anymal", "gymnasium_that_is_not_there") == ["gymnasium_that_is_not_there is not installed."]
    assert list_absent("Anymal", "json") == ["json has no task like Anymal."]
    assert list_absent("Ant", "json") == []
