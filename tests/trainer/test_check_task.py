"""A task of one's own, outside the repository: checked, trained, filmed; and what the check says of each fault."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from simulation import catalog, tasks
from simulation.environment import Environment
from trainer.commands.check_task import Unusable, check_task, main, read_info, require_files, step_task
from trainer.process import ROOT

HOPPER = ROOT / "examples" / "tasks" / "hopper"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the example; afterwards no trace of it is left in this process."""
    monkeypatch.setattr(tasks, "__path__", list(tasks.__path__))
    monkeypatch.setenv("PREFINE_TASKS", "")
    catalog.list_tasks.cache_clear()
    known = len(tasks.OWN_FOLDERS)
    yield Path(shutil.copytree(HOPPER, tmp_path / "mine" / "hopper"))
    del tasks.OWN_FOLDERS[known:]
    catalog.list_tasks.cache_clear()
    for name in [name for name in sys.modules if name.startswith("simulation.tasks.hopper")]:
        del sys.modules[name]
    vars(tasks).pop("hopper", None)


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def refusal(folder: Path) -> str:
    with pytest.raises(Unusable) as caught:
        list(check_task(folder, folder / "check.mp4"))
    return str(caught.value)


@pytest.mark.slow
def test_the_example_is_checked_and_filmed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(folder / "info.py", "episode_steps=1000,", "episode_steps=1000,\n    clip_seconds=1.1,")
    assert main([str(folder)]) == 0
    said = capsys.readouterr().out
    assert "Hopper; 11 observations, 3 actions, 6 inputs" in said
    assert "0 steps that diverged" in said
    assert "reference.py: it runs" in said
    assert f"Hopper can be used. Start the site and every worker with PREFINE_TASKS={folder.parent}" in said
    assert (folder / "check.mp4").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_command_line_trains_and_films_it(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trainer.commands.train", "--task", "hopper", "--iterations", "1"]
    out = tmp_path / "out"
    done = subprocess.run(
        [*command, "--reward", str(folder / "reference.py"), "--out", str(out)],
        cwd=ROOT,
        env=os.environ | {"PREFINE_TASKS": str(folder.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert list(out.rglob("*.mp4"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("task.py", "torch.ones_like(ended)", "ended", "counts only where an episode ends"),
        ("info.py", "metric=", "final_metric=True,\n    metric=", "counts in steps that end no episode"),
        ("task.py", "Forward speed", "Speed", ""),
    ],
)
def test_it_says_where_the_metric_counts_otherwise_than_its_facts(
    folder: Path, file: str, old: str, new: str, words: str
) -> None:
    change(folder / file, old, new)
    require_files(folder)
    said = [line for line in step_task(read_info(folder)) if "info.py says otherwise" in line]
    assert words in said[0] if words else said == []


def test_a_task_may_begin_anywhere(folder: Path) -> None:
    code = "\nCOLUMNS = 1\n\ndef start(qpos, qvel, noise):\n    return torch.cat((noise, qpos[:, 1:]), 1), qvel\n"
    (folder / "task.py").write_text((folder / "task.py").read_text() + code)
    places = Environment(read_info(folder).name, worlds=200).attributes["dof_pos"]
    assert isinstance(places, torch.Tensor)
    assert 0 <= places[:, 0].min() < 0.1 and 0.9 < places[:, 0].max() < 1, "up to a metre ahead"
    assert places[:, 3:].abs().max() <= 0.02, "the rest as without it"


def test_missing_files_are_all_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "task.py").unlink()
    (folder / "info.py").unlink()
    assert main([str(folder)]) == 1
    assert "lacks info.py, task.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("info.py", "num_obs=11", "num_obs=12", "obs_buf is (64, 11), info.py says num_obs=12"),
        ("info.py", "num_actions=3", "num_actions=4", "model.xml has 3 actuators, info.py says num_actions=4"),
        ("info.py", '"Tensor (num_envs, 2)"', '"Tensor (num_envs, 3)"', "env.velocity is (64, 2)"),
        ("info.py", 'name="Hopper"', 'name="ant"', "there is a task 'ant' already"),
        ("info.py", "substeps=4", "substeps=5", "time step 0.0025 s x 5 substeps"),
        ("info.py", "num_obs=11,", "num_obs=11", "info.py, line"),
        ("info.py", 'folder="hopper",', 'folder="hopper", model_file="scene.xml",', "lacks scene.xml"),
        ("info.py", '"quick": replace', '"paper": replace', "presets needs one named quick"),
        ("model.xml", '<motor joint="knee"/>', '<motor joint="nee"/>', "is no model that MuJoCo can compile"),
        ("model.xml", 'size="0.05"/>', 'size="0.05" group="2"/>', "Geoms of group 2 are decoration"),
        (
            "model.xml",
            'size="0.04"/>',
            'size="0.04"/><geom type="sphere" size="0.1" group="2"/>',
            "geoms of group 2 are decoration",
        ),
        ("observations.py", "def compute_observations", "def observe", "observations.py lacks compute_observations"),
        (
            "observations.py",
            "env.trunk_height, env.trunk_pitch =",
            "env.pose, env.lean =",
            "no attribute 'trunk_height'",
        ),
        ("task.py", "def metric", "def score", "task.py lacks metric"),
        ("task.py", "env.trunk_pitch.abs()", "env.pitch.abs()", "task.py, line 10: AttributeError"),
        ("task.py", "env.velocity[:, 0], ", "env.velocity, ", "metric gives (64, 2) torch.float32"),
    ],
)
def test_each_fault_is_named(folder: Path, file: str, old: str, new: str, words: str) -> None:
    change(folder / file, old, new)
    assert words in refusal(folder)


def test_a_broken_task_is_left_out_and_said(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(folder, folder.parent / "broken")
    tasks.add_own_folder(folder.parent)
    known = catalog.list_tasks()
    assert "Hopper" in known
    assert "INFO must be a TaskInfo whose folder is 'broken'" in caplog.text
    assert catalog.find_folder("Hopper") == folder
    assert folder in catalog.list_own_folders() and folder.parent not in catalog.list_own_folders()
    assert catalog.find_folder("Ant").parent == catalog.TASKS_FOLDER
