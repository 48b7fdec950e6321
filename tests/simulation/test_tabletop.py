"""What the tasks of a Panda at a table share."""

import math

import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment
from simulation.robots.tabletop import REST, find_presses, lay, to_normal, to_pose
from tests.simulation.arm import CLOSED, OPEN, Arm, find_yaw, point_down
from tests.simulation.syntax import check_syntax


def grasped_cube() -> Arm:
    arm = Arm("PickCube", seed=4)
    cube = arm.get("obj_pos")
    turn = point_down(find_yaw(arm.get("obj_pose")))
    arm.move(cube + [0, 0, 0.08], OPEN, 8, turn)
    arm.move(cube, OPEN, 7, turn)
    arm.move(cube, CLOSED, 4, turn)
    return arm


def test_every_task_of_the_table_is_controlled_twenty_times_a_second_and_has_a_sparse_reward():
    found = [info for info in catalog.list_tasks().values() if "tcp_pose" in info.inputs]
    assert {(info.control_dt, info.substeps) for info in found} == {(0.05, 5)}
    for info in found:
        assert check_syntax(catalog.read_sparse_reward(info.name), info.name).ok, info.name


def test_uniform_noise_becomes_normal():
    found = to_normal(torch.tensor([0.0, 0.0227501, 0.5, 0.8413447, 1.0 - 2**-24]))
    assert found[1:4].tolist() == pytest.approx([-2.0, 0.0, 1.0], abs=1e-4)
    assert found.isfinite().all()


def test_a_thing_lies_turned_about_the_vertical():
    pose = to_pose(lay(torch.tensor([0.1]), torch.tensor([-0.2]), 0.02, torch.tensor([math.pi / 2])))
    half = math.sqrt(0.5)
    assert pose[0].tolist() == pytest.approx([0.1, -0.2, 0.02, 0, 0, half, half])


def test_the_arm_begins_near_its_rest_with_open_fingers():
    env = Environment("PushCube", worlds=400, seed=1)
    offsets = env.attributes["robot_qpos"] - torch.tensor([*REST, 0.04, 0.04])
    assert offsets[:, 7:].abs().max() < 1e-6
    assert offsets[:, :7].std().item() == pytest.approx(0.02, rel=0.05)
    assert abs(offsets[:, :7].mean().item()) < 2e-3
    assert env.attributes["robot_qvel"].abs().max() == 0


def test_the_fingers_point_down_between_the_pads():
    arm = Arm("PushCube")
    pose, model, data = arm.get("tcp_pose"), arm.env.model, arm.data
    data.qpos[:] = arm.env.qpos(0)
    mujoco.mj_kinematics(model, data)
    pads = [data.geom(name).xpos for name in ("leftfinger", "rightfinger")]
    assert pose[:3] == pytest.approx(np.mean(pads, axis=0), abs=5e-4)
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, np.roll(pose[3:], 1))
    assert matrix.reshape(3, 3)[:, 2] == pytest.approx([0, 0, -1], abs=0.15)
    assert (pads[0] - pads[1]) @ matrix.reshape(3, 3)[:, 1] == pytest.approx(0.08 + 2 * 0.00758, abs=1e-4)


def test_a_full_action_drives_a_hinge_by_a_tenth_of_a_radian_and_fingers_to_a_place():
    env = Environment("PushCube", worlds=1)
    env._state.actions = torch.tensor([[1.0, -0.5, 0, 0, 0, 0, 0, 1.0]])
    before = env._state.qpos[0].tolist()
    targets = env._task.control(env._state)[0].tolist()
    assert targets[:3] == pytest.approx([before[0] + 0.1, before[1] - 0.05, before[2]], abs=1e-6)
    assert targets[7:] == pytest.approx([0.04, 0.04])
    env._state.actions = torch.tensor([[0.0] * 7 + [-1.0]])
    assert env._task.control(env._state)[0, 7:].tolist() == pytest.approx([-0.01, -0.01])


def test_the_arm_does_not_feel_its_weight_but_things_do():
    arm = Arm("PickCube")
    before, cube = arm.get("robot_qpos"), arm.get("obj_pos")
    arm.put({11: cube[2] + 0.1})
    arm.wait(20, OPEN)
    assert arm.get("robot_qpos") == pytest.approx(before, abs=1e-3)
    assert arm.get("obj_pos") == pytest.approx(cube, abs=1e-3)


def test_a_grasp_is_seen_where_both_fingers_press():
    arm = grasped_cube()
    assert arm.get("is_grasped") == 1
    assert 0.03 < arm.get("robot_qpos")[7:].sum() < 0.04, "30 N press the pads into a cube of 0.04 m"
    arm.move(arm.get("tcp_pos"), OPEN, 4)
    assert arm.get("is_grasped") == 0


def test_fingers_that_close_while_they_stand_on_a_cube_grasp_nothing():
    arm = Arm("PickCube", seed=4)
    cube, turn = arm.get("obj_pos"), point_down(find_yaw(arm.get("obj_pose")))
    arm.move(cube + [0, 0, 0.08], 0.0, 8, turn)
    arm.move(cube, 0.0, 8, turn)
    for _ in range(8):
        arm.move(cube, CLOSED, 1, turn)
        assert (find_presses(arm.env._state)[0, :, 2] < -30).all(), "both press from above"
        assert arm.get("is_grasped") == 0
    assert arm.get("obj_pos")[2] > 0.018, "the cube does not sink into the table"


def test_a_finger_that_presses_alone_grasps_nothing():
    arm = Arm("PickCube", seed=4)
    cube, yaw = arm.get("obj_pos"), find_yaw(arm.get("obj_pose"))
    beside = cube + 0.022 * point_down(yaw)[:, 1]
    arm.move(beside + [0, 0, 0.06], CLOSED, 12, point_down(yaw))
    pressed = []
    for _ in range(12):
        arm.move(beside + [0, 0, 0.02], CLOSED, 1, point_down(yaw))
        forces = find_presses(arm.env._state)[0].norm(dim=-1)
        pressed.append((forces > 0.5).tolist())
        assert arm.get("is_grasped") == 0
    assert any(first != second for first, second in pressed)


@pytest.mark.slow
def test_wild_actions_stay_finite_in_every_task_of_the_table():
    for task in ("PickCube", "RollBall"):
        env = Environment(task, worlds=16)
        generator = torch.Generator().manual_seed(0)
        for index in range(100):
            if index % 10 == 0:
                held = torch.randn(16, env.info.num_actions, generator=generator).sign()
            step = env.step(held)
            assert not step.diverged.any()
            env.reset(step.truncated)
        assert env.obs_buf.isfinite().all()


def test_franka_cabinet_has_the_same_arm():
    ours, other = (mujoco_models.build_physics_model(name) for name in ("PickCube", "FrankaCabinet"))
    for name in ("link1", "link4", "link7", "hand", "leftfinger"):
        assert ours.body(name).mass == other.body(name).mass
        assert ours.body(name).pos.tolist() == other.body(name).pos.tolist()
    assert ours.jnt_range[:9].tolist() == other.jnt_range[:9].tolist()
