import mujoco
import numpy as np
import pytest
import torch

from simulation import mujoco_models
from simulation.backends.cpu import CpuPhysics
from simulation.environment import Environment


@pytest.fixture(scope="module")
def ant() -> mujoco.MjModel:
    return mujoco_models.build_physics_model("Ant")


def random_states(model: mujoco.MjModel, worlds: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ants in the air and in the ground, bent and turning: float32 values, so that both sides start exactly equal."""
    generator = torch.Generator().manual_seed(3)
    qpos = torch.from_numpy(model.qpos0).float().repeat(worlds, 1)
    qpos[:, 2] = torch.linspace(0.3, 0.8, worlds)
    qpos[:, 3:7] = torch.randn(worlds, 4, generator=generator)
    qpos[:, 3:7] /= qpos[:, 3:7].norm(dim=-1, keepdim=True)
    qpos[:, 7:] += torch.randn(worlds, 8, generator=generator)
    return qpos, torch.randn(worlds, 14, generator=generator)


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_are_exactly_those_of_a_single_world(ant, threads):
    physics = CpuPhysics(ant, 12, substeps=2, fields=("sensordata",), threads=threads)
    qpos, qvel = random_states(ant, 12)
    physics.place(torch.arange(12), qpos, qvel)
    ctrl = torch.rand(3, 12, 8, generator=torch.Generator().manual_seed(4)) * 2 - 1
    for step in range(3):
        assert physics.step(ctrl[step]) is None
    for world in range(12):
        data = mujoco.MjData(ant)
        data.qpos[:], data.qvel[:] = qpos[world].numpy(), qvel[world].numpy()
        mujoco.mj_forward(ant, data)
        for step in range(3):
            data.ctrl[:] = ctrl[step, world].numpy()
            mujoco.mj_step(ant, data, 2)
        assert np.array_equal(physics.qpos(world), data.qpos)
        assert np.array_equal(physics.read()["qvel"][world].numpy(), data.qvel.astype(np.float32))
        assert np.array_equal(physics.read()["sensordata"][world].numpy(), data.sensordata.astype(np.float32))


@pytest.mark.parametrize("task", ["Cartpole", "Ant", "Humanoid", "HumanoidJump"])
def test_a_whole_environment_moves_as_single_worlds_do(task):
    """The state and every field that the task reads, bit for bit."""
    env = Environment(task, worlds=3, seed=5, threads=2)
    physics, control = env._physics, env._task.control
    singles = [mujoco.MjData(env.model) for _ in range(3)]
    for world, data in enumerate(singles):
        data.qpos[:], data.qvel[:] = env.qpos(world), physics.read()["qvel"][world].numpy()
        mujoco.mj_forward(env.model, data)
    actions = torch.rand(20, 3, env.info.num_actions, generator=torch.Generator().manual_seed(6)) * 2 - 1
    for step in range(20):
        env.step(actions[step])
        for data, ctrl in zip(singles, control(env._state), strict=True):
            data.ctrl[:] = ctrl.numpy()
            mujoco.mj_step(env.model, data, env.info.substeps)
    for world, data in enumerate(singles):
        assert np.array_equal(env.qpos(world), data.qpos)
        for name, values in physics.read().items():
            assert np.array_equal(values[world].numpy(), getattr(data, name).astype(np.float32)), name
    assert abs(singles[0].qvel).max() > 0.1


def test_fields_are_current_after_placing(ant):
    physics = CpuPhysics(ant, 3, substeps=2, fields=("site_xpos",))
    qpos, qvel = random_states(ant, 3)
    physics.place(torch.tensor([1]), qpos[1:2], qvel[1:2])
    data = mujoco.MjData(ant)
    data.qpos[:] = qpos[1].numpy()
    mujoco.mj_kinematics(ant, data)
    assert np.allclose(physics.read(torch.tensor([1]))["site_xpos"][0].numpy(), data.site_xpos, atol=1e-6)


def test_placing_leaves_other_worlds_alone(ant):
    physics = CpuPhysics(ant, 3, substeps=2)
    qpos, qvel = random_states(ant, 3)
    physics.place(torch.arange(3), qpos, qvel)
    physics.step(torch.zeros(3, 8))
    before = physics.state()
    physics.place(torch.tensor([1]), qpos[:1], qvel[:1])
    assert torch.equal(physics.state()[[0, 2]], before[[0, 2]])
    assert not torch.equal(physics.state()[1], before[1])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200])
def test_bad_velocity_is_reported_for_its_world_only(ant, value):
    healthy, hurt = (CpuPhysics(ant, 4, substeps=2) for _ in range(2))
    qpos, qvel = random_states(ant, 4)
    for physics in (healthy, hurt):
        physics.place(torch.arange(4), qpos, qvel)
    state = hurt.state()
    state[2, 1 + ant.nq] = value  # time, qpos, then the first velocity
    hurt.load(state)
    healthy.step(torch.zeros(4, 8))
    diverged = hurt.step(torch.zeros(4, 8))
    assert diverged is not None and diverged.tolist() == [2]
    others = [0, 1, 3]
    assert torch.equal(hurt.state()[others], healthy.state()[others])
    assert hurt.step(torch.zeros(4, 8)) is None, "reported once, not again"


def test_a_world_that_diverges_in_its_first_step_is_reported(ant):
    physics = CpuPhysics(ant, 3, substeps=2)
    qpos, qvel = random_states(ant, 3)
    qvel[1, 3] = 1e11  # from its first substep on, as a world that was just reset could
    physics.place(torch.arange(3), qpos, qvel)
    diverged = physics.step(torch.zeros(3, 8))
    assert diverged is not None and diverged.tolist() == [1]


def test_loading_continues_exactly(ant):
    first, second = (CpuPhysics(ant, 5, substeps=2, fields=("sensordata",)) for _ in range(2))
    first.place(torch.arange(5), *random_states(ant, 5))
    for _ in range(4):
        first.step(torch.full((5, 8), 0.5))
    second.load(first.state())
    for _ in range(4):
        first.step(torch.full((5, 8), -0.5))
        second.step(torch.full((5, 8), -0.5))
    assert torch.equal(first.state(), second.state())
    assert torch.equal(first.read()["sensordata"], second.read()["sensordata"])
