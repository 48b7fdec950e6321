"""LiftPegUpright, PullCubeTool, PegInsertionSide, RollBall: scripted motions that succeed, and ones that do not."""

import math

import numpy as np
import pytest

from tests.simulation.arm import CLOSED, OPEN, Arm, find_yaw, lean_forward, point_down

pytestmark = pytest.mark.slow

DOWN = point_down(0.0)
HALF_OPEN = 0.3
"""An action at which a ball of 7 cm lies between the finger tips, and touches both."""


def lift_peg(seed: int, height: float) -> Arm:
    """Grasp the peg in its middle, turn it by 90 degrees, and lower the middle towards this height."""
    arm = Arm("LiftPegUpright", seed, patient=True)
    peg = arm.get("obj_pos")
    arm.grasp(peg, DOWN, 0.03)
    arm.reach([-0.15, peg[1], 0.18], CLOSED, DOWN, near=0.02)
    arm.turn_hinges([-0.15, peg[1], 0.2], lean_forward(math.pi / 2), CLOSED)
    arm.reach([-0.15, peg[1], height], CLOSED, lean_forward(math.pi / 2), most=25)
    return arm


def test_a_peg_that_is_turned_and_put_down_succeeds_and_one_in_the_air_does_not():
    for seed in range(3):
        assert lift_peg(seed, 0.11).succeeded, seed
    arm = lift_peg(0, 0.16)
    assert not arm.ended and arm.get("is_grasped") == 1, "it is upright and held above the table"


def pull_with_hook(seed: int, lowered: bool = True) -> Arm:
    """Grasp the hook's handle, put the hook behind the cube or leave it above, and pull."""
    arm = Arm("PullCubeTool", seed, patient=True)
    tool, cube = arm.get("tool_pos"), arm.get("cube_pos")
    handle = tool + [0.03, 0, 0]
    arm.grasp(handle, DOWN, 0.05)
    behind = np.array([cube[0] - 0.07, cube[1] - 0.06, 0.03])
    arm.reach(handle + [0, 0, 0.1], CLOSED, DOWN, near=0.02)
    arm.reach(behind + [0, 0, 0.08], CLOSED, DOWN, near=0.01)
    if lowered:
        arm.reach(behind, CLOSED, DOWN, most=30, near=0.005)
    height = arm.get("tcp_pos")[2]
    arm.reach([-0.2, behind[1] * 0.5, height], CLOSED, DOWN, most=60)
    return arm


def test_a_cube_that_is_pulled_with_the_hook_succeeds_and_one_below_the_hook_does_not():
    for seed in range(3):
        assert pull_with_hook(seed).succeeded, seed
    arm = pull_with_hook(0, lowered=False)
    assert not arm.ended and arm.get("is_grasped") == 1


def insert_peg(seed: int, above: float = 0.0) -> Arm:
    """Grasp the peg behind its middle, bring its head before the hole or above it, and push."""
    arm = Arm("PegInsertionSide", seed, patient=True)
    peg, hole = arm.get("peg_pose"), arm.get("box_hole_pose")
    yaw, hole_yaw = find_yaw(peg, 2 * math.pi), find_yaw(hole, 2 * math.pi)
    turn = point_down(yaw)
    handle = peg[:3] - 0.05 * turn[:, 0]
    arm.turn_hinges(handle + [0, 0, 0.08], turn, OPEN)
    arm.grasp(handle, turn, 0.05)
    arm.reach(handle + [0, 0, 0.12], CLOSED, turn, near=0.02)
    along = np.array([math.cos(hole_yaw), math.sin(hole_yaw), 0.0])
    middle = hole[:3] + [0, 0, above]
    arm.turn_hinges(middle - 0.3 * along + [0, 0, 0.02], point_down(hole_yaw), CLOSED)
    for ahead in (*[-0.135] * 10, *np.linspace(-0.125, 0.0, 24)):
        held = to_matrix(arm.get("tcp_pose")).T @ to_matrix(arm.get("peg_pose"))
        straight = np.column_stack((along, np.cross([0, 0, 1], along), [0, 0, 1]))
        move = middle + ahead * along - arm.get("peg_head_pos")
        arm.reach(arm.get("tcp_pos") + move, CLOSED, straight @ held.T, most=5, near=8e-4)
    return arm


def to_matrix(pose: np.ndarray) -> np.ndarray:
    """The rotation of a pose (7,), as a matrix."""
    x, y, z, w = pose[3:]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_a_peg_that_is_lined_up_and_pushed_succeeds_and_one_above_the_hole_does_not():
    for seed in range(2):
        assert insert_peg(seed).succeeded, seed
    assert not insert_peg(0, above=0.03).ended, "it meets the box's side"


def roll_ball(seed: int, aside: float = 0.0) -> Arm:
    """Take the ball between the finger tips, push it along the line to its disc, turned aside by rad, and stop."""
    arm = Arm("RollBall", seed, patient=True)
    way, turn = find_way(arm, aside)
    start = arm.get("ball_pos") - 0.1 * way
    start[2] = 0.04
    arm.turn_hinges(start + [0, 0, 0.07], turn, HALF_OPEN, near=0.05)
    arm.reach(start, HALF_OPEN, turn, most=20, near=0.01)
    for step in range(30):
        steering = step < 24
        if steering:
            way, turn = find_way(arm, aside)
        _, left = arm.linearise(arm.get("ball_pos"), turn)
        side = np.array([-way[1], way[0], 0.0])
        velocity = 0.3 * way + 2.0 * steering * (left[:3] @ side) * side
        velocity[2] = 4.0 * (left[2] + 0.04 - arm.get("ball_pos")[2])
        arm.drive(np.concatenate((velocity, 2.0 * left[3:])), HALF_OPEN)
    arm.wait(150, HALF_OPEN)
    return arm


def find_way(arm: Arm, aside: float) -> tuple[np.ndarray, np.ndarray]:
    """From the ball to its disc, turned aside (3,), and a hand that points down and pushes that way."""
    x, y, _ = arm.get("ball_to_goal_pos")
    turn = point_down(math.atan2(y, x) + aside)
    return turn[:, 0], turn


@pytest.mark.parametrize(("aside", "good"), [(0.0, True), (0.5, False)])
def test_a_ball_that_is_pushed_towards_its_disc_succeeds_and_one_that_is_pushed_aside_does_not(aside, good):
    arm = roll_ball(5, aside)
    assert arm.succeeded is good
    assert arm.get("ball_pos")[1] < 0.0, "it rolled more than half a metre"
