"""IsaacGym's host behind the bridge, over a double of the package that simulates with MuJoCo (isaacgym_double/)."""

import sys
from pathlib import Path

import mujoco
import pytest
import torch

from simulation import mujoco_models
from simulation.backends import choice
from simulation.backends.interface import Physics
from simulation.bridge.connection import ROOT, Bridge, BridgeError
from simulation.environment import Environment
from tests.simulation.test_environment import actions_for

pytestmark = pytest.mark.slow

DOUBLE = Path(__file__).parent / "isaacgym_double"


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> str:
    """An interpreter that has the double, as the vendor's Python 3.8 has the package."""
    path = tmp_path_factory.mktemp("python") / "python"
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}:{DOUBLE}" exec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def isaacgym_environment(python):
    """An environment of a task whose physics is IsaacGym's host."""
    bridges = []

    def start(task: str, **settings) -> Environment:
        bridges.append(Bridge("isaacgym", python=python, asset=mujoco_models.get_model_path(task)))
        return Environment(task, start=bridges[-1], **settings)

    yield start
    for bridge in bridges:
        bridge.close()


def explicit(model, worlds, substeps, fields, threads) -> Physics:
    """MuJoCo, whose motors damp with the velocity before the step, as the host's do; joints damp implicitly."""
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    return choice.start_mujoco(model, worlds, substeps, fields, threads)


def assert_close(expected: Environment, found: Environment, rows: list[int], skipped: tuple[str, ...] = ()) -> None:
    every = {**expected.attributes, "obs_buf": expected.obs_buf}
    for name, value in every.items():
        if name in skipped:
            continue
        other = getattr(found._state, name)
        if isinstance(value, torch.Tensor) and len(value) == expected.num_envs:
            assert torch.allclose(value[rows], other[rows], rtol=0.02, atol=0.02), name


@pytest.mark.parametrize(
    "task", ["Anymal", *(pytest.param(task, marks=pytest.mark.exhaustive) for task in ("Cartpole", "Ant", "Humanoid"))]
)
def test_a_step_is_mujocos_in_every_variable(isaacgym_environment, task):
    beside, through = Environment(task, worlds=3, seed=2, start=explicit), isaacgym_environment(task, worlds=3, seed=2)
    touched = 0.0
    for number in range(6):
        state = beside._physics.read()
        through._physics.place(torch.arange(3), state["qpos"], state["qvel"])
        actions = actions_for(beside, number)
        expected, found = beside.step(actions), through.step(actions)
        assert torch.equal(expected.terminated, found.terminated)
        # here a foot also feels the other one
        assert_close(beside, through, [0, 1, 2], ("vec_sensor_tensor", "obs_buf") if task == "Humanoid" else ())
        touched = max(touched, float(beside._physics.read().get("sensordata", torch.ones(1)).abs().max()))
    assert touched > 0, "feet on the ground"


def test_worlds_placed_one_after_the_other_are_all_placed(isaacgym_environment):
    """Of several writes between two steps the simulation heeds the last."""
    beside, through = Environment("Ant", worlds=4, seed=2), isaacgym_environment("Ant", worlds=4, seed=2)
    for env in (beside, through):
        for number in range(10):
            env.step(actions_for(env, number))
        for world in (1, 2):
            env.reset(torch.arange(4) == world)
        env.step(torch.zeros(4, 8))
    assert_close(beside, through, [1, 2])
    assert through.state_dict()["engine"] == "isaacgym"


def test_what_it_cannot_host_is_refused(python):
    bridge = Bridge("isaacgym", python=python, asset=mujoco_models.get_model_path("Cartpole"))
    with pytest.raises(BridgeError, match="refused: ValueError: IsaacGym hosts models of one robot"):
        Environment("AllegroHand", worlds=1, start=bridge)
    with pytest.raises(BridgeError, match=r"the asset's joints \['hinge', 'slider'\] are not the model's"):
        Environment("Ant", worlds=1, start=bridge)
    bridge.close()
