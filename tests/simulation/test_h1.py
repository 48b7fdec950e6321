"""What the tasks of the H1 share, and each one's start and end."""

import math

import mujoco
import numpy as np
import pytest
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from simulation.robots.h1 import JOINTS
from tests.simulation.every_task import OF_THE_H1
from tests.simulation.h1 import ScriptedH1
from tests.simulation.syntax import check_syntax

SIZES = {"HumanoidBasketball": 76, "HumanoidDoor": 67, "HumanoidPackage": 85, "HumanoidPush": 75}
"""Observations: as many as published, with 25 joints in place of 69."""
THING = 7 + JOINTS


def test_sizes_rate_and_length():
    found = {task: catalog.get_task(task) for task in OF_THE_H1}
    assert {name: info.num_obs for name, info in found.items()} == SIZES
    assert {(info.num_actions, info.control_dt, info.episode_steps) for info in found.values()} == {(25, 0.02, 500)}
    for name in found:
        assert check_syntax(catalog.read_sparse_reward(name), name).ok


def test_it_weighs_and_stands_as_the_maker_says():
    model = mujoco_models.build_physics_model("HumanoidPush")
    pelvis = model.body("pelvis").id
    assert model.body_subtreemass[pelvis] == pytest.approx(51.65 + 2 * 0.52, abs=0.01), "H1 and two simple hands"
    env = Environment("HumanoidPush", worlds=256)
    assert env.attributes["head_height"].mean() == pytest.approx(0.98 + 0.7, abs=0.01)
    assert env.attributes["left_hand_position"].mean(0).tolist() == pytest.approx([0.33, 0.21, 1.06], abs=0.02)
    assert env.attributes["root_states"][:, 2].std() == pytest.approx(0.01 / math.sqrt(3), rel=0.2)


def test_an_action_spans_each_joint_from_where_it_begins():
    env = Environment("HumanoidPush", worlds=1)
    read = env.attributes
    lower, upper, start = (read[name] for name in ("joint_limits_lower", "joint_limits_upper", "default_joint_angles"))
    for action, angles in ((0.0, start), (1.0, upper), (-1.0, lower), (0.5, (start + upper) / 2)):
        env._state.actions = torch.full((1, 25), action)
        assert torch.allclose(env._task.control(env._state)[0], angles, atol=1e-6)
    knee, wrist = 3, 15
    assert (lower[knee], start[knee], upper[knee]) == (pytest.approx(-0.26), pytest.approx(0.8), pytest.approx(2.05))
    assert start[wrist] == pytest.approx(1.57), "palms down"


def test_left_and_right_mirror_each_other():
    model = mujoco_models.build_physics_model("HumanoidPush")
    data = mujoco.MjData(model)
    for side, sign in (("left", 1), ("right", -1)):
        data.joint(f"{side}_shoulder_roll").qpos[:] = 0.7 * sign
        data.joint(f"{side}_shoulder_yaw").qpos[:] = 0.5 * sign
        for name, angle in {
            "hip_roll": 0.3 * sign,
            "elbow": -0.6,
            "wrist_yaw": 0.9,
            "fingers": 1.2,
            "thumb": 0.8,
        }.items():
            data.joint(f"{side}_{name}").qpos[:] = angle
    mujoco.mj_forward(model, data)
    for name in ("fingers", "thumb", "palm", "elbow_link", "ankle_link"):
        left, right = (data.body(f"{side}_{name}") for side in ("left", "right"))
        assert left.xpos == pytest.approx(right.xpos * [1, -1, 1], abs=1e-9), name
        assert left.xipos == pytest.approx(right.xipos * [1, -1, 1], abs=1e-3), name


def test_the_drives_push_the_way_they_should():
    """Fingers close towards the palm, palms turn down, a knee bends back."""
    robot = ScriptedH1("HumanoidDoor")
    robot.targets |= {"left_wrist_yaw": 1.57, "left_fingers": 1.4}
    robot.stand(40)
    tip = robot.data.geom("left_fingers").xpos - robot.data.body("left_fingers").xpos
    assert tip[2] < -0.035 and abs(tip[1]) < 0.02, "down"
    assert robot.data.body("left_knee_link").xpos[0] > robot.data.body("left_ankle_link").xpos[0] + 0.1


def test_observations_entry_by_entry():
    env = Environment("HumanoidPush", worlds=2, seed=3)
    state = env.state_dict()
    state["physics"][:, 1 + THING : 1 + THING + 3] = torch.tensor([0.8, 0.1, 1.3], dtype=torch.float64)
    state["physics"][:, 1 + env.model.nq + 6 + JOINTS : 1 + env.model.nq + 9 + JOINTS] = 0.0
    env.load_state_dict(state)
    env.step(torch.zeros(2, 25))
    seen, read = env.obs_buf, env.attributes
    assert torch.equal(seen[:, 0:13], read["root_states"]) and torch.equal(seen[:, 13:38], read["joint_angles"])
    assert torch.equal(seen[:, 38:63], read["joint_velocities"])
    assert torch.equal(seen[:, 63:66], read["left_hand_position"]) and torch.equal(seen[:, 66:69], read["goal"])
    assert seen[0, 69:72].tolist() == pytest.approx([0.8, 0.1, 1.3 - 3 * 9.81 * 0.01**2], abs=1e-5)
    assert seen[0, 72:75].tolist() == pytest.approx([0, 0, -9.81 * 0.02], abs=1e-5)


@pytest.mark.slow
def test_starts_are_spread_as_published():
    push = Environment("HumanoidPush", worlds=512).attributes["goal"]
    assert push.amin(0).tolist() == pytest.approx([0.7, -0.5, 1.0], abs=0.01)
    assert push.amax(0).tolist() == pytest.approx([1.0, 0.5, 1.0], abs=0.01)
    read = Environment("HumanoidPackage", worlds=512).attributes
    away = read["package_location"][:, :2].norm(dim=-1)
    assert away.min() > 0.599 and away.max() > 2.4, "not where the robot stands"
    assert read["package_destination"][:, :2].abs().amax(0).tolist() == pytest.approx([2, 2], abs=0.02)
    ball = Environment("HumanoidBasketball", worlds=512).attributes
    place, speed = ball["basketball_position"], ball["basketball_velocity"]
    assert torch.allclose(speed[:, :2], -5.0 * place[:, :2], atol=1e-4), "7.5 m/s from 1.5 m, towards the robot"
    angle = torch.atan2(place[:, 1], place[:, 0])
    assert angle.abs().max() == pytest.approx(1.45, abs=0.02) and (angle > 0).float().mean() == pytest.approx(
        0.5, abs=0.1
    )
    door = Environment("HumanoidDoor", worlds=512).attributes
    assert door["door_hinge"].min() >= 0 and door["door_hinge"].max() <= 0.01


@pytest.mark.parametrize(
    ("task", "lowest"),
    [("HumanoidPush", 0.6), ("HumanoidPackage", 0.5), ("HumanoidBasketball", 0.5), ("HumanoidDoor", 0.58)],
)
def test_a_low_pelvis_ends_an_episode(task, lowest):
    """Lying on its back in the air."""
    for height, over in ((lowest + 0.03, False), (lowest - 0.03, True)):
        robot = ScriptedH1(task)
        robot.put({0: -0.4, 2: height, 3: math.sqrt(0.5), 4: 0.0, 5: -math.sqrt(0.5), 6: 0.0})
        robot.act(robot.targets)
        assert bool(robot.step.terminated) is over and not robot.solved


def test_success_ends_push():
    robot = ScriptedH1("HumanoidPush")
    robot.act(robot.targets)
    assert not robot.ended
    place = dict(zip(range(THING, THING + 3), robot.get("goal"), strict=True))
    robot.put(place)
    robot.act(robot.targets)
    assert robot.step.terminated.item() and robot.solved and robot.step.metric.item() == 1.0


def test_a_ball_is_touched_when_it_leaves_its_free_flight():
    robot = ScriptedH1("HumanoidBasketball", seed=1)
    robot.put({THING: 3.0, THING + 1: 0.0, THING + 2: 1.8}, {31: -7.5, 32: 0.0})
    robot.env._state.basketball_velocity = torch.tensor([[-7.5, 0.0, 0.0]])
    stages = []
    for _ in range(30):
        robot.act(robot.targets)
        stages.append(float(robot.get("stage")))
    assert sorted(stages) == stages and 0 < sum(stages) < 30
    arrival = stages.index(1.0)
    assert np.linalg.norm(robot.path[arrival + 1][THING : THING + 2]) < 0.8, "at the robot, 3 m away, not before"


def test_the_basket_is_in_the_way_of_the_robot():
    """Its board, its post and its tube, each where the robot is put."""
    for part, place in {"board": (6.09, 2.0), "post": (6.42, 1.4), "hoop": (5.52, 1.6)}.items():
        robot = ScriptedH1("HumanoidBasketball")
        robot.put(dict(zip((0, 2), place, strict=True)))
        pairs = [{robot.model.geom(int(i)).name or "hoop" for i in pair} for pair in robot.data.contact.geom]
        assert any(part in pair and pair & {"chest", "pelvis", "head"} for pair in pairs), part


def test_a_ball_near_the_ground_is_lost():
    for height, over in ((0.56, False), (0.45, True)):
        robot = ScriptedH1("HumanoidBasketball")
        robot.put({THING: 1.5, THING + 1: 1.0, THING + 2: height}, dict.fromkeys(range(31, 37), 0.0))
        robot.act(robot.targets)
        assert bool(robot.step.terminated) is over


@pytest.mark.parametrize("task", OF_THE_H1)
def test_the_human_reward_on_numbers_worked_out_by_hand(task):
    inputs = {name: torch.zeros(2, *SHAPES.get(name, (3,))) for name in catalog.get_task(task).inputs}
    inputs |= {"head_height": torch.tensor([1.65, 1.65 - 0.4125]), "torso_upright": torch.ones(2)}
    inputs |= {"actuator_forces": torch.zeros(2, 25), "hoop_center": torch.tensor([0.0, 0.0, 2.0])}
    inputs |= {"goal": torch.tensor([[0.0, 0.0, 1.0]] * 2), "package_destination": torch.tensor([[0.0, 0.0, 2.0]] * 2)}
    total, _ = compile_reward(catalog.read_reference_reward(task), task)(inputs)
    assert total.tolist() == pytest.approx(BY_HAND[task], abs=2e-3)


def test_pushing_pays_the_hand_of_the_far_side_and_speed_to_the_goal():
    """A goal on the left: the right hand at its place, the left one; then a box that moves there, and away."""
    names = catalog.get_task("HumanoidPush").inputs
    inputs = {name: torch.zeros(4, *SHAPES.get(name, (3,))) for name in names}
    inputs |= {"head_height": torch.full((4,), 1.65), "torso_upright": torch.ones(4)}
    inputs |= {"goal": torch.tensor([[0.0, 0.4, 0.0]] * 4)}
    place, far = [-0.1, -0.165, 0.0], [-2.0, 0.0, 0.0]
    inputs["right_hand_position"] = torch.tensor([place, far, far, far])
    inputs["left_hand_position"] = torch.tensor([far, place, far, far])
    inputs["box_vel"] = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.0, -0.4, 0.0]])
    _, parts = compile_reward(catalog.read_reference_reward("HumanoidPush"), "HumanoidPush")(inputs)
    assert parts["reach"].tolist() == pytest.approx([3.0, 0.0, 0.0, 0.0], abs=5e-3)
    assert parts["move"].tolist() == pytest.approx([0.0, 0.0, 0.8, -0.8])


SHAPES = {"stage": (), "door_hinge": (), "door_hatch_hinge": ()}
BY_HAND = {
    "HumanoidPush": (1.0 + 3.0 * 0.632 + 0.02, 0.151 * (1.0 + 3.0 * 0.632 + 0.02)),
    "HumanoidPackage": (1.0 - 6.0, 0.1 - 6.0),
    "HumanoidDoor": (0.1 + 0.05 + 0.05 * 0.1, 0.01 + 0.05 + 0.05 * 0.1),
    "HumanoidBasketball": (0.5 + 0.5, 0.05 + 0.5),
}
"""With its hands at the thing (push: 0.193 m from their place), the thing 1 or 2 m from its goal; the second robot's
head is 0.4125 m lower."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("task", OF_THE_H1)
def test_wild_actions_never_diverge(task):
    env = Environment(task, worlds=64)
    generator = torch.Generator().manual_seed(0)
    for step in range(400):
        if step % 5 == 0:
            actions = torch.rand(64, 25, generator=generator) * 2 - 1
        assert not env.step(actions).diverged.any()
