"""The launcher, as a shell sees it: what it says when something is missing, and that its verbs reach their programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VERBS = ["up", "test", "run", "compare", "train", "evaluate", "check", "replay", "bench", "install"]


def launch(*arguments, folder=ROOT, **environment):
    """Run ./prefine; its exit status, output and errors."""
    return subprocess.run(
        [str(folder / "prefine"), *arguments],
        cwd="/",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def bare(tmp_path):
    """A checkout without a virtual environment, and a PATH on which every Python is too old."""
    shutil.copy(ROOT / "prefine", tmp_path / "prefine")
    for name in ("requirements.txt", "requirements-torch.txt", "requirements-test.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "dirname", "cat", "cksum", "cut", "df", "awk", "env"):
        (tools / tool).symlink_to(shutil.which(tool))
    old = tools / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    return tmp_path


def test_help_needs_nothing_installed(bare):
    said = launch("--help", folder=bare, PATH=str(bare / "bin"), PREFINE_VENV=str(bare / "none"))
    assert said.returncode == 0
    assert all(f"./prefine {verb}" in said.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    said = launch(verb, "--help")
    assert said.returncode == 0, said.stderr
    assert f"usage: ./prefine {verb}" in said.stdout


def test_the_first_command_on_a_new_machine_makes_the_tables(tmp_path):
    examples = str(ROOT / "examples" / "problems")
    said = launch("manage", "import_problems", examples, PREFINE_DATA=str(tmp_path))
    assert said.returncode == 0, said.stderr
    said = launch("run", "--problem", "nothing", PREFINE_DATA=str(tmp_path))
    assert said.returncode == 1
    assert said.stderr.startswith("CommandError: unknown task 'nothing'")
    assert "staircase" in said.stderr


def test_unknown_verb_shows_the_known_ones():
    said = launch("dance")
    assert said.returncode == 1
    assert "there is no verb 'dance'" in said.stderr
    assert "./prefine up" in said.stderr


def test_wrong_python_is_one_clear_line(bare):
    said = launch("up", folder=bare, PATH=str(bare / "bin"), PREFINE_VENV=str(bare / "none"), PREFINE_PYTHON="")
    assert said.returncode == 1
    assert said.stderr.strip().splitlines() == [
        "prefine: needs Python 3.11 or newer; found Python 3.9.2. Install it, or set PREFINE_PYTHON to its path."
    ]


def test_a_half_made_environment_is_made_again(bare):
    """As `python -m venv` leaves it where it was interrupted, or where Debian's python3-venv was missing."""
    python = bare / "none" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho No module named pip >&2\nexit 1\n")
    python.chmod(0o755)
    said = launch("up", folder=bare, PATH=str(bare / "bin"), PREFINE_VENV=str(bare / "none"), PREFINE_PYTHON="")
    assert said.stderr.startswith("prefine: needs Python 3.11 or newer"), "it looked for a Python to make it with"


def test_full_disk_is_one_clear_line(bare):
    df = bare / "bin" / "df"
    df.unlink()
    df.write_text("#!/bin/sh\necho head\necho /dev/x 100 90 10 90% /\n")
    df.chmod(0o755)
    said = launch("up", folder=bare, PATH=str(bare / "bin"), PREFINE_VENV=str(bare / "none"))
    assert said.returncode == 1
    assert said.stderr.startswith("prefine: installing needs 4000 MB free")
    assert "only 10 MB are left" in said.stderr


def test_a_full_disk_under_the_data_folder_is_seen(tmp_path):
    df = tmp_path / "df"
    df.write_text("#!/bin/sh\necho head\necho /dev/x 100 90 10 90% /\n")
    df.chmod(0o755)
    data = tmp_path / "elsewhere"
    said = launch("up", PATH=f"{tmp_path}:{os.environ['PATH']}", PREFINE_DATA=str(data))
    assert said.returncode == 1
    assert said.stderr.startswith(f"prefine: running needs 500 MB free at {data}")


def test_check_says_why_a_reward_is_refused(tmp_path):
    reward = tmp_path / "reward.py"
    reward.write_text("import os\n\ndef compute_reward(dof_pos):\n    return dof_pos[:, 0], {}\n")
    said = launch("check", "--task", "Cartpole", str(reward))
    verdict = json.loads(said.stdout)
    assert said.returncode == 1
    assert verdict["ok"] is False
    assert verdict["stage"] == "allow-list"
    assert "os" in verdict["reason"]


def test_unknown_benchmark_names_the_known_ones():
    said = launch("bench", "nonsense")
    assert said.returncode == 1
    assert "no benchmark nonsense; there are:" in said.stderr
    assert "stepping" in said.stderr
