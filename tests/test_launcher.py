"""The launcher, as a shell sees it: what it says when something is missing, and that its verbs reach their programs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

import tests.with_django  # noqa: F401

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
VERBS = "up doctor backup restore copy-store test run compare train learn evaluate check replay benchmark completion"
VERBS += " install lint lock"
TOOLS = "bash dirname cat cksum cut df awk env mkdir touch tail rm id grep mktemp nice"


def launch(*arguments, folder=ROOT, cwd="/", **environment):
    """Run ./prefine in the environment of the tests; its exit status, output and errors."""
    return subprocess.run(
        [str(folder / "prefine"), *arguments],
        cwd=cwd,
        env={**os.environ, "PREFINE_VENV": sys.prefix, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.fixture
def bare_checkout(tmp_path):
    """A checkout without a virtual environment, and a PATH on which every Python is too old."""
    shutil.copy(ROOT / "prefine", tmp_path / "prefine")
    for path in [*ROOT.glob("requirements*.txt"), ROOT / "pyproject.toml"]:
        shutil.copy(path, tmp_path / path.name)
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in TOOLS.split():
        (tools / tool).symlink_to(shutil.which(tool))
    old = tools / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    return tmp_path


@pytest.fixture
def fake_environment(bare_checkout):
    """A checkout with an environment whose Python only notes where and with what it was called."""
    python = bare_checkout / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\necho "$PWD: $*" >>{bare_checkout}/calls\n'
        f'[ ! -e {bare_checkout}/no-egl ] || [ "$2" != simulation.opengl ]\n'
    )
    python.chmod(0o755)
    return bare_checkout


def start(fake_environment, *arguments, **environment):
    """The launcher in that environment; what it said, and the calls."""
    own = {
        "PATH": str(fake_environment / "bin"),
        "PREFINE_VENV": str(fake_environment / "venv"),
        "PREFINE_DATA": str(fake_environment / "var"),
    }
    said = launch(*(arguments or ("up",)), folder=fake_environment, **own | environment)
    calls = fake_environment / "calls"
    return said, calls.read_text().splitlines() if calls.exists() else []


def test_pytorch_is_installed_as_chosen_from_where_one_is(fake_environment):
    chosen = {"PREFINE_TORCH_ARGS": "--find-links wheels --no-index", "cwd": fake_environment / "bin"}
    said, calls = start(fake_environment, **chosen)
    assert said.returncode == 0, said.stderr
    pip = "-P -m pip install --quiet --no-compile --disable-pip-version-check"
    assert (
        f"{fake_environment}/bin: {pip} --find-links wheels --no-index -r {fake_environment}/requirements-torch.txt"
        in calls
    )
    assert f"{fake_environment}/bin: {pip} -r {fake_environment}/requirements.txt" in calls
    assert calls[-1] == f"{fake_environment}: -m webapp.supervisor --prepare"
    (fake_environment / "calls").unlink()
    said, calls = start(fake_environment, **chosen)
    assert not any("pip" in call for call in calls) and "PyTorch stays" not in said.stdout
    said, _ = start(fake_environment, PREFINE_TORCH_ARGS="--index-url another")
    assert said.returncode == 0 and "PyTorch stays as it is: PREFINE_TORCH_ARGS counts when" in said.stdout
    with (fake_environment / "requirements.txt").open("a") as requirements:
        requirements.write("\n# another version\n")
    (fake_environment / "calls").unlink()
    said, calls = start(fake_environment, cwd=fake_environment / "bin")
    assert any("import torch" in call for call in calls), "what is new is loaded, and so compiled, once"
    assert (
        f"{fake_environment}/bin: {pip} --find-links wheels --no-index -r {fake_environment}/requirements-torch.txt"
        in calls
    )
    said, _ = start(fake_environment, **chosen)
    assert "PyTorch stays" not in said.stdout


def test_missing_libraries_are_named_where_they_cannot_be_installed(fake_environment):
    (fake_environment / "no-egl").touch()
    said, calls = start(fake_environment)
    assert said.returncode == 1 and not any("supervisor" in call for call in calls)
    assert said.stderr.startswith("prefine: cannot render without a display")
    assert "apt-get install libegl1" in said.stderr and "dnf install" in said.stderr
    for name, status in (("apt-get", 100), ("dpkg-query", 1), ("sudo", 1)):
        tool = fake_environment / "bin" / name
        tool.write_text(f"#!/bin/sh\necho E: not allowed >&2\nexit {status}\n")
        tool.chmod(0o755)
    said, calls = start(fake_environment)
    assert said.returncode == 1 and not any("supervisor" in call for call in calls)
    assert "may not install them here. Ask an administrator for: apt-get install libegl1" in said.stderr


def test_an_installation_that_fails_is_said_and_done_again(fake_environment):
    python = fake_environment / "venv" / "bin" / "python"
    works = python.read_text()
    python.write_text(works + '[ "$4" != install ]\n')
    said, calls = start(fake_environment)
    assert said.returncode == 1 and "installing requirements-torch.txt failed" in said.stderr
    assert not any("supervisor" in call for call in calls)
    python.write_text(works)
    said, calls = start(fake_environment)
    assert said.returncode == 0 and "-m webapp.supervisor" in calls[-1]


def test_paths_are_those_of_where_one_is(fake_environment):
    here = fake_environment / "bin"
    for verb in ("train", "evaluate", "check", "replay", "benchmark", "run", "manage"):
        said, calls = start(fake_environment, verb, "mine", cwd=here, PREFINE_DATA="data")
        assert said.returncode == 0 and calls[-1].startswith(f"{here}: ") and calls[-1].endswith(" mine"), verb
    said, _ = start(fake_environment, cwd=here, PREFINE_DATA="data")
    assert said.returncode == 0 and (here / "data").is_dir()


def test_help_and_version_need_nothing_installed(bare_checkout):
    nothing = {"folder": bare_checkout, "PATH": str(bare_checkout / "bin"), "PREFINE_VENV": str(bare_checkout / "none")}
    said = launch("--help", **nothing)
    assert said.returncode == 0
    assert all(f"./prefine {verb}" in said.stdout for verb in VERBS.split())
    said = launch("--version", **nothing)
    assert (said.returncode, said.stdout) == (0, f"prefine {settings.VERSION}\n")


CHECKS = ("ruff", "lint-imports", "mypy")


@pytest.fixture
def passing_tests(fake_environment):
    """Beside `pretended`, checks that note how they were called."""
    for name in CHECKS:
        check = fake_environment / "venv" / "bin" / name
        check.write_text(f'#!/bin/sh\necho "$PWD: {name} $*" >>{fake_environment}/calls\n')
        check.chmod(0o755)
    return fake_environment


def calls_of(name, calls):
    return [call.partition(": ")[2].removeprefix("-m ") for call in calls if call.partition(": ")[2].startswith(name)]


@pytest.mark.parametrize(
    ("arguments", "marks", "checks"),
    [
        ((), "not exhaustive", True),
        (("--all",), "", True),
        (("--quick",), "not exhaustive and not slow", False),
        (("--quick", "tests/llm"), "not exhaustive and not slow", False),
    ],
)
def test_the_tiers_of_tests(passing_tests, arguments, marks, checks):
    said, calls = start(passing_tests, "test", *arguments)
    assert said.returncode == 0, said.stderr
    assert calls_of("-m pytest", calls)[0].startswith(f"pytest -m {marks} -n auto")
    assert calls[-1].endswith(" ".join(arguments[1:]))
    assert all(bool(calls_of(name, calls)) is checks for name in CHECKS)
    assert ("chromium" in said.stdout) is (arguments[:1] != ("--quick",))


def test_failing_tests_fail_a_run_whose_types_are_right(passing_tests):
    python = passing_tests / "venv" / "bin" / "python"
    python.write_text(python.read_text() + '[ "$2" != pytest ]\n')
    said, _ = start(passing_tests, "test")
    assert said.returncode == 1 and said.stdout.endswith("Types\n")


def test_wrong_types_fail_a_run_whose_tests_pass(passing_tests):
    (passing_tests / "venv" / "bin" / "mypy").write_text("#!/bin/sh\necho wrong types\nexit 1\n")
    said, _ = start(passing_tests, "test")
    assert said.returncode == 1 and said.stdout.endswith("Types\nwrong types\n")


def test_what_is_named_is_tested_whatever_its_marks(passing_tests):
    said, calls = start(passing_tests, "test", "tests/llm", "-k", "replay")
    assert said.returncode == 0, said.stderr
    assert calls_of("-m pytest", calls) == ["pytest tests/llm -k replay"]
    assert not any(calls_of(name, calls) for name in CHECKS)


def test_lint_runs_the_checks_and_stops_at_the_first_that_fails(passing_tests):
    said, calls = start(passing_tests, "lint")
    assert said.returncode == 0, said.stderr
    names = [call.partition(": ")[2].split()[0] for call in calls[-4:]]
    assert names == ["ruff", "ruff", "lint-imports", "mypy"]
    (passing_tests / "calls").unlink()
    (passing_tests / "venv" / "bin" / "lint-imports").write_text("#!/bin/sh\nexit 1\n")
    said, calls = start(passing_tests, "lint")
    assert said.returncode == 1 and not calls_of("mypy", calls)


def test_both_files_are_locked_with_the_same_versions(passing_tests):
    uv = passing_tests / "venv" / "bin" / "uv"
    uv.write_text(f'#!/bin/sh\necho "$PWD: uv $*" >>{passing_tests}/calls\n')
    uv.chmod(0o755)
    said, calls = start(passing_tests, "lock", "--upgrade")
    assert said.returncode == 0, said.stderr
    main, test = calls_of("uv", calls)
    assert main.endswith("--upgrade requirements.in --output-file requirements.txt")
    assert test.endswith("-c requirements.txt --upgrade requirements-test.in --output-file requirements-test.txt")


def test_every_locked_package_has_a_hash_and_pytorch_is_not_among_them():
    for name in ("requirements.txt", "requirements-test.txt"):
        packages = re.split(r"\n(?=[a-z])", (ROOT / name).read_text())[1:]
        assert packages and all("--hash=sha256:" in package for package in packages), name
        assert not any(package.startswith(("torch=", "nvidia", "triton")) for package in packages), name
        assert "://" not in (ROOT / name).read_text(), "a lock names no registry"


KINDS_OF_VERBS = ("up", "run", "train", "test")
"""A program of Python, one that needs the database, one that needs PyTorch, one of the shell alone."""


@pytest.mark.parametrize(
    "verb",
    [pytest.param(verb, marks=() if verb in KINDS_OF_VERBS else pytest.mark.exhaustive) for verb in VERBS.split()],
)
def test_every_verb_has_help(verb):
    said = launch(verb, "--help")
    assert said.returncode == 0, said.stderr
    assert f"usage: ./prefine {verb}" in said.stdout


def test_the_first_command_on_a_new_machine_makes_the_tables(fake_environment):
    said, calls = start(fake_environment, "run", "--problem", "x")
    assert said.returncode == 0 and not [call for call in calls if call.endswith("migrate --verbosity 0 --no-input")]
    python = fake_environment / "venv" / "bin" / "python"
    python.write_text(python.read_text() + '[ "$3" != --check ]\n')  # some migration is not applied
    said, calls = start(fake_environment, "run", "--problem", "x")
    made, run = calls[-2:]
    assert said.returncode == 0 and made.endswith(": manage.py migrate --verbosity 0 --no-input")
    assert run.endswith("/manage.py run_experiment --problem x")


@pytest.mark.exhaustive
def test_a_first_command_answers_from_tables_that_it_made(tmp_path):
    said = launch("run", "--problem", "nothing", PREFINE_DATA=str(tmp_path))
    assert said.returncode == 1
    assert said.stderr.startswith("CommandError: unknown task 'nothing'")


def test_unknown_verb_shows_the_known_ones():
    said = launch("dance")
    assert said.returncode == 1
    assert "there is no verb 'dance'" in said.stderr
    assert "./prefine up" in said.stderr


def test_an_unknown_verb_suggests_the_nearest_and_nothing_else():
    assert launch("trian").stderr == "prefine: there is no verb 'trian'. Did you mean train?\n"


def test_wrong_python_is_one_clear_line(bare_checkout):
    said = launch(
        "up",
        folder=bare_checkout,
        PATH=str(bare_checkout / "bin"),
        PREFINE_VENV=str(bare_checkout / "none"),
        PREFINE_PYTHON="",
    )
    assert said.returncode == 1
    assert said.stderr.strip().splitlines() == [
        "prefine: needs Python 3.11 or newer; found Python 3.9.2. Install it, or set PREFINE_PYTHON to its path."
    ]


def test_a_half_made_environment_is_made_again(bare_checkout):
    """As `python -m venv` leaves it where it was interrupted, or where Debian's python3-venv was missing."""
    python = bare_checkout / "none" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho No module named pip >&2\nexit 1\n")
    python.chmod(0o755)
    said = launch(
        "up",
        folder=bare_checkout,
        PATH=str(bare_checkout / "bin"),
        PREFINE_VENV=str(bare_checkout / "none"),
        PREFINE_PYTHON="",
    )
    assert said.stderr.startswith("prefine: needs Python 3.11 or newer"), "it looked for a Python to make it with"


def test_full_disk_is_one_clear_line(bare_checkout):
    df = bare_checkout / "bin" / "df"
    df.unlink()
    df.write_text("#!/bin/sh\necho head\necho /dev/x 100 90 10 90% /\n")
    df.chmod(0o755)
    said = launch("up", folder=bare_checkout, PATH=str(bare_checkout / "bin"), PREFINE_VENV=str(bare_checkout / "none"))
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
    """From a folder with files that are named as modules of ours and Python's own."""
    reward = tmp_path / "reward.py"
    reward.write_text("import os\n\ndef compute_reward(dof_pos):\n    return dof_pos[:, 0], {}\n")
    for name in ("simulation", "argparse"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong file')")
    said = launch("check", "--task", "Cartpole", "reward.py", cwd=tmp_path)
    verdict = json.loads(said.stdout)
    assert said.returncode == 1
    assert verdict["ok"] is False
    assert verdict["stage"] == "allow-list"
    assert "os" in verdict["reason"]


def test_unknown_benchmark_names_the_known_ones():
    said = launch("benchmark", "nonsense")
    assert said.returncode == 1
    assert "unknown benchmark 'nonsense'; known:" in said.stderr
    assert "stepping" in said.stderr
