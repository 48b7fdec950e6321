"""Syntax verdicts, their reasons, and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulation import catalog
from simulation.rewards import allowed
from simulation.rewards.verdict import Verdict
from tests.simulation.good_rewards import GOOD
from tests.simulation.syntax import check_syntax
from trainer.commands import check

GOOD_CARTPOLE = GOOD["Cartpole"]["cosine"]


def test_reference_rewards_and_published_ones_are_allowed():
    for task in catalog.list_tasks():
        for name, source in {**GOOD[task], "reference": catalog.read_reference_reward(task)}.items():
            assert check_syntax(source, task).reason == "", (task, name)


def test_it_names_the_variables_of_the_task():
    reason = check_syntax("def compute_reward(dof_poz): return dof_poz, {}", "Cartpole").reason
    assert "line 1: argument 'dof_poz' is not a variable of this task; did you mean 'dof_pos'?" in reason
    assert all(name in reason for name in catalog.get_task("Cartpole").inputs)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x = torch.nrom(dof_pos)", "line 2: torch.nrom is not allowed; did you mean torch.norm? [x = torch.n"),
        ("x = dof_pos.exp_()", "line 2: method .exp_() changes a tensor in place: use .exp() [x = dof_pos.exp_()]"),
        ("x = torch.rand(3)", "torch.rand is random: a reward must be deterministic"),
        ("x = dof_pso * 2.0", "'dof_pso' is not defined or not allowed; did you mean 'dof_pos'?"),
        ("dof_pos[0] = 1.0", "'dof_pos' is an input and must not be changed: work on dof_pos.clone()"),
        ("while True: pass", "a while loop is not allowed"),
        ("x = np.exp(1.0)", "numpy is not available: use torch"),
        ("x = np.linalg.norm(dof_pos)", "numpy is not available: use torch"),
        ("numpy = dof_pos; x = numpy.tofile(1)", "numpy is not available: use torch"),
        ("x = torch_rand_float(-1.0, 1.0, (4, 1))", "torch_rand_float(...) is random: a reward must be deterministic"),
        ("x = quat_from_euler(dof_pos)", "quat_from_euler(...) is not an allowed function; did you mean quat_from_eu"),
        ("print(dof_pos)", "print(...) is not an allowed function"),
        ("x = torch.exp", "torch.exp must be called"),
        ("x = torch.ones(3, device='cuda')", "device='cuda' is not allowed: use the device of an input, dof_pos.d"),
    ],
)
def test_reasons_say_what_to_change(line: str, reason: str):
    source = f"def compute_reward(dof_pos):\n    {line}\n    return dof_pos[:, 0], {{}}\n"
    assert reason in check_syntax(source, "Cartpole").reason


def test_every_problem_is_reported_once_and_five_at_most():
    lines = "".join(f"    x{i} = open({i})\n    x{i} = open({i})\n" for i in range(4))
    reason = check_syntax(f"def compute_reward(dof_pos):\n{lines}    return dof_pos[:, 0], {{}}\n", "Cartpole").reason
    assert len(reason.splitlines()) == 6
    assert reason.endswith("and 3 more")


def test_a_syntax_error_is_shown_with_its_line():
    verdict = check_syntax("def compute_reward(dof_pos):\n    return dof_pos[:, 0, {}\n", "Cartpole")
    assert verdict.stage == "parse"
    assert "line 2" in verdict.reason


def test_every_allowed_name_exists_in_torch():
    import torch

    for name in allowed.TORCH_FUNCTIONS | allowed.TORCH_CONSTANTS:
        found = torch
        for part in name.split("."):
            found = getattr(found, part)
    assert {n for n in allowed.METHODS if not hasattr(torch.Tensor, n)} == {"append", "get", "items", "keys"}
    assert not [n for n in allowed.METHODS | allowed.ATTRIBUTES if n.startswith("_") or n.endswith("_")]


def test_no_allowed_function_can_be_given_a_place_to_write_by_position():
    import inspect

    import torch

    for name in allowed.TORCH_FUNCTIONS | {f"Tensor.{method}" for method in allowed.METHODS}:
        function = torch
        for part in name.split("."):
            function = getattr(function, part, None)
        try:
            parameters = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue  # written in C: there `out` is never positional
        unsafe = [i for i, parameter in enumerate(parameters) if parameter in ("out", "inplace")]
        assert not unsafe or allowed.POSITIONAL[name] <= min(unsafe), name


def test_the_command_line_prints_one_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(check.sandbox, "check", lambda task, sources, **limits: [Verdict(True, "done")])
    path = tmp_path / "reward.py"
    path.write_text(GOOD_CARTPOLE)
    assert check.main(["--task", "Cartpole", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "stage": "done", "reason": "", "notes": []}


UNUSED_VALUES = """
def compute_reward(dof_pos, dof_vel):
    upright = torch.cos(dof_pos[:, 1])
    total = upright - 0.1 * torch.abs(dof_vel[:, 0])
    upright
    + 0.1 * upright
    torch.clamp(total, min=-1.0)
    parts = []
    parts.append(total)
    'a text'
    return total, {"upright": upright}
"""


def test_a_statement_without_effect_is_held_to_the_allow_list():
    source = "def compute_reward(dof_pos):\n    open\n    dof_pos.data\n    return dof_pos[:, 0], {}\n"
    reason = check_syntax(source, "Cartpole").reason
    assert "'open' is not defined or not allowed" in reason and "attribute .data is not allowed" in reason


@pytest.mark.slow
def test_the_command_line_prints_a_list_for_several_and_names_statements_without_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture
):
    files = [tmp_path / name for name in ("good.py", "bad.py", "unused.py")]
    for file, source in zip(files, (GOOD_CARTPOLE, "import os", UNUSED_VALUES), strict=True):
        file.write_text(source)
    assert check.main(["--task", "Cartpole", *map(str, files)]) == 1
    good, bad, unused = json.loads(capsys.readouterr().out)
    assert (good["ok"], good["notes"], bad["stage"], unused["ok"]) == (True, [], "parse", True)
    assert unused["notes"] == [
        "line 5: this statement has no effect [upright]",
        "line 6: this statement has no effect [+ 0.1 * upright]",
        "line 7: this statement has no effect [torch.clamp(total, min=-1.0)]",
    ]


@pytest.mark.parametrize(
    ("task", "name", "reason"),
    [
        ("Ant", "missing.py", "missing.py"),
        ("Cartpol", "reward.py", "Did you mean Cartpole?"),
        ("Ant", ".", "directory"),
    ],
)
def test_the_command_line_explains_what_it_cannot_read(task, name, reason, tmp_path: Path, capsys):
    (tmp_path / "reward.py").write_text(GOOD_CARTPOLE)
    assert check.main(["--task", task, str(tmp_path / name)]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["stage"] == "input"
    assert reason in verdict["reason"]


def test_a_binary_file_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture):
    path = tmp_path / "reward.pt"
    path.write_bytes(b"\xff\xfe\x00\x80")
    assert check.main(["--task", "Ant", str(path)]) == 1
    assert "decode" in json.loads(capsys.readouterr().out)["reason"]
