"""PickCube, PlaceSphere, StackCube, PokeCube, PlugCharger: scripted motions that grasp; PickCube's starts."""

import numpy as np
import pytest
import torch

from simulation import catalog
from simulation.environment import Environment
from simulation.rewards.contract import compile_reward
from tests.simulation.arm import CLOSED, OPEN, Arm, find_yaw, point_down

DOWN = point_down(0.0)


def grasp(arm: Arm, thing: str, pose: str) -> np.ndarray:
    """Close the fingers around a thing; returns the hand's rotation."""
    place, turn = arm.get(thing), point_down(find_yaw(arm.get(pose)))
    arm.move(place + [0, 0, 0.08], OPEN, 8, turn)
    arm.move(place, OPEN, 7, turn)
    arm.move(place, CLOSED, 4, turn)
    return turn


@pytest.mark.slow
def test_a_cube_that_is_held_at_the_goal_succeeds():
    for seed in range(4):
        arm = Arm("PickCube", seed)
        turn = grasp(arm, "obj_pos", "obj_pose")
        arm.move(arm.get("goal_pos"), CLOSED, 40, turn)
        assert arm.succeeded, seed
        assert np.linalg.norm(arm.get("obj_to_goal_pos")) <= 0.025
        assert np.abs(arm.get("robot_qvel")[:7]).max() <= 0.2


def test_an_empty_hand_at_the_goal_or_a_cube_beside_it_does_not():
    arm = Arm("PickCube", seed=0)
    arm.move(arm.get("goal_pos"), CLOSED, 60)
    assert arm.ended and not arm.succeeded
    arm = Arm("PickCube", seed=0)
    turn = grasp(arm, "obj_pos", "obj_pose")
    arm.move(arm.get("goal_pos") + [0, 0.06, 0], CLOSED, 40, turn)
    assert arm.ended and not arm.succeeded and arm.get("is_grasped") == 1


def test_a_cube_that_only_passes_the_goal_does_not():
    arm = Arm("PickCube", seed=0)
    goal = arm.get("goal_pos")
    arm.put({9: goal[0], 10: goal[1], 11: goal[2]})
    arm.act(np.array([1.0, 0, 0, 0, 0, 0, 0, 1.0]))
    assert np.linalg.norm(arm.get("obj_to_goal_pos")) <= 0.025 and not arm.ended


def test_cubes_and_goals_begin_where_they_should():
    env = Environment("PickCube", worlds=400, seed=2)
    cube, goal = env.attributes["obj_pos"], env.attributes["goal_pos"]
    for place in (cube, goal):
        assert 0.098 < place[:, :2].abs().max() <= 0.1
    assert 0.02 <= goal[:, 2].min() < 0.025 and 0.315 < goal[:, 2].max() <= 0.32
    yaw = 2 * torch.atan2(env.attributes["obj_pose"][:, 5], env.attributes["obj_pose"][:, 6])
    assert yaw.cos().mean().abs() < 0.15 and yaw.sin().mean().abs() < 0.15
    assert torch.equal(env.obs_buf[:, 36:39], cube - env.attributes["tcp_pos"])


def place_ball(above: float = 0.003, beside: float = 0.0) -> Arm:
    """Grasp the ball, carry it to the bin or beside it, let go, go away."""
    arm = Arm("PlaceSphere", seed=0, patient=True)
    ball, there = arm.get("obj_pos"), arm.get("bin_pos") + [0.0, beside, 0.0225]
    arm.grasp(ball, DOWN, 0.06)
    assert arm.get("is_grasped") == 1
    arm.reach(ball + [0, 0, 0.06], CLOSED, DOWN, near=0.02)
    arm.reach(there + [0, 0, 0.05], CLOSED, DOWN)
    arm.reach(there + [0, 0, above], CLOSED, DOWN, most=20, near=0.001)
    assert not arm.ended, "it is held"
    arm.move(there + [0, 0, above], OPEN, 4)
    arm.move(there + [0, 0, 0.1], OPEN, 20)
    return arm


def test_a_ball_that_is_put_into_the_bin_succeeds_and_one_beside_it_does_not():
    assert place_ball().succeeded
    assert not place_ball(beside=0.06).ended


@pytest.mark.parametrize(("beside", "good"), [(0.0, True), (0.05, False)])
def test_a_cube_that_is_stacked_succeeds_and_one_that_is_put_beside_does_not(beside, good):
    arm = Arm("StackCube", seed=0, patient=True)
    first, turn = arm.get("cubeA_pos"), point_down(find_yaw(arm.get("cubeA_pose")))
    there = arm.get("cubeB_pos") + [beside, 0.0, 0.041]
    arm.grasp(first, turn)
    arm.reach(first + [0, 0, 0.09], CLOSED, turn, near=0.02)
    arm.reach(there + [0, 0, 0.05], CLOSED, turn)
    arm.reach(there, CLOSED, turn, most=20)
    assert not arm.ended, "it is held"
    arm.move(there, OPEN, 4, turn)
    arm.move(there + [0, 0, 0.1], OPEN, 20, turn)
    assert arm.succeeded is good


@pytest.mark.parametrize(("short", "good"), [(0.0, True), pytest.param(0.04, False, marks=pytest.mark.slow)])
def test_a_cube_that_is_poked_to_the_disc_succeeds_and_one_that_stops_before_it_does_not(short, good):
    arm = Arm("PokeCube", seed=2, patient=True)
    peg, cube, goal = arm.get("peg_pos"), arm.get("cube_pos"), arm.get("goal_pos")
    arm.grasp(peg, DOWN, 0.06)
    assert arm.get("is_grasped") == 1
    arm.reach([peg[0], cube[1], 0.03], CLOSED, DOWN, near=0.01)
    arm.reach([goal[0] - 0.17 - short, cube[1], 0.03], CLOSED, DOWN, most=60)
    arm.wait(10)
    assert arm.succeeded is good and arm.get("cube_pos")[0] > cube[0] + 0.02


def test_a_cube_that_is_pinched_by_its_top_is_not_paid_as_held():
    """Training found that fingers which stand aslant on the cube's top press on it as a grasp does (2026-11-28)."""
    reward = compile_reward(catalog.read_reference_reward("PickCube"), "PickCube")

    def earn(height: float, grasped: float, width: float = 0.04) -> float:
        total, _ = reward(
            {
                "tcp_pos": torch.tensor([[0.0, 0.0, 0.02 + height]]),
                "obj_pos": torch.tensor([[0.0, 0.0, 0.02]]),
                "goal_pos": torch.tensor([[0.1, 0.0, 0.2]]),
                "is_grasped": torch.tensor([grasped]),
                "robot_qpos": torch.tensor([[0.0] * 7 + [width / 2.0] * 2]),
                "robot_qvel": torch.zeros(1, 9),
            }
        )
        return float(total)

    assert earn(0.028, 1.0, width=0.03) == earn(0.028, 0.0, width=0.08)
    assert earn(0.01, 0.0, width=0.08) < earn(0.01, 0.0, width=0.05) < earn(0.01, 1.0) - 0.5


def test_a_ball_that_is_held_as_loosely_as_it_can_be_earns_most_on_the_way_and_in_the_bin():
    """Training pressed with actions of -3, from which no exploration opened the fingers again (2026-11-28)."""
    reward = compile_reward(catalog.read_reference_reward("PlaceSphere"), "PlaceSphere")

    def earn(beside: float, command: float, grasped: float = 1.0) -> float:
        ball = torch.tensor([[0.05 + beside, 0.0, 0.0225 + 0.0025]])
        inputs = {"tcp_pos": ball, "obj_pos": ball, "bin_pos": torch.tensor([[0.05, 0.0, 0.0025]])}
        moves = {
            "robot_qpos": torch.zeros(1, 9),
            "obj_linvel": torch.full((1, 3), 0.02),
            "obj_angvel": torch.zeros(1, 3),
        }
        total, _ = reward(
            inputs | moves | {"is_grasped": torch.tensor([grasped]), "actions": torch.tensor([[0.0] * 7 + [command]])}
        )
        return float(total)

    for beside in (0.1, 0.0):
        assert earn(beside, -1.0) < earn(beside, -0.5) < earn(beside, 0.0)
    assert earn(0.1, 1.0) < earn(0.006, -1.0) < earn(0.006, 1.0) < earn(0.0, -1.0)
    assert earn(0.0, 1.0) < earn(0.0, 1.0, grasped=0.0)


def test_a_peg_above_the_cube_earns_less_than_one_behind_it():
    """Training found that a peg lifted above the cube was paid as one that touches it (2026-11-27)."""
    reward = compile_reward(catalog.read_reference_reward("PokeCube"), "PokeCube")

    def earn(head: tuple[float, float, float], cube_x: float = 0.14) -> float:
        head_pos = torch.tensor([head])
        peg = head_pos - torch.tensor([[0.12, 0.0, 0.0]])
        total, _ = reward(
            {
                "tcp_pos": peg,
                "peg_pos": peg,
                "peg_head_pos": head_pos,
                "cube_pos": torch.tensor([[cube_x, 0.0, 0.02]]),
                "goal_pos": torch.tensor([[0.24, 0.0, 0.0]]),
                "is_grasped": torch.ones(1),
                "angle_diff": torch.zeros(1),
                "robot_qpos": torch.zeros(1, 9),
                "robot_qvel": torch.ones(1, 9),
            }
        )
        return float(total)

    behind, above = earn((0.12, 0.0, 0.025)), earn((0.14, 0.0, 0.3))
    assert above < earn((0.06, 0.0, 0.025)) < behind < earn((0.16, 0.0, 0.025), cube_x=0.18)


@pytest.mark.parametrize(("beside", "good"), [(0.0, True), pytest.param(0.01, False, marks=pytest.mark.slow)])
def test_a_charger_that_is_plugged_in_succeeds_and_one_that_is_pushed_beside_the_holes_does_not(beside, good):
    arm = Arm("PlugCharger", seed=1, patient=True)
    charger, goal = arm.get("charger_pose"), arm.get("goal_pose")
    turns = [point_down(2.0 * np.arctan2(pose[5], pose[6])) for pose in (charger, goal)]
    back, ahead = (turn[:, 0] for turn in turns)
    middle = charger[:3] - 0.02 * back
    arm.grasp(middle, turns[0], 0.06)
    assert arm.get("is_grasped") == 1
    arm.reach(middle + [0, 0, 0.09], CLOSED, turns[0], near=0.02)
    there = goal[:3] + beside * turns[1][:, 1]
    arm.reach(there - 0.07 * ahead, CLOSED, turns[1], near=0.002)
    assert not arm.ended
    for left in (*[0.025] * 6, *np.linspace(0.02, -0.01, 16)):
        slip = arm.get("charger_pos") - (arm.get("tcp_pos") + 0.02 * ahead)  # of the charger in the hand
        slip -= slip @ ahead * ahead
        arm.reach(there - (0.02 + left) * ahead - slip, CLOSED, turns[1], most=6, near=0.0005)
    assert arm.succeeded is good
