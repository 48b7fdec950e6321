import math
from collections.abc import Sequence

import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from simulation.rotations import quat_rotate
from simulation.tasks.franka_cabinet.task import START, Task
from simulation.worlds import Worlds

HANDLE = (0.34, 0.0, 0.755)
"""The middle of the closed drawer's handle in m."""
AT_HANDLE = (0.0295, -0.0756, -0.0979, -1.8087, -0.3995, 3.3174, -0.3988)
"""Hinges with which the gripper holds the closed drawer's handle, fingers pointing into the cabinet."""


def placed(arm: Sequence[float] = START, cabinet: Sequence[float] = (0.0,) * 4) -> tuple[Task, Worlds]:
    """One arm and cabinet at these joint positions, at rest."""
    model = mujoco_models.build_physics_model("FrankaCabinet")
    data = mujoco.MjData(model)
    data.qpos[:] = (*arm, *cabinet)
    mujoco.mj_forward(model, data)
    task = Task(model)
    env = Worlds(1, task.constants)
    for name in ("qpos", "qvel", *task.fields):
        setattr(env, name, torch.tensor(getattr(data, name))[None].float())
    env.start_qpos, env.actions = env.qpos, torch.zeros(1, 9)
    task.begin(env)
    task.observe(env)
    return task, env


def restarted(arm: Sequence[float] | None = None, drawer: float | None = None, progress: int = 0) -> Environment:
    """An environment of one world put there."""
    env = Environment("FrankaCabinet", worlds=1)
    state = env.state_dict()
    if arm is not None:
        state["physics"][0, 1:10] = torch.tensor(arm)
        state["variables"]["franka_dof_targets"] = torch.tensor(arm)[None]
    if drawer is not None:
        state["physics"][0, 1 + 12] = drawer
    state["variables"]["progress_buf"] = torch.tensor([progress])
    env.load_state_dict(state)
    return env


def pulled(steps: int, speed: float = 0.5) -> Environment:
    """The drawer, gripped with closing fingers and pulled back by the arm's inverse Jacobian; no learned policy."""
    env = restarted((*AT_HANDLE, 0.02, 0.02))
    model, data = env.model, mujoco.MjData(env.model)
    hand = model.body("hand").id
    place, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    for step in range(steps):
        data.qpos[:] = env.qpos(0)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jac(model, data, place, turn, data.xpos[hand], hand)
        wanted = np.zeros(6) if step < 20 else np.array([speed, 0, 0, 0, 0, 0])
        jacobian = np.vstack((place, turn))[:, :7]
        hinges = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + 1e-3 * np.eye(6), wanted)
        actions = np.concatenate((hinges / 7.5, [-1.0, -1.0]))
        env.step(torch.tensor(actions, dtype=torch.float32)[None])
    return env


def test_dofs_are_in_the_published_order_with_published_limits():
    model = mujoco_models.build_physics_model("FrankaCabinet")
    names = [model.joint(i).name for i in range(model.njnt)]
    assert names[:9] == [*(f"panda_joint{i}" for i in range(1, 8)), "panda_finger_joint1", "panda_finger_joint2"]
    assert names[9:] == ["door_left_joint", "door_right_joint", "drawer_bottom_joint", "drawer_top_joint"]
    assert [model.actuator(i).name for i in range(9)] == names[:9]
    _, env = placed()
    upper = [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973, 0.04, 0.04]
    lower = [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973, 0.0, 0.0]
    assert env.franka_dof_upper_limits.tolist() == pytest.approx(upper)
    assert env.franka_dof_lower_limits.tolist() == pytest.approx(lower)
    assert model.joint("drawer_top_joint").range.tolist() == [0.0, 0.4]


def test_the_arm_has_pandas_lengths():
    model = mujoco_models.build_physics_model("FrankaCabinet")
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)  # all angles 0: an upright arm, its hand hanging down in front of it, towards -x

    def at(name: str) -> np.ndarray:
        return data.body(name).xpos - data.body("link0").xpos

    assert at("link2") == pytest.approx([0, 0, 0.333], abs=1e-6)
    assert at("link4") == pytest.approx([-0.0825, 0, 0.333 + 0.316], abs=1e-6)
    assert at("link6") == pytest.approx([0, 0, 0.333 + 0.316 + 0.384], abs=1e-6)
    assert at("hand") == pytest.approx([-0.088, 0, 0.333 + 0.316 + 0.384 - 0.107], abs=1e-6)
    assert at("leftfinger") - at("hand") == pytest.approx([0, 0, -0.0584], abs=1e-6)


def test_the_gripper_grasps_between_its_pads():
    _, env = placed((*START[:7], 0.04, 0.01))
    fingers = (env.franka_lfinger_pos + env.franka_rfinger_pos) / 2
    forward = quat_rotate(env.franka_grasp_rot, env.gripper_forward_axis)
    up = quat_rotate(env.franka_grasp_rot, env.gripper_up_axis)
    # the pads are 0.045 m along the fingers; the left one is opened 0.03 m farther
    middle = env.franka_grasp_pos - 0.045 * forward + 0.015 * up
    assert fingers[0].tolist() == pytest.approx(middle[0].tolist(), abs=1e-5)
    assert (env.franka_lfinger_pos - env.franka_rfinger_pos)[0].tolist() == pytest.approx(
        (0.05 * up)[0].tolist(), abs=1e-5
    )
    assert torch.equal(env.franka_lfinger_rot, env.franka_grasp_rot)
    # in the published start pose the left finger is above the right one and the hand in front of the cabinet
    assert up[0, 2] > 0.95
    assert env.franka_grasp_pos[0].tolist() == pytest.approx([0.739, 0.107, 0.789], abs=2e-3)


def test_the_drawer_is_grasped_at_its_handle_wherever_it_is():
    for opened in (0.0, 0.25):
        _, env = placed(cabinet=(0.3, -0.2, 0.1, opened))
        assert env.drawer_grasp_pos[0].tolist() == pytest.approx([HANDLE[0] + opened, *HANDLE[1:]], abs=1e-6)
        assert env.cabinet_dof_pos[0].tolist() == pytest.approx([0.3, -0.2, 0.1, opened])
        inward = quat_rotate(env.drawer_grasp_rot, env.drawer_inward_axis)
        upward = quat_rotate(env.drawer_grasp_rot, env.drawer_up_axis)
        assert (inward[0].tolist(), upward[0].tolist()) == ([-1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    model = mujoco_models.build_physics_model("FrankaCabinet")
    handle = model.geom("handle")
    assert (model.body("cabinet").pos + model.body("drawer_top").pos + handle.pos).tolist() == pytest.approx(HANDLE)


def test_a_hand_at_the_handle_is_seen_there():
    _, env = placed((*AT_HANDLE, 0.02, 0.02))
    assert env.obs_buf[0, 18:21].norm() < 5e-3
    forward = quat_rotate(env.franka_grasp_rot, env.gripper_forward_axis)[0]
    assert forward.tolist() == pytest.approx([-1.0, 0.0, 0.0], abs=0.02)
    assert env.franka_lfinger_pos[0, 2] > HANDLE[2] > env.franka_rfinger_pos[0, 2]


def test_observations_by_hand():
    task, env = placed((0.0, 0.0, 1.44865, -1.5708, 0.0, 1.8675, -2.8973, 0.03, 0.0), (0.0, 0.0, 0.0, 0.15))
    env.qvel = torch.arange(13.0)[None]
    task.observe(env)
    obs = env.obs_buf[0]
    assert obs[:9].tolist() == pytest.approx([0, 0, 0.5, 0, 0, 0, -1, 0.5, -1], abs=1e-4)
    assert obs[9:18].tolist() == pytest.approx([0.1 * i for i in range(9)], abs=1e-5)
    assert obs[18:21].tolist() == pytest.approx((env.drawer_grasp_pos - env.franka_grasp_pos)[0].tolist())
    assert obs[21:].tolist() == pytest.approx([0.15, 12.0])


def test_actions_move_targets_that_stay_within_the_limits():
    task, env = placed()
    env.actions = torch.tensor([[1.0, -1.0, 0.5, 0, 0, 0, 0, 1.0, -1.0]])
    targets = task.control(env)[0]
    moved = [7.5 / 60, -7.5 / 60, 3.75 / 60, 0, 0, 0, 0, 0.005, -0.0125]  # the left finger reaches its limit
    assert targets.tolist() == pytest.approx([s + m for s, m in zip(START, moved, strict=True)], abs=1e-5)
    for _ in range(40):
        targets = task.control(env)[0]
    assert targets[[0, 1, 7, 8]].tolist() == pytest.approx([2.8973, -1.7628, 0.04, 0.0])


def test_drives_have_the_published_gains():
    model = mujoco_models.build_physics_model("FrankaCabinet")
    data = mujoco.MjData(model)
    data.qpos[:9] = START
    data.ctrl[:] = START
    data.ctrl[:7] += 0.02
    data.qvel[:7] = 0.05
    mujoco.mj_forward(model, data)
    assert data.actuator_force[:7] == pytest.approx([400 * 0.02 - 80 * 0.05] * 7, abs=1e-6)
    data.ctrl[:7] += 10
    mujoco.mj_forward(model, data)
    assert data.actuator_force[:7].tolist() == [87.0] * 4 + [12.0] * 3


def test_the_arm_holds_its_start_without_action():
    env = restarted(START)
    for _ in range(60):
        step = env.step(torch.zeros(1, 9))
    assert env.attributes["franka_dof_pos"][0].tolist() == pytest.approx(START, abs=2e-3)
    assert env.attributes["cabinet_dof_pos"].abs().max() < 1e-6
    assert not (step.terminated | step.truncated).any()


def test_starts_are_spread_as_published():
    env = Environment("FrankaCabinet", worlds=300, seed=1)
    offsets = env.attributes["franka_dof_pos"] - torch.tensor(START)
    assert 0.12 < offsets[:, :7].abs().max() <= 0.125
    fingers = env.attributes["franka_dof_pos"][:, 7:]
    assert fingers.min() == 0 and fingers.max() == pytest.approx(0.04)
    assert env.attributes["franka_dof_vel"].abs().max() == 0
    assert env.attributes["cabinet_dof_pos"].abs().max() == 0


def test_a_gripped_handle_opens_the_drawer():
    env = pulled(60)
    opened = env.attributes["cabinet_dof_pos"][0]
    assert opened[3] > 0.15
    assert opened[:3].abs().max() < 1e-3
    assert (env.attributes["franka_grasp_pos"] - env.attributes["drawer_grasp_pos"]).norm() < 0.03
    # the handle's bar, 18 mm thick, is between the fingers
    assert env.attributes["franka_dof_pos"][0, 7:].sum() == pytest.approx(0.018, abs=3e-3)


@pytest.mark.parametrize(("drawer", "ends", "metric"), [(0.385, False, 0), (0.395, True, 1)])
def test_an_open_drawer_ends_the_episode_as_a_success(drawer, ends, metric):
    env = restarted(drawer=drawer)
    step = env.step(torch.zeros(1, 9))
    assert step.terminated.item() is step.metric_counts.item() is ends
    assert step.metric.item() == metric
    assert not step.truncated.any()


def test_an_episode_without_success_counts_as_zero_at_its_last_step():
    env = restarted(progress=497)
    step = env.step(torch.zeros(1, 9))
    assert not step.truncated.any() and not step.metric_counts.any()
    step = env.step(torch.zeros(1, 9))
    assert step.truncated.all() and step.metric_counts.all() and step.metric.item() == 0.0


def test_wild_actions_stay_finite_and_do_not_open_doors_through_the_cabinet():
    env = Environment("FrankaCabinet", worlds=16)
    generator = torch.Generator().manual_seed(0)
    held = torch.zeros(16, 9)
    for index in range(120):
        held = torch.randn(16, 9, generator=generator).sign() if index % 10 == 0 else held
        step = env.step(held)
        assert not step.diverged.any()
        env.reset(step.terminated | step.truncated)
    assert env.obs_buf.isfinite().all()
    assert env.attributes["cabinet_dof_pos"][:, :3].abs().max() < 1e-3


def test_reference_reward_by_hand():
    _, env = placed((*AT_HANDLE, 0.02, 0.03))
    inputs = {name: getattr(env, name) for name in catalog.get_task("FrankaCabinet").inputs}
    handle = torch.tensor([HANDLE])
    inputs |= {
        "franka_grasp_pos": handle + torch.tensor([[0.3, 0.0, 0.4]]),
        "drawer_grasp_pos": handle,
        "franka_lfinger_pos": handle + torch.tensor([[0.05, 0.0, 0.01]]),
        "franka_rfinger_pos": handle + torch.tensor([[0.05, 0.0, -0.03]]),
        "franka_grasp_rot": torch.tensor([[0.0, 0.0, math.sin(math.pi / 6), math.cos(math.pi / 6)]]),
        "drawer_grasp_rot": torch.tensor([[0.0, 0.0, 0.0, 1.0]]),
        "gripper_forward_axis": torch.tensor([[-1.0, 0.0, 0.0]]),
        "gripper_up_axis": torch.tensor([[0.0, 0.0, -1.0]]),
        "cabinet_dof_pos": torch.tensor([[0.0, 0.0, 0.0, 0.3]]),
        "actions": torch.full((1, 9), 0.5),
    }
    reward = compile_reward(catalog.read_reference_reward("FrankaCabinet"), "FrankaCabinet")
    total, parts = reward(inputs)
    assert {name: round(value.item(), 4) for name, value in parts.items()} == {
        "approach": 1.28,  # 2 / 1.25^2
        "alignment": round(0.25 * (0.25 - 1.0), 4),  # forward 60 degrees off, upside down
        "fingers_around": 0.125,
        "finger_distance": 0.2,
        "opening": 3.375,
        "bonus": 1.0,
        "action_cost": -0.0225,
    }
    assert total.item() == pytest.approx(sum(value.item() for value in parts.values()), abs=1e-4)
    near = reward(inputs | {"franka_grasp_pos": handle})[1]["approach"].item()
    assert near == pytest.approx(4.0)
    past = inputs["franka_lfinger_pos"] - torch.tensor([[0.1, 0.0, 0.0]])
    assert reward(inputs | {"franka_lfinger_pos": past})[0].item() == -1.0
