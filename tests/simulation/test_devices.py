"""Task code on any device, which the device of no data at all shows, and names of devices."""

import importlib

import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.backends import choice
from simulation.environment import Environment, _move
from simulation.rewards.contract import compile_reward
from simulation.worlds import Worlds
from tests.simulation.every_task import TASKS

pytestmark = pytest.mark.slow

META = torch.device("meta")


@pytest.mark.parametrize("name", TASKS)
def test_tasks_and_rewards_keep_to_the_device_of_their_worlds(name):
    info, model = catalog.get_task(name), mujoco_models.build_physics_model(name)
    task = importlib.import_module(f"simulation.tasks.{info.folder}.task").Task(model)
    _move(task, META)
    data = mujoco.MjData(model)
    fields = {field: torch.empty(4, *np.shape(getattr(data, field)), device=META) for field in task.fields}
    with META:
        noise = torch.empty(4, task.noise_size)
        qpos, qvel = task.start(noise)
        assert (qpos.device, qvel.device) == (META, META)
        env = Worlds(4, task.constants, {"qpos": qpos, "qvel": qvel, **fields})
        env.start_qpos, env.start_qvel, env.noise = qpos, qvel, noise
        env.actions, env.progress_buf = torch.empty(4, info.num_actions), torch.empty(4, dtype=torch.int64)
        task.begin(env)
        for _ in range(2):
            task.observe(env)
            assert task.control(env).device == META
        ended = task.terminated(env)
        metric, counts = task.metric(env, ended)
        assert {env.obs_buf.device, ended.device, metric.device, counts.device} == {META}
        if hasattr(task, "mocap"):
            assert task.mocap(env).device == META
        reward = compile_reward(catalog.read_reference_reward(name), name)
        total, _ = reward.function(*(getattr(env, argument) for argument in reward.arguments))
        assert total.device == META


def test_names_of_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choice.resolve_device("auto") == "cpu"
    assert choice.resolve_device("bridge:mujoco") == "bridge:mujoco"
    with pytest.raises(ValueError, match="device 'cuda' was asked for, but PyTorch .* finds no CUDA device"):
        choice.resolve_device("cuda")
    with pytest.raises(ValueError, match="unknown device 'tpu': use auto, cpu, cuda"):
        choice.resolve_device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert [choice.resolve_device(name) for name in ("auto", "cuda", "cuda:0", "cpu")] == [
        "cuda:0",
        "cuda:0",
        "cuda:0",
        "cpu",
    ]
    with pytest.raises(ValueError, match="there is no device 'cuda:3': this machine has 1"):
        choice.resolve_device("cuda:3")


def test_isaacgym_says_what_it_needs(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="set PREFINE_ISAACGYM_PYTHON and PREFINE_ISAACGYM_ASSETS"):
        choice.find_engine("bridge:isaacgym", "ant")
    monkeypatch.setenv("PREFINE_ISAACGYM_PYTHON", "/no/python")
    monkeypatch.setenv("PREFINE_ISAACGYM_ASSETS", str(tmp_path))
    with pytest.raises(ValueError, match="there is no ant.xml or ant.urdf in"):
        choice.find_engine("bridge:isaacgym", "ant")


def test_a_state_of_another_engine_is_refused():
    env = Environment("Cartpole", 2)
    with pytest.raises(ValueError, match="the saved state is isaacgym's, this environment is stepped by mujoco"):
        env.load_state_dict(env.state_dict() | {"engine": "isaacgym"})


def test_a_malformed_model_is_refused_with_its_place(monkeypatch, tmp_path):
    path = tmp_path / "model.xml"
    path.write_text('<mujoco><worldbody><body><geom type="spere" size="1"/></body></worldbody></mujoco>')
    monkeypatch.setattr(mujoco_models, "get_model_path", lambda task: path)
    with pytest.raises(ValueError, match="spere|invalid keyword"):
        Environment("Cartpole", 1)
