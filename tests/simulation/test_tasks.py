"""What holds for every task."""

import ast

import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment
from tests.simulation.every_task import AT_A_TABLE, OF_THE_H1, SHARED, TASKS, WITH_TWO_HANDS

EVERY_TASK = pytest.mark.parametrize("task", TASKS)
HIDDEN = ("metric", "reset", "terminat", "noise", "score", "reward")
"""Words that would give away a task's hidden half."""
ALSO_HIDDEN = {
    "AllegroHand": ("0.24", "success"),
    "Ant": ("0.31",),
    "AntLieDown": ("0.9", "success"),
    "AntPatrolAndReturn": ("0.31", "success"),
    "Anymal": ("error",),
    "BallBalance": ("duration",),
    "FrankaCabinet": ("0.39", "success"),
    "Humanoid": ("0.8 m",),
    "ShadowHand": ("0.24", "success"),
} | dict.fromkeys(AT_A_TABLE, ("success", "0.025", "static"))
ALSO_HIDDEN |= dict.fromkeys(WITH_TWO_HANDS, ("success", "closer", "within 0"))
ALSO_HIDDEN |= dict.fromkeys(OF_THE_H1, ("success", "0.05", "0.1 m", "0.58 m", "within", "fall"))


@EVERY_TASK
def test_shapes_and_types_are_as_declared(task):
    env = Environment(task, worlds=3, groups=2)
    info = catalog.get_task(task)
    step = env.step(torch.zeros(6, info.num_actions))
    assert env.num_envs == 6
    assert env.obs_buf.shape == (6, info.num_obs)
    assert env.obs_buf.dtype == torch.float32
    for attributes, rows in ((env.attributes, 6), (env.inputs(1), 3)):
        for name, declared in info.inputs.items():
            value = attributes[name]
            if declared == "float":
                assert type(value) is float, name
                continue
            shape = declared.removeprefix("Tensor (").removesuffix(")").replace("num_envs", str(rows))
            assert value.shape == tuple(int(n) for n in shape.split(",") if n.strip()), name
            assert value.dtype == torch.float32, name
    for value in vars(step).values():
        assert value.shape == (6,)
    assert (step.terminated.dtype, step.metric.dtype) == (torch.bool, torch.float32)
    goes_on = ~(step.terminated | step.truncated)
    counts_meanwhile = bool(step.metric_counts[goes_on].any())
    assert info.metric_at_end is not (counts_meanwhile or info.metric is None), "final_metric of info.py"


@pytest.mark.parametrize("task", catalog.list_tasks())
def test_the_shown_text_hides_reset_and_metric(task):
    shown = catalog.read_observation_source(task).lower()
    for hidden in (*HIDDEN, *ALSO_HIDDEN.get(task, ())):
        assert hidden not in shown, hidden


@pytest.mark.parametrize("task", catalog.list_tasks())
def test_the_shown_text_counts_actions_as_the_task_does(task):
    shown = f"env.actions: (num_envs, {catalog.get_task(task).num_actions}), "
    assert shown in catalog.read_observation_source(task)


@EVERY_TASK
def test_decoration_is_not_simulated_and_changes_no_mass(task):
    physics, visual = mujoco_models.build_physics_model(task), mujoco_models.build_visual_model(task)
    assert physics.nq == visual.nq
    assert visual.ngeom > physics.ngeom
    assert visual.body_mass.sum() == pytest.approx(physics.body_mass.sum(), rel=1e-12)
    assert visual.camera("track").id >= 0


def test_a_task_of_ones_own_shows_helpers_and_annotated_constants_of_its_success_test(tmp_path, monkeypatch):
    """It may be written as functions, which call each other by name."""
    (tmp_path / "task.py").write_text(OWN_TASK)
    monkeypatch.setattr(catalog, "find_folder", lambda name: tmp_path)
    shown = catalog.read_success_source("FrankaCabinet")
    for part in ("WIDTH: float = 0.39", "SLACK = 0.1", "def metric", "def solved", "def find_gap"):
        assert part in shown
    assert "OTHER" not in shown and "terminated" not in shown


OWN_TASK = """
WIDTH: float = 0.39
SLACK = 0.1
OTHER: float = 5.0


def find_gap(env):
    return env.width - WIDTH


def solved(env):
    return find_gap(env) > SLACK


def terminated(env):
    return env.width > OTHER


def metric(env, ended):
    return solved(env), ended
"""


def test_tasks_with_a_success_test_show_it_whole():
    """To RDA alone: the test itself, what of the task it calls, and the constants that these read."""
    having = [task for task in catalog.list_tasks() if catalog.read_success_source(task)]
    assert set(having) == {*SHARED, "AntLieDown", "AntPatrolAndReturn", "FrankaCabinet"}
    assert "OPEN = 0.39" in catalog.read_success_source("FrankaCabinet")
    for task in having:
        found = [node for node in ast.walk(ast.parse(catalog.read_success_source(task))) if isinstance(node, ast.Name)]
        given = {node.id for node in found if isinstance(node.ctx, ast.Store)}
        capitals = {node.id for node in found if node.id.isupper()}
        assert capitals <= given, task
