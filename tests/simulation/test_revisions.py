"""A task that changes gets a higher revision: what a training would notice is saved beside it."""

import inspect
import sys

import pytest

from simulation import catalog, mujoco_models
from simulation.robots import tabletop
from tests.simulation import revisions
from tests.simulation.revisions import describe, find_changes, read_saved

SAVE = "python -m tests.simulation.revisions"


@pytest.mark.parametrize("task", catalog.list_tasks())
def test_a_task_that_changed_has_a_higher_revision(task):
    saved, now = read_saved().get(task), describe(task)
    if saved is None:
        pytest.fail(f"{task} is new. Save its numbers: {SAVE} {task}")
    if saved["revision"] != now["revision"]:
        pytest.fail(f"{task} is of revision {now['revision']} now. Save its numbers: {SAVE} {task}")
    if changed := find_changes(saved, now):
        folder = catalog.get_task(task).folder
        pytest.fail(
            f"{task} has changed ({', '.join(changed)}), its revision has not. If a training could notice it, raise "
            f"`revision` in simulation/tasks/{folder}/info.py: experiments then say which round had which. "
            f"Then save its numbers: {SAVE} {task}"
        )


def test_saved_tasks_exist():
    assert read_saved().keys() <= catalog.list_tasks().keys()


def test_a_change_is_named(monkeypatch):
    saved = describe("PickCube")
    assert find_changes(saved, describe("PickCube")) == []
    model = mujoco_models.build_physics_model("PickCube")
    model.geom_friction[:, 0] *= 1.1
    model.opt.impratio = 9.0
    monkeypatch.setattr(mujoco_models, "build_physics_model", lambda task: model)
    assert find_changes(saved, describe("PickCube")) == ["contacts", "options"]
    monkeypatch.undo()
    monkeypatch.setattr(tabletop, "HINGE_STEP", 0.11)
    assert find_changes(saved, describe("PickCube")) == ["what the first steps give"]
    monkeypatch.undo()
    assert find_changes(saved, describe("PickCube")) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("apart <= GOAL_NEAR", "apart >= GOAL_NEAR", ["code"]),
        ("up to 0.3 m above", "at most 0.3 m above", []),
        ("env: Worlds) -> Tensor", "env) -> Any", []),
        ("GOAL_NEAR = 0.025", "GOAL_NEAR: float = 0.025", ["code"]),
        ("GOAL_NEAR = 0.025", "GOAL_NEAR = 0.026", ["code"]),
    ],
)
def test_a_change_of_the_code_is_found_and_one_of_its_words_is_not(monkeypatch, old, new, found):
    saved, read = describe("PickCube"), inspect.getsource
    assert old in read(sys.modules["simulation.tasks.pick_cube.task"])
    monkeypatch.setattr(inspect, "getsource", lambda module: read(module).replace(old, new))
    assert find_changes(saved, describe("PickCube")) == found


@pytest.mark.parametrize("asked", [("PickCube",), ("PushCube", "PickCube")])
def test_saving_replaces_these_tasks_alone(tmp_path, monkeypatch, asked):
    monkeypatch.setattr(revisions, "FILE", tmp_path / "revisions.json")
    (tmp_path / "revisions.json").write_text('{"Ant": {}, "PickCube": {"revision": 0}}')
    monkeypatch.setattr("sys.argv", ["revisions", *asked])
    revisions.main()
    assert read_saved() == {"Ant": {}} | {task: describe(task) for task in asked}
