import math
from collections.abc import Sequence

import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment, Step
from simulation.rewards.contract import compile_reward
from simulation.tasks.anymal.info import BODY_NAMES, DOF_NAMES
from simulation.tasks.anymal.task import ARROW_HEIGHT, ARROW_SECONDS, Task
from simulation.worlds import Worlds

STANDING = [0.03, 0.4, -0.8, 0.03, -0.4, 0.8, -0.03, 0.4, -0.8, -0.03, -0.4, 0.8]
"""The published default angles, legs LF, LH, RF, RH."""


def wxyz(axis: str, degrees: float) -> list[float]:
    half = math.radians(degrees) / 2
    return [math.cos(half)] + [math.sin(half) if a == axis else 0.0 for a in "xyz"]


def placed(
    height: float = 1.5,
    quat: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
    linear: Sequence[float] = (0.0, 0.0, 0.0),
    angular: Sequence[float] = (0.0, 0.0, 0.0),
    dof_pos: Sequence[float] = STANDING,
    dof_vel: Sequence[float] = (0.0,) * 12,
    command: Sequence[float] = (0.0, 0.0, 0.0),
) -> tuple[Task, Worlds]:
    """One robot in this state of MuJoCo's: quaternion wxyz, angular velocity in the body's frame."""
    model = mujoco_models.build_physics_model("Anymal")
    data = mujoco.MjData(model)
    data.qpos[:] = (0.0, 0.0, height, *quat, *dof_pos)
    data.qvel[:] = (*linear, *angular, *dof_vel)
    mujoco.mj_forward(model, data)
    task = Task(model)
    env = Worlds(1, task.constants)
    for name in ("qpos", "qvel", *task.fields):
        setattr(env, name, torch.tensor(getattr(data, name))[None].float())
    env.actions = torch.linspace(-1, 1, 12)[None]
    env.noise = torch.full((1, task.noise_size), 0.5)
    task.begin(env)
    env.commands = torch.tensor([command])
    task.observe(env)
    return task, env


@pytest.fixture(scope="module")
def resting_robot() -> Environment:
    """One robot that has stood still, without action, for two seconds."""
    env = Environment("Anymal", worlds=1)
    for _ in range(100):
        env.step(torch.zeros(1, 12))
    return env


def stepped(env: Environment, **changes: Sequence[float]) -> Step:
    """A step without action after putting the first world's qpos there."""
    state = env.state_dict()
    qpos = [0.0, 0.0, changes["height"], *changes["quat"], *STANDING]
    state["physics"][0, 1 : 1 + env.model.nq] = torch.tensor(qpos)
    env.load_state_dict(state)
    return env.step(torch.zeros(env.num_envs, 12))


def test_standing_still_in_the_default_pose():
    _, env = placed()
    obs = env.obs_buf[0]
    assert obs[:12].tolist() == pytest.approx([0] * 6 + [0, 0, -1] + [0] * 3, abs=1e-6)
    assert obs[12:36].abs().max() < 1e-6
    assert torch.equal(obs[36:48], env.actions[0])
    assert env.default_dof_pos[0].tolist() == pytest.approx(STANDING)


def test_velocities_are_the_bases_own_and_scaled():
    # facing +y: moving along the world's +x is moving to the right; MuJoCo's angular velocity is the body's own already
    _, env = placed(quat=wxyz("z", 90), linear=(1.5, 0.0, 0.25), angular=(0.5, 0.0, -2.0), command=(1.0, -0.5, 0.8))
    assert env.obs_buf[0, 0:3].tolist() == pytest.approx([0.0, -3.0, 0.5], abs=1e-5)
    assert env.obs_buf[0, 3:6].tolist() == pytest.approx([0.125, 0.0, -0.5], abs=1e-5)
    assert env.obs_buf[0, 9:12].tolist() == pytest.approx([2.0, -1.0, 0.2], abs=1e-6)
    assert env.root_states[0, 10:13].tolist() == pytest.approx([0.0, 0.5, -2.0], abs=1e-5)


def test_gravity_is_projected_onto_the_bases_axes():
    # nose down by 30 degrees: gravity points down and ahead
    assert placed(quat=wxyz("y", 30))[1].obs_buf[0, 6:9].tolist() == pytest.approx(
        [0.5, 0.0, -math.sqrt(0.75)], abs=1e-6
    )


def test_joints_are_offsets_from_the_default_pose():
    angles = [a + 0.1 * i for i, a in enumerate(STANDING)]
    _, env = placed(dof_pos=angles, dof_vel=[float(i) for i in range(12)])
    assert env.obs_buf[0, 12:24].tolist() == pytest.approx([0.1 * i for i in range(12)], abs=1e-5)
    assert env.obs_buf[0, 24:36].tolist() == pytest.approx([0.05 * i for i in range(12)], abs=1e-5)


def test_joints_and_bodies_are_in_the_published_order():
    model = mujoco_models.build_physics_model("Anymal")
    assert tuple(model.joint(i).name for i in range(1, 13)) == DOF_NAMES
    assert tuple(model.actuator(i).name for i in range(12)) == DOF_NAMES
    assert DOF_NAMES[:4] == ("LF_HAA", "LF_HFE", "LF_KFE", "LH_HAA") and DOF_NAMES[-1] == "RH_KFE"
    assert tuple(model.body(i).name for i in range(1, 14)) == BODY_NAMES
    sensed = [model.sensor(i).name for i in range(model.nsensor)]
    assert sensed == [name for name in BODY_NAMES if not name.endswith("HIP")]


def test_geometry_is_anymals():
    model = mujoco_models.build_physics_model("Anymal")
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)  # all angles 0: legs straight down
    assert 40 < model.body_mass.sum() < 55
    assert data.body("LF_THIGH").xpos - data.body("base").xpos == pytest.approx([0.3598, 0.1878, 0.0], abs=1e-4)
    assert data.body("RH_SHANK").xpos - data.body("RH_THIGH").xpos == pytest.approx([0.0, -0.1003, -0.285], abs=1e-4)
    assert data.geom("LH_foot").xpos - data.body("LH_SHANK").xpos == pytest.approx([-0.08795, 0.01305, -0.31547])
    assert model.joint("LF_HAA").range.tolist() == [-0.72, 0.49]
    assert model.joint("RF_HAA").range.tolist() == [-0.49, 0.72]


def test_actions_are_targets_around_the_default_pose_for_a_pd_drive():
    task, env = placed()
    env.actions = torch.full((1, 12), 0.5)
    targets = task.control(env)[0]
    assert targets.tolist() == pytest.approx([a + 0.25 for a in STANDING])
    model = mujoco_models.build_physics_model("Anymal")
    data = mujoco.MjData(model)
    data.qpos[:] = env.qpos[0].numpy()
    data.qvel[6:] = 0.5
    data.ctrl[:] = targets.numpy()
    mujoco.mj_forward(model, data)
    assert data.actuator_force == pytest.approx([85 * 0.25 - 2 * 0.5] * 12, abs=1e-3)
    data.ctrl[:] = 10.0
    mujoco.mj_forward(model, data)
    assert data.actuator_force == pytest.approx([80.0] * 12)


def test_it_stands_on_four_feet_without_action(resting_robot):
    forces = resting_robot.attributes["contact_forces"][0]
    weight = mujoco_models.build_physics_model("Anymal").body_mass.sum() * 9.81
    feet = [BODY_NAMES.index(f"{leg}_SHANK") for leg in ("LF", "LH", "RF", "RH")]
    assert forces[:, 2].sum().item() == pytest.approx(weight, rel=0.01)
    assert (forces[feet, 2] > 0.2 * weight).all()
    others = [i for i in range(13) if i not in feet]
    assert forces[others].abs().max() == 0
    assert 0.45 < resting_robot.attributes["root_states"][0, 2] < 0.56
    assert torch.equal(resting_robot.attributes["torques"].abs() > 1, torch.ones(1, 12, dtype=torch.bool))


def test_starts_are_spread_as_published():
    env = Environment("Anymal", worlds=400, seed=3)
    ratio = env.attributes["dof_pos"] / torch.tensor(STANDING)
    assert 0.5 <= ratio.min() < 0.51 and 1.49 < ratio.max() <= 1.5
    assert 0.099 < env.attributes["dof_vel"].abs().max() <= 0.1
    commands = env.attributes["commands"]
    for column, limit in enumerate((2.0, 1.0, 1.0)):
        assert commands[:, column].min() < -0.95 * limit and commands[:, column].max() > 0.95 * limit
        assert commands[:, column].abs().max() <= limit
    for column, name in enumerate(("commands_x", "commands_y", "commands_yaw")):
        assert torch.equal(env.attributes[name], commands[:, column])


def test_the_command_holds_for_the_episode_and_is_drawn_again_by_the_next():
    env = Environment("Anymal", worlds=2)
    first = env.attributes["commands"].clone()
    env.step(torch.zeros(2, 12))
    assert torch.equal(env.attributes["commands"], first)
    env.reset(torch.tensor([False, True]))
    assert torch.equal(env.attributes["commands"][0], first[0])
    assert (env.attributes["commands"][1] != first[1]).all()


@pytest.mark.parametrize(("height", "roll", "body"), [(0.08, 180, "base"), (0.25, 90, "thigh")])
def test_a_base_or_knee_on_the_ground_ends_the_episode(height, roll, body):
    env = Environment("Anymal", worlds=1)
    step = stepped(env, height=height, quat=wxyz("x", roll))
    assert step.terminated.all() and not step.truncated.any()
    forces = env.attributes["contact_forces"][0].norm(dim=-1)
    touching = {BODY_NAMES[i].split("_")[-1].lower() for i in range(13) if forces[i] > 1}
    assert body in touching


def test_standing_is_truncated_at_50_seconds_and_not_terminated(resting_robot):
    state = resting_robot.state_dict()
    state["variables"]["progress_buf"] = torch.tensor([2497])
    env = Environment("Anymal", worlds=1)
    env.load_state_dict(state)
    step = env.step(torch.zeros(1, 12))
    assert not step.truncated.any() and not step.terminated.any()
    step = env.step(torch.zeros(1, 12))
    assert step.truncated.all() and not step.terminated.any()


def test_metric_is_minus_the_squared_velocity_errors():
    task, env = placed(quat=wxyz("z", 90), linear=(0.0, 1.5, 0.4), angular=(0.3, 0.0, -0.5), command=(2.0, -1.0, 0.5))
    values, counts = task.metric(env, torch.tensor([False]))
    assert values.item() == pytest.approx(-(0.5**2 + 1.0**2 + 1.0**2), abs=1e-5)
    assert counts.all()


def test_wild_actions_stay_finite():
    env = Environment("Anymal", worlds=16)
    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        step = env.step(torch.randn(16, 12, generator=generator).sign())
        assert not step.diverged.any()
        env.reset(step.terminated)
    assert env.obs_buf.isfinite().all() and env.obs_buf.abs().max() < 200


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ((1.0, 0.0, 0.0), (0.0, 1.0, math.pi / 2)),
        ((0.0, 0.5, 0.0), (-0.5, 0.0, math.pi)),
        ((-2.0, 0.0, 0.0), (0.0, -2.0, -math.pi / 2)),
        # a circle to the left of radius 1/1 m
        ((1.0, 0.0, 1.0), (math.cos(ARROW_SECONDS) - 1, math.sin(ARROW_SECONDS), math.pi / 2 + ARROW_SECONDS)),
    ],
)
def test_the_arrow_goes_where_the_command_goes(command, end):
    task, env = placed(quat=wxyz("z", 90), command=command)  # facing +y
    arrow = task.mocap(env)[0]
    scale = 1.0 if command[2] else ARROW_SECONDS
    assert arrow.shape == (6, 7) == (mujoco_models.build_visual_model("Anymal").nmocap, 7)
    assert arrow[-1, :3].tolist() == pytest.approx([end[0] * scale, end[1] * scale, ARROW_HEIGHT], abs=1e-5)
    heading = 2 * math.atan2(arrow[-1, 5].item(), arrow[-1, 6].item())
    assert math.cos(heading - end[2]) == pytest.approx(1.0, abs=1e-5)
    lengths = np.linalg.norm(np.diff(arrow[:, :2].numpy(), axis=0), axis=1)
    assert lengths == pytest.approx([lengths[0]] * 5, rel=1e-3)


def test_reference_reward_by_hand():
    _, env = placed(linear=(1.0, 0.5, 0.0), angular=(0.0, 0.0, 0.5), command=(1.0, 0.0, 0.0))
    inputs = {name: getattr(env, name) for name in catalog.get_task("Anymal").inputs}
    reward = compile_reward(catalog.read_reference_reward("Anymal"), "Anymal")
    total, parts = reward(inputs | {"torques": torch.full((1, 12), 20.0)})
    assert {name: round(value.item(), 4) for name, value in parts.items()} == {
        "velocity": round(math.exp(-1), 4),
        "yaw_rate": round(0.5 * math.exp(-1), 4),
        "torque_cost": -0.12,
    }
    assert total.item() == pytest.approx(1.5 * math.exp(-1) - 0.12, abs=1e-4)
    assert reward(inputs | {"torques": torch.full((1, 12), 80.0)})[0].item() == 0.0
