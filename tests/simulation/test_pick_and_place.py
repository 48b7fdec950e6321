"""PickCube: starts, scripted motions, success."""

import numpy as np
import torch

from simulation.environment import Environment
from tests.simulation.arm import CLOSED, OPEN, Arm, find_yaw, point_down


def grasp(arm: Arm, thing: str, pose: str) -> np.ndarray:
    """Close the fingers around a thing; returns the hand's rotation."""
    place, turn = arm.get(thing), point_down(find_yaw(arm.get(pose)))
    arm.move(place + [0, 0, 0.08], OPEN, 8, turn)
    arm.move(place, OPEN, 7, turn)
    arm.move(place, CLOSED, 4, turn)
    return turn


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
