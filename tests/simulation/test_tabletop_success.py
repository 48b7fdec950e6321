"""The success tests of the tasks of a Panda at a table, on both sides: things are put in place, or nearly."""

import math

import numpy as np
import pytest

from tests.simulation.arm import OPEN, Arm

UP = (math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0)
"""MuJoCo's wxyz of a thing whose x axis points up."""


def put(arm: Arm, place: np.ndarray, turn: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0), first: int = 9) -> None:
    """Put the thing whose free joint begins at `first` in qpos to a place, turned."""
    arm.put(dict(enumerate((*place, *turn), start=first)))


def about(yaw: float) -> tuple[float, ...]:
    return (math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))


def yaw_of(pose: np.ndarray) -> float:
    return 2.0 * math.atan2(pose[5], pose[6])


@pytest.mark.parametrize(
    ("place", "turn", "good"), [((0.12,), UP, True), ((0.025,), about(0), False), ((0.2,), UP, False)]
)
def test_a_peg_stands_on_the_table(place, turn, good):
    arm = Arm("LiftPegUpright")
    put(arm, (0.1, 0.25, *place), turn)
    arm.wait(1)
    assert arm.succeeded is good


@pytest.mark.parametrize(("beside", "good"), [(0.04, True), (0.06, False)])
def test_a_poked_cube_is_on_the_disc(beside, good):
    arm = Arm("PokeCube")
    put(arm, arm.get("goal_pos") + [0.0, beside, 0.02])
    arm.wait(1, OPEN)
    assert arm.succeeded is good


def test_a_poked_cube_counts_when_the_robot_stands_still():
    arm = Arm("PokeCube")
    put(arm, arm.get("goal_pos") + [0.0, 0.0, 0.02])
    arm.act(np.array([1.0, 0, 0, 0, 0, 0, 0, 1.0]))
    assert not arm.ended
    arm.wait(6, OPEN)
    assert arm.succeeded


def test_the_peg_s_head_and_the_angles_are_measured():
    arm = Arm("PokeCube", seed=2)
    put(arm, (0.0, 0.3, 0.025), about(math.pi / 2), first=16)
    arm.wait(1, OPEN)
    assert arm.get("peg_head_pos") == pytest.approx([0.0, 0.42, 0.025], abs=1e-3)
    assert arm.get("angle_diff") == pytest.approx(math.pi / 2 - yaw_of(arm.get("cube_pose")), abs=1e-2)
    gap = arm.get("cube_pos")[:2] - [0.0, 0.42]
    assert arm.get("head_to_cube_dist") == pytest.approx(np.linalg.norm(gap), abs=1e-3)


@pytest.mark.parametrize(("beside", "good"), [(0.0, True), (0.05, False)])
def test_a_ball_lies_in_the_bin(beside, good):
    arm = Arm("PlaceSphere", seed=1)
    before = arm.get("bin_pos")
    put(arm, before + [beside, 0.0, 0.0225])
    arm.wait(8, OPEN)
    assert arm.succeeded is good
    assert arm.get("bin_pos") == pytest.approx(before, abs=1e-3), "nothing moves the bin"


@pytest.mark.parametrize(("beside", "good"), [(0.01, True), (0.05, False)])
def test_a_cube_lies_on_the_other(beside, good):
    arm = Arm("StackCube", seed=3)
    lower, yaw = arm.get("cubeB_pos"), yaw_of(arm.get("cubeB_pose"))
    put(arm, lower + [beside * math.cos(yaw), beside * math.sin(yaw), 0.04], about(yaw))
    arm.wait(8, OPEN)
    assert arm.succeeded is good


def test_cubes_begin_apart():
    from simulation.environment import Environment

    env = Environment("StackCube", worlds=400, seed=5)
    apart = (env.attributes["cubeA_pos"] - env.attributes["cubeB_pos"])[:, :2].norm(dim=-1)
    assert apart.min() > 2 * math.hypot(0.02, 0.02)
    assert env.attributes["cubeA_pos"][:, 1].abs().max() <= 0.3


@pytest.mark.parametrize(("x", "good"), [(-0.03, True), (0.0, False)])
def test_a_cube_is_close_to_the_base(x, good):
    arm = Arm("PullCubeTool")
    put(arm, (x, 0.05, 0.02))
    arm.wait(1)
    assert arm.succeeded is good


@pytest.mark.parametrize(
    ("shift", "turn", "cover", "good"),
    [(0.0, 0.0, 1.0, True), (0.02, 0.0, 0.77, False), (0.05, 0.0, 0.4286, False), (0.0, math.pi, 0.357, False)],
)
def test_a_t_covers_its_outline(shift, turn, cover, good):
    arm = Arm("PushT")
    goal, yaw = arm.get("goal_pos"), float(arm.get("goal_yaw"))
    own_x = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    put(arm, goal + shift * own_x + [0.0, 0.0, 0.02], about(yaw + turn))
    arm.wait(1)
    assert arm.get("inter_area") == pytest.approx(cover, abs=0.03)
    assert arm.succeeded is good


@pytest.mark.parametrize(("deep", "good"), [(-0.01, True), (-0.05, False)])
def test_a_peg_is_half_way_through_the_box(deep, good):
    arm = Arm("PegInsertionSide", seed=1)
    hole, yaw = arm.get("box_hole_pos"), yaw_of(arm.get("box_hole_pose"))
    along = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    put(arm, hole + (deep - 0.105) * along, about(yaw))
    arm.act(np.zeros(8))
    assert arm.get("peg_head_pos") == pytest.approx(hole + deep * along, abs=0.02)
    assert arm.succeeded is good


@pytest.mark.parametrize(("out", "turn", "good"), [(0.0, 0.0, True), (0.01, 0.0, False), (0.03, 0.0, False)])
def test_a_charger_is_in_its_socket(out, turn, good):
    arm = Arm("PlugCharger", seed=1)
    goal, yaw = arm.get("goal_pos"), yaw_of(arm.get("goal_pose"))
    put(arm, goal - out * np.array([math.cos(yaw), math.sin(yaw), 0.0]), about(yaw + turn))
    arm.wait(1)
    assert arm.get("obj_to_goal_dist") == pytest.approx(out, abs=4e-3) or out > 0.016
    arm.wait(5)  # it tilts on its pins, or falls
    assert arm.succeeded is good


def test_a_charger_turns_towards_its_socket():
    arm = Arm("PlugCharger", seed=1)
    goal, yaw = arm.get("goal_pos"), yaw_of(arm.get("goal_pose"))
    put(arm, goal - [0.2, 0.0, 0.0], about(yaw + 0.7))
    arm.wait(1)
    assert arm.get("obj_to_goal_angle") == pytest.approx(0.7, abs=0.02)
    opens = arm.get("receptacle_pose")
    assert abs(math.cos(yaw_of(opens)) + math.cos(yaw)) < 1e-5, "it opens towards where the charger comes from"
