"""Each task of the H1: a scripted motion solves it, a wrong one does not. Where it would have to walk, it is pulled."""

import numpy as np
import pytest
import torch

from tests.simulation.h1 import ScriptedH1

pytestmark = pytest.mark.slow
THING = 32
"""Where the joints of things begin in qpos."""
STANDING = {THING + 3: 1.0, THING + 4: 0.0, THING + 5: 0.0, THING + 6: 0.0}


def disturb(robot: ScriptedH1, size: float) -> None:
    """Move everything a little: a script that must hit a state to the last digit solves nothing."""
    robot.put({i: value + size * ((7 * i) % 3 - 1) for i, value in enumerate(robot.env.qpos(0))})


AT_LENGTH = [pytest.param(True, size, marks=pytest.mark.exhaustive) for size in (1e-7, -1e-7)]
DISTURBED = pytest.mark.parametrize(("good", "size"), [(True, 0.0), (False, 0.0), *AT_LENGTH])


def test_it_stands_for_ten_seconds():
    robot = ScriptedH1("HumanoidPush")
    robot.stand(499)
    assert robot.step.truncated.item() and not robot.solved
    assert robot.pelvis[2] == pytest.approx(0.96, abs=0.03) and robot.get("torso_upright") > 0.99


@DISTURBED
def test_both_hands_push_the_box_to_its_goal(good, size):
    """From its near side, or above it."""
    robot = ScriptedH1("HumanoidPush", seed=183)
    assert robot.get("goal") == pytest.approx([0.80, 0.0, 1.0], abs=0.01)
    disturb(robot, size)
    height = 1.0 if good else 1.25

    def behind(side: float, gap: float):
        return lambda: robot.get("box") * [1, 1, 0] + [-gap, 0.06 * side, height]

    robot.stand(60, 0.02, left=behind(1, 0.2), right=behind(-1, 0.2))
    assert not robot.solved and not robot.ended
    robot.stand(60, 0.008, left=behind(1, 0.06), right=behind(-1, 0.06))
    assert robot.solved is good and robot.ended is good and robot.pelvis[2] > 0.9, "success ends it"


@DISTURBED
def test_a_crouching_robot_pushes_the_package_to_its_destination(good, size):
    """Straight ahead; a destination aside is missed."""
    robot = ScriptedH1("HumanoidPackage")
    robot.put({THING: 0.95, THING + 1: 0.0, THING + 2: 0.35, **STANDING})
    disturb(robot, size)
    robot.env._state.package_destination = torch.tensor([[1.3, 0.0 if good else 0.5, 0.35]])
    bent = {"hip_pitch": -1.05, "knee": 2.0, "ankle": -0.87}
    robot.targets |= {f"{side}_{name}": angle for side in ("left", "right") for name, angle in bent.items()}

    def ahead(side: float):
        return lambda: (robot.pelvis[0] + 0.38, 0.1 * side, 0.5)

    robot.carry(40, 0.0, 0.68, left=ahead(1), right=ahead(-1))
    assert not robot.solved and not robot.ended
    robot.carry(120, 0.5, 0.68, left=ahead(1), right=ahead(-1))
    assert robot.solved is good and robot.ended is good


@DISTURBED
def test_bent_fingers_turn_the_handle_and_pull_the_door_open(good, size):
    """A handle that is not pressed down keeps it locked."""
    robot = ScriptedH1("HumanoidDoor")
    disturb(robot, size)
    robot.targets |= {"left_wrist_yaw": 1.57, "left_shoulder_roll": 0.0}
    robot.carry(40, 0.15, left=(0.5, 0.3, 1.36))
    robot.carry(40, left=(0.70, 0.24, 1.36))
    robot.targets["left_fingers"] = 1.4
    robot.carry(25, left=(0.70, 0.24, 1.27))
    if good:
        robot.carry(30, left=(0.70, 0.24, 1.10))
    gap, height = 0.70 - robot.pelvis[0], 1.10 if good else 1.2
    robot.carry(120, -0.15, left=lambda: (robot.pelvis[0] + gap, 0.24, height))
    assert (robot.get("door_hinge") > 0.25) == good and (robot.get("door_hinge") < 0.03) != good
    assert not robot.solved and not robot.ended


@DISTURBED
def test_who_walks_out_through_the_open_door_has_solved_it(good, size):
    """The closed one is in the way; afterwards the episode goes on."""
    robot = ScriptedH1("HumanoidDoor")
    robot.put({1: 0.2, THING: 1.35 if good else 0.0})
    disturb(robot, size)
    robot.carry(90, 1.0)
    assert robot.solved is good and not robot.ended
    assert (robot.get("imu_position")[0] > 1.5) == good


@DISTURBED
def test_a_ball_between_the_palms_is_dropped_into_the_basket(good, size):
    """The robot is lifted above the rim; a ball that is let go before it falls to the ground."""
    robot = ScriptedH1("HumanoidBasketball")
    robot.put({0: 4.6, THING: 5.02, THING + 1: 0.0, THING + 2: 1.12, **STANDING}, dict.fromkeys(range(31, 37), 0.0))
    robot.put({}, {33: 1.2})
    disturb(robot, size)
    height = 0.98

    def palm(side: float, width: float):
        return lambda: (robot.pelvis[0] + 0.47, width * side, robot.pelvis[2] + 0.1)

    def carry(steps: int, speed: float, width: float = 0.09) -> None:
        robot.carry(steps, speed, height, left=palm(1, width), right=palm(-1, width))

    carry(45, 0.0)
    assert np.linalg.norm(robot.get("basketball_position") - robot.pelvis - [0.4, 0, 0.1]) < 0.15, "it holds the ball"
    robot.targets |= {"left_hip_pitch": 1.5, "right_hip_pitch": 1.5}  # legs back: its knees would hit the basket
    while robot.get("basketball_position")[2] < 2.45 and not robot.ended:
        height += 0.012
        carry(1, 0.0)
    while robot.get("basketball_position")[0] < (5.87 if good else 5.4) and not robot.ended:
        carry(4, 0.4)
    carry(12, 0.0)
    assert not robot.solved and not robot.ended
    carry(50, 0.0, 0.3)
    assert robot.solved is good and robot.ended
