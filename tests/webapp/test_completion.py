"""The script by which shells complete ./prefine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import command as benchmark
from llm import replay
from trainer.commands import check, train
from webapp import completion
from webapp.comparisons.management.commands import align, compare
from webapp.experiments.management.commands import run_experiment
from webapp.management.commands import copy_store, restore, worker

ROOT = Path(__file__).resolve().parents[2]
VERBS = ["up", "run", "compare", "train", "check", "completion"]


def complete(*words: str) -> list[str]:
    """What bash offers for the last of these words."""
    line = " ".join(f"'{word}'" for word in ("./prefine", *words))
    asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _prefine prefine '{words[-1]}' ''; echo ${{COMPREPLY[@]}}"
    script = completion.write_script("bash", VERBS) + asked
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["c"], ["compare", "check", "completion"]),
        (["train", "--ta"], ["--task"]),
        (["train", "--task", "cart"], ["Cartpole"]),
        (["train", "--task", "Cartpole", "--al"], ["--algorithm"]),
        (["train", "--task", "Cartpole", "--algorithm", ""], ["ppo", "sac"]),
        (["train", "--reward", ""], []),
        (["train", "--reward", "mine.p"], []),
        (["check", "--task", "Ant", "mine.p"], []),
        (["compare", "--tasks", "Ant", "ball"], ["BallBalance"]),
        (["compare", "--methods", "icpl", "rf"], ["rf_agent", "rf_agent_judged"]),
        (["compare", "--methods", "icpl", "--ju"], ["--judge", "--judge-option", "--judge-model"]),
        (["run", "--judge", ""], ["proxy", "model"]),
        (["completion", ""], ["bash", "zsh"]),
        (["worker", "tr"], ["train"]),
        (["dance", ""], []),
    ],
)
def test_bash_offers_what_may_follow(words, offered):
    assert complete(*words) == offered


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_its_script():
    script = completion.write_script("zsh", VERBS)
    asked = "_prefine_find_names ca train --task; print -r -- $names"
    done = subprocess.run(["zsh", "-fc", script + asked], capture_output=True, text=True, check=True)
    assert "Cartpole" in done.stdout and not done.stderr


def test_the_last_line_installs_it():
    last = completion.write_script("zsh", VERBS).splitlines()[-1]
    assert last == f"""# Install it with: echo 'eval "$({ROOT}/prefine completion zsh)"' >> ~/.zshrc"""


def help_of(verb, capsys, monkeypatch):
    """The usage of a verb, from its program or, where it is one of bash's, from the launcher."""
    commands = {"run": run_experiment, "compare": compare, "align": align, "worker": worker, "restore": restore}
    commands["copy-store"] = copy_store
    if verb in commands:
        return commands[verb].Command().create_parser("prefine", verb).format_usage()
    if verb not in ("train", "learn", "check", "check-task", "replay", "evaluate", "benchmark"):
        return re.search(rf"usage: ./prefine {verb}\b.*", (ROOT / "prefine").read_text())[0]
    monkeypatch.setattr(sys, "argv", [verb, "--help"])
    if verb == "benchmark":
        benchmark.main()
    else:
        program = {"train": train, "check": check, "replay": replay}.get(verb)
        with pytest.raises(SystemExit):
            (program or import_module(f"trainer.commands.{verb.replace('-', '_')}")).main(["--help"])
    return capsys.readouterr().out.split("\n\n")[0]


@pytest.mark.parametrize("verb", [verb for verb in completion.OPTIONS if verb != "completion"])
def test_the_options_are_those_of_the_verb(verb, capsys, monkeypatch):
    found = set(re.findall(r"--[a-z][a-z-]*", help_of(verb, capsys, monkeypatch))) - {"--help", "--skip-checks"}
    assert {word for word in completion.OPTIONS[verb].split() if word.startswith("-")} == found


def test_it_imports_nothing_slow():
    program = "import sys, webapp.completion; print({'django', 'mujoco', 'numpy', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
