"""The GPU backend on Warp's CPU device, against MuJoCo."""

import gc
import weakref
from types import ModuleType

import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.backends import capacity
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from tests.simulation.every_task import OF_THE_H1, WITH_TWO_HANDS
from tests.simulation.warp import MUJOCO, WARP, Twins

pytestmark = pytest.mark.slow

BOUNDS = {"qpos": 5e-5, "qvel": 1e-3}
"""Of one control step, relative to 1 + |value|. Warp computes in float32, its solver stops at 1e-6."""
FIELD_BOUND = 1e-2
"""Contact forces are steep in the positions."""
ROUGH = ("AllegroHand", "ShadowHand", *WITH_TWO_HANDS, *OF_THE_H1)
"""Hands on things, cylinders on tables, limbs thrown into things: roundings choose where they touch (docs/gpu.md),
so single errors are beyond the bounds. There MuJoCo's own steps from neighbouring states differ as much."""
BEYOND_OWN, BEYOND_SHARE = 3, 0.1
"""How many times as large as MuJoCo's own differences an error may be, and what share may be larger still: a chosen
contact flips at a point, on which a few neighbours need not fall."""


def actions(env: Environment, generator: torch.Generator) -> torch.Tensor:
    one = torch.rand(env.worlds, env.info.num_actions, generator=generator) * 2 - 1
    return one.repeat(env.groups, 1)


TASKS = [
    pytest.param(name, marks=() if name == "Cartpole" else pytest.mark.exhaustive) for name in catalog.list_tasks()
]
"""Warp compiles kernels for each, for ten seconds of processor time and more."""


@pytest.mark.parametrize("task", TASKS)
def test_one_step_from_the_same_state_is_mujocos(task):
    env = Environment(task, worlds=6, seed=1, start=Twins)
    generator = torch.Generator().manual_seed(0)
    for _ in range(8):
        step = env.step(actions(env, generator))
        env.reset(step.terminated | step.truncated)
    for name, errors in env._physics.errors.items():
        bound, found = BOUNDS.get(name.split()[0], FIELD_BOUND), torch.cat(errors)
        if task in ROUGH and name in env._physics.own:
            own = torch.cat(env._physics.own[name]).clamp(min=bound)
            beyond = found > BEYOND_OWN * own
            assert beyond.float().mean() < BEYOND_SHARE, f"{name}: {found[beyond]} where MuJoCo's own are {own[beyond]}"
        else:
            assert found.max() < bound, f"{name}: {found.max()}"
    assert env._physics.failed == 0


@pytest.mark.parametrize("task", TASKS)
def test_every_task_runs_on_it_unchanged(task):
    env = Environment(task, worlds=3, groups=2, seed=2, start=WARP)
    beside = Environment(task, worlds=3, groups=2, seed=2, start=MUJOCO)
    reward = compile_reward(catalog.read_reference_reward(task), task)
    generator = torch.Generator().manual_seed(0)
    for number in range(4):
        chosen = actions(env, generator)
        step, expected = env.step(chosen), beside.step(chosen)
        assert not step.diverged.any()
        close = torch.isclose(env.obs_buf, beside.obs_buf, atol=0.02, rtol=0.02)
        assert close.all() or (task in ROUGH and close.float().mean() > 0.8), f"step {number}"
        assert torch.equal(step.terminated, expected.terminated)
        assert torch.equal(env.obs_buf[:3], env.obs_buf[3:]), "groups with the same actions are the same"
        total, _ = reward(env.inputs(0))
        assert total.isfinite().all()
        for one in (env, beside):
            one.reset(torch.tensor([number == 2, False, False] * 2))
    saved = env.state_dict()
    env.step(actions(env, torch.Generator().manual_seed(5)))
    after = env.obs_buf
    env.load_state_dict(saved)
    env.step(actions(env, torch.Generator().manual_seed(5)))
    assert torch.equal(env.obs_buf, after), "a state is all that a step depends on"
    env.load_state_dict(saved)
    env.keep([1])
    env.step(actions(env, torch.Generator().manual_seed(5)))
    assert torch.allclose(env.obs_buf, after[3:], atol=0.2 if task in ROUGH else 1e-4)


@pytest.mark.exhaustive
def test_long_random_rollouts_agree_in_their_statistics():
    means, spreads = [], []
    for start in (WARP, MUJOCO):
        env = Environment("Ant", worlds=8, seed=4, start=start)
        generator = torch.Generator().manual_seed(0)
        observed = []
        for _ in range(200):
            step = env.step(actions(env, generator))
            observed.append(env.obs_buf)
            env.reset(step.terminated | step.truncated)
        per_world = torch.stack(observed).mean(0)
        means.append(per_world.mean(0))
        spreads.append(per_world.std(0) / 8**0.5)
    error = (spreads[0].square() + spreads[1].square()).sqrt()
    assert ((means[0] - means[1]).abs() < 5 * error + 1e-3).all()


@pytest.fixture(scope="module")
def gpu() -> ModuleType:
    """Loaded when it is tested: every process reads this file, and Warp takes seconds."""
    from simulation.backends import gpu

    return gpu


@pytest.fixture(scope="module")
def ant() -> mujoco.MjModel:
    model = mujoco_models.build_physics_model("Ant")
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    return model


def standing(model: mujoco.MjModel, worlds: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ants with the torso in the ground: four hinges at their limits and a contact are seven constraints."""
    qpos = torch.from_numpy(model.qpos0).float().repeat(worlds, 1)
    qpos[:, 2] = 0.2
    return qpos, torch.zeros(worlds, model.nv)


@pytest.mark.exhaustive
def test_a_world_that_diverges_is_reported_and_the_others_do_not_notice(gpu, ant):
    healthy, hurt = (gpu.WarpPhysics(ant, 4, 2, ("sensordata",), "cpu") for _ in range(2))
    for physics in (healthy, hurt):
        physics.place(torch.arange(4), *standing(ant, 4))
    for value in (float("nan"), float("inf"), 1e20):
        state = healthy.state()
        state[2, 1 + ant.nq] = value  # time, qpos, then the first velocity
        hurt.load(state)
        assert healthy.step(torch.zeros(4, 8)) is None
        failed = hurt.step(torch.zeros(4, 8))
        assert failed is not None and failed.tolist() == [2]
        others = [0, 1, 3]
        assert torch.equal(hurt.state()[others], healthy.state()[others])
        hurt.place(failed, *standing(ant, 1))
        assert hurt.step(torch.zeros(4, 8)) is None, "placed again, it goes on"


@pytest.mark.exhaustive
def test_placing_leaves_other_worlds_alone_and_its_fields_are_current(gpu, ant):
    physics = gpu.WarpPhysics(ant, 5, 2, ("sensordata", "site_xpos"), "cpu")
    qpos, qvel = standing(ant, 5)
    physics.place(torch.arange(5), qpos, qvel)
    for _ in range(3):
        physics.step(torch.full((5, 8), 0.7))
    before, fields = physics.state(), physics.read()
    qpos[:, 2] = 0.9
    physics.place(torch.tensor([3, 1]), qpos[:2], qvel[:2])
    kept = [0, 2, 4]
    assert torch.equal(physics.state()[kept], before[kept])
    for name, value in physics.read().items():
        assert torch.equal(value[kept], fields[name][kept]), name
    data = mujoco.MjData(ant)
    data.qpos[:] = qpos[0].numpy()
    mujoco.mj_forward(ant, data)
    assert np.allclose(physics.read(torch.tensor([1]))["site_xpos"][0], data.site_xpos, atol=1e-5)
    assert physics.read(torch.tensor([3]))["sensordata"].abs().max() == 0, "in the air"
    assert physics.state()[3, 0] == 0, "at time 0"


@pytest.mark.exhaustive
def test_contacts_that_do_not_fit_end_their_worlds_and_the_buffers_grow(gpu, ant, caplog):
    tight = gpu.WarpPhysics(ant, 3, 2, (), "cpu", capacity.Sizes(contacts=16, constraints=4))
    qpos, qvel = standing(ant, 3)
    qpos[2, 2] = 3.0  # in the air it has four
    for _ in range(gpu.GROW_AFTER):
        tight.place(torch.arange(3), qpos, qvel)
        failed = tight.step(torch.zeros(3, 8))
        assert failed is not None and failed.tolist() == [0, 1]
    assert tight.overflows == 2 * gpu.GROW_AFTER
    assert (tight.sizes.contacts, tight.sizes.constraints) == (16, 8)
    assert "had more contacts or constraints than fit" in caplog.text
    tight.place(torch.arange(3), qpos, qvel)
    assert tight.step(torch.zeros(3, 8)) is None, "now they fit"


@pytest.mark.exhaustive
def test_what_the_graphs_work_on_lives_as_long_as_they_are_launched(gpu, ant, monkeypatch):
    """On a GPU a graph keeps nothing alive: it would go on in memory that is somebody else's by then."""
    made, make = [], gpu.mjw.make_data

    def make_data(*arguments, **sizes):
        data = make(*arguments, **sizes)
        made.append(weakref.ref(data))
        return data

    monkeypatch.setattr(gpu.mjw, "make_data", make_data)
    physics = gpu.WarpPhysics(ant, 3, 2, (), "cpu")
    gc.collect()
    assert len(made) == 2 and all(data() is not None for data in made)
    del physics
    gc.collect()
    assert all(data() is None for data in made), "room for a smaller one"


@pytest.mark.exhaustive
def test_room_is_measured_on_the_model(ant):
    assert capacity.measure_sizes(ant) == capacity.measure_sizes(ant)
    assert capacity.measure_sizes(mujoco_models.build_physics_model("Cartpole")) == capacity.Sizes(16, 16)
    assert capacity.measure_sizes(ant).constraints > 16


def test_a_model_that_warp_cannot_simulate_is_refused(gpu):
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option solver="PGS"/><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(ValueError, match="MuJoCo Warp cannot simulate this model: .*PGS.*; train it on the CPU"):
        gpu.WarpPhysics(model, 1, 1, (), "cpu")
