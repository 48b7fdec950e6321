"""PushCube, PullCube, RollBall: starts, scripted motions, success."""

import numpy as np
import pytest
import torch

from simulation import catalog
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from tests.simulation.arm import CLOSED, Arm

BALL = 9
"""Where the ball's free joint begins in qpos and qvel."""


def shove(task: str, ahead: int, seed: int = 0, distance: float = 0.26) -> Arm:
    """Behind the cube, down, and along the table."""
    arm = Arm(task, seed)
    x, y, _ = arm.get("obj_pos")
    arm.move([x - ahead * 0.08, y, 0.1], CLOSED, 12)
    arm.move([x - ahead * 0.06, y, 0.02], CLOSED, 10)
    arm.move([x + ahead * (distance - 0.04), y, 0.02], CLOSED, 40)
    return arm


@pytest.mark.parametrize(("task", "ahead"), [("PushCube", 1), ("PullCube", -1)])
def test_a_cube_that_is_shoved_to_the_disc_succeeds(task, ahead):
    for seed in range(3):
        arm = shove(task, ahead, seed)
        assert arm.succeeded and len(arm.path) < 49
        assert np.linalg.norm(arm.get("obj_pos")[:2] - arm.get("goal_pos")[:2]) < 0.1


@pytest.mark.parametrize(("task", "ahead"), [("PushCube", 1), ("PullCube", -1)])
def test_a_cube_that_is_shoved_the_other_way_or_too_little_does_not(task, ahead):
    for arm in (shove(task, -ahead), shove(task, ahead, distance=0.08)):
        assert arm.ended and not arm.succeeded and len(arm.path) == 50


def test_a_cube_above_the_disc_counts_for_pulling_alone():
    for task, ahead, counts in (("PushCube", 1, False), ("PullCube", -1, True)):
        arm = Arm(task)
        arm.put({9: arm.get("obj_pos")[0] + ahead * 0.2, 11: 0.2})
        arm.wait(1)
        assert arm.succeeded is counts


@pytest.mark.parametrize("task", ["PushCube", "PullCube"])
def test_cubes_begin_within_a_tenth_of_a_metre_and_discs_beside_them(task):
    env = Environment(task, worlds=400, seed=2)
    cube, goal = env.attributes["obj_pos"], env.attributes["goal_pos"]
    assert 0.098 < cube[:, :2].abs().max() <= 0.1 and cube[:, 2].tolist() == pytest.approx([0.02] * 400)
    ahead = 0.2 if task == "PushCube" else -0.2
    assert torch.allclose(goal[:, 0] - cube[:, 0], torch.tensor(ahead), atol=1e-6)
    assert torch.equal(goal[:, 1], cube[:, 1])


def test_a_ball_begins_before_the_robot_and_its_disc_at_the_other_end():
    env = Environment("RollBall", worlds=400, seed=2)
    ball, goal = env.attributes["ball_pos"], env.attributes["goal_pos"]
    for values, low, high in ((ball[:, 0], -0.4, 0.2), (goal[:, 0], -0.4, 0.2), (ball[:, 1], 0.5, 0.7)):
        assert low <= values.min() < low + 0.02 and high - 0.02 < values.max() <= high
    assert goal[:, 1].min() >= -0.9 and goal[:, 1].max() <= -0.7
    assert env.attributes["reached_status"].abs().max() == 0


def roll(towards: float) -> Arm:
    """A ball that rolls at 1.1 m/s towards its disc (1) or away from it (-1), without being hit."""
    arm = Arm("RollBall", seed=1)
    way = arm.get("goal_pos")[:2] - arm.get("ball_pos")[:2]
    speed = 1.1 * towards * way / np.linalg.norm(way)
    spin = np.array([-speed[1], speed[0]]) / 0.035
    arm.put({}, {BALL: speed[0], BALL + 1: speed[1], BALL + 3: spin[0], BALL + 4: spin[1]})
    arm.wait(80)
    return arm


def test_a_ball_that_rolls_to_the_disc_succeeds_and_one_that_rolls_away_does_not():
    arm = roll(1.0)
    assert arm.succeeded and np.linalg.norm(arm.get("ball_to_goal_pos")[:2]) < 0.1
    arm = roll(-1.0)
    assert arm.ended and not arm.succeeded


def test_a_ball_that_is_hit_from_behind_rolls_towards_its_disc():
    arm = Arm("RollBall", seed=1)
    ball, goal = arm.get("ball_pos"), arm.get("goal_pos")
    way = (goal - ball)[:2] / np.linalg.norm((goal - ball)[:2])
    behind, through = np.append(ball[:2] - 0.11 * way, 0.04), np.append(ball[:2] + 0.3 * way, 0.04)
    arm.move(behind + [0, 0, 0.08], CLOSED, 16)
    assert arm.get("reached_status") == 0
    arm.move(behind, CLOSED, 14)
    arm.move(through, CLOSED, 10)
    assert arm.get("reached_status") == 1
    velocity = arm.get("ball_vel")[:2]
    assert velocity @ way > 0.15 and velocity @ way > 0.9 * np.linalg.norm(velocity)
    arm.wait(20)
    assert arm.get("reached_status") == 1, "it stays"


def test_a_ball_leaves_the_table_at_its_edge():
    arm = Arm("RollBall")
    arm.put({BALL: 0.6, BALL + 1: 0.0})
    arm.wait(10)
    assert arm.get("ball_pos")[2] < -0.1


def test_reference_rewards_by_hand():
    robot = {"robot_qpos": torch.zeros(1, 9)}
    near = robot | {"tcp_pos": torch.tensor([[-0.03, 0.0, 0.02]]), "obj_pos": torch.tensor([[0.0, 0.0, 0.02]])}
    push = compile_reward(catalog.read_reference_reward("PushCube"), "PushCube")
    total, parts = push(near | {"goal_pos": torch.tensor([[0.2, 0.0, 0.0]])})
    reach, place = 1 - np.tanh(5 * 0.005), 1 - np.tanh(5 * 0.2)
    assert parts["reach"].item() == pytest.approx(reach, abs=1e-5)
    assert total.item() == pytest.approx(reach + 2 * place, abs=1e-5)
    assert push(near | {"goal_pos": torch.tensor([[0.05, 0.0, 0.0]])})[0].item() == 4.0
    roll = compile_reward(catalog.read_reference_reward("RollBall"), "RollBall")
    ball = {"ball_pos": torch.tensor([[0.0, 0.6, 0.035]]), "goal_pos": torch.tensor([[0.0, -0.4, 0.035]])}
    hit = robot | ball | {"tcp_pos": torch.tensor([[0.0, 0.785, 0.035]]), "ball_vel": torch.zeros(1, 3)}
    assert roll(hit | {"reached_status": torch.zeros(1)})[0].item() == pytest.approx(1 - np.tanh(0.2), abs=1e-5)
    later = roll(hit | {"reached_status": torch.ones(1)})[0].item()
    assert later == pytest.approx(1 + 20 * (1 - np.tanh(1.0)), abs=1e-4)
    rolling = hit | {"reached_status": torch.ones(1), "ball_vel": torch.tensor([[0.3, -0.4, 0.0]])}
    assert roll(rolling)[1]["aim"].item() == pytest.approx(10 * (1 - np.tanh(5 * 0.6)), abs=1e-4), "passes at 0.6 m"
    backwards = rolling | {"ball_vel": torch.tensor([[0.0, 0.5, 0.0]])}
    assert roll(backwards)[1]["aim"].item() == 0.0
