"""Names as people type them."""

import pytest

from simulation import catalog
from simulation.names import find_name, match_name, suggest_name
from trainer.commands import check, train


@pytest.mark.parametrize("text", ["rf_agent", "RF-Agent", "rf agent", "RFAgent"])
def test_a_name_is_found_in_any_case_and_however_its_words_are_joined(text):
    assert find_name("method", text, ["icpl", "rf_agent"]) == "rf_agent"


def test_names_that_differ_by_case_alone_are_told_apart():
    assert match_name("a_b", ["a_b", "A-B"]) == "a_b"
    assert match_name("AB", ["a_b", "A-B"]) is None


def test_an_unknown_name_gets_the_nearest_or_the_known_ones():
    with pytest.raises(ValueError, match=r"^unknown preset 'qick' of Ant\. Did you mean quick\?$"):
        find_name("preset", "qick", ["quick", "paper"], "Ant")
    with pytest.raises(ValueError, match=r"^unknown preset 'fast' of Ant; known: quick, paper$"):
        find_name("preset", "fast", ["quick", "paper"], "Ant")
    assert suggest_name("magic", ["icpl", "rf_agent"]) == ""


def test_a_preset_follows_the_algorithm():
    assert catalog.find_preset_name("Cartpole", "Quick", "ppo") == "quick"
    assert catalog.find_preset_name("Cartpole", "QUICK", "sac") == "quick-sac"
    assert catalog.find_preset_name("Cartpole", "quick_SAC", "sac") == "quick-sac"


def test_train_takes_names_in_any_case(tmp_path):
    reward = tmp_path / "reward.py"
    reward.write_text("one")
    typed = ["--task", "cartpole", "--preset", "Quick", "--algorithm", "SAC", "--reward", str(reward)]
    job = train._make_job(train._parse_options(typed))
    assert (job.task, job.preset) == ("Cartpole", "quick-sac")


@pytest.mark.parametrize("command", [check, train])
def test_help_lists_tasks_with_their_presets(command, capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["Cartpole", *", ".join(catalog.get_task("Cartpole").presets).split()] in lines
