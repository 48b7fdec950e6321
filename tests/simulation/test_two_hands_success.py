"""Each task with two hands: a scripted motion solves it, a wrong one does not."""

import math

import numpy as np
import pytest

from tests.simulation.hands import Hands, bend

RIGHT, LEFT = (math.pi, 1.57, 1.57), (math.pi, -1.57, 1.57)
"""Fingers along -x; the right palm looks along -y, the left palm along y."""
UP, UP_BACK = (0.0, 0.0, 0.0), (0.0, 0.0, math.pi)
"""Palms up; fingers along -y, and along y."""


def face_to_face(x: float, y: float, z: float, yaw: float = 0.0) -> dict:
    """Palms that face each other, fingers along -x, at y and -y."""
    right, left = (math.pi, 1.57, 1.57 + yaw), (math.pi, -1.57, 1.57 - yaw)
    return {"right": ((x, y, z), right), "left": ((x, -y, z), left)}


@pytest.mark.parametrize(("behind", "good"), [(True, True), (False, False)])
def test_fingers_behind_the_handles_close_the_door(behind, good):
    """Between the handles and the wings, or beside the handles."""
    hands = Hands("DoorCloseOutward")
    beside = 0.376 if behind else 0.25
    hands.move(20, **face_to_face(0.1, beside, 0.66))
    hands.move(25, **face_to_face(-0.3, beside, 0.66))
    for angle in np.arange(0.14, 0.5, 0.14):
        x, y = -0.3 * math.cos(angle) + 0.05 * math.sin(angle), 0.4265 - 0.3 * math.sin(angle) - 0.05 * math.cos(angle)
        hands.move(8, **face_to_face(x, y, 0.66, angle))
    assert hands.solved is good and not hands.ended


def test_a_hand_far_from_its_handle_ends_the_episode():
    hands = Hands("DoorCloseOutward")
    hands.move(40, **face_to_face(0.5, 0.3, 0.9))
    assert hands.step.terminated.item() and not hands.solved


THUMB = (-0.07, 0.97, 0, 0, 0)


@pytest.mark.parametrize(("wrist", "good"), [(0.43, True), (0.0, False)])
def test_a_flick_of_the_wrist_throws_the_egg_into_the_other_palm(wrist, good):
    """From a sloping palm; a weak flick drops it between the hands."""
    hands = Hands("Over")
    hands.move(13, shapes=(bend((0.21, 0.04), THUMB, (-0.02, -0.56)), bend(0.69, wrist=(0, -0.17))))
    hands.move(5, shapes=(bend((0.21, 0.04), THUMB, (-0.02, wrist)), None))
    hands.move(60, shapes=(bend((0.54, 0.59), THUMB, (-0.02, wrist)), None))
    assert hands.solved is good and hands.step.terminated.item() is not good


def test_an_egg_in_the_right_palm_has_not_arrived():
    hands = Hands("Over")
    assert hands.get("goal_pos") == pytest.approx([0, -0.64, 0.54])
    hands.move(75, shapes=(bend(0.8), None))
    assert not hands.solved and hands.step.truncated.item() and hands.get("object_pos")[2] > 0.5


@pytest.mark.parametrize(("left_goal", "good"), [(-0.27, True), (-0.42, False)])
def test_the_spout_comes_to_the_bucket(left_goal, good):
    """One hand pushes the kettle's handle, the other the bucket, or not."""
    hands = Hands("Kettle")
    hands.move(15, ((0.15, 0.27, 0.5), RIGHT), ((0.15, -0.42, 0.55), LEFT), (bend(0.1), None))
    hands.move(15, ((0.0, 0.27, 0.5), RIGHT), ((0.03, -0.42, 0.46), LEFT))
    hands.move(30, ((0.0, 0.12, 0.5), RIGHT), ((0.03, left_goal, 0.46), LEFT))
    assert hands.solved is good and not hands.ended


@pytest.mark.slow
@pytest.mark.parametrize(("height", "good"), [(0.65, True), (0.76, False)])
def test_the_block_is_pushed_to_the_bucket(height, good):
    """By the back of a hand at its height, or by one above it."""
    hands = Hands("GraspAndPlace")
    hands.move(90, None, ((0.1, -0.27, 0.76), RIGHT))
    hands.move(20, None, ((0.0, -0.29, 0.76), RIGHT))
    for y in np.arange(-0.29, 0.01, 0.02):
        hands.move(5, None, ((0.0, y, height), RIGHT))
    assert hands.solved is good and not hands.ended


def test_a_hand_far_from_its_block_ends_the_episode():
    hands = Hands("GraspAndPlace")
    hands.move(40, None, ((0.4, -0.3, 0.9), LEFT))
    assert hands.step.terminated.item() and not hands.solved


@pytest.mark.parametrize(("below", "good"), [(True, True), (False, False)])
def test_hands_below_both_handles_lift_the_pot(below, good):
    hands = Hands("LiftUnderarm")
    assert hands.get("goal_pos") == pytest.approx([0, -0.6, 0.85])
    inwards = 0.0 if below else 0.12
    hands.move(20, ((0, -0.385 + inwards, 0.445), UP), ((0, -0.815 - inwards, 0.445), UP_BACK))
    hands.move(60, ((0, -0.385 + inwards, 0.88), UP), ((0, -0.815 - inwards, 0.88), UP_BACK))
    assert hands.solved is good and hands.ended is not good, "empty hands soon are too far above the handles"


@pytest.mark.slow
@pytest.mark.parametrize("good", [True, False])
def test_both_hands_turn_the_cup_further_than_one(good):
    """The right hand pushes its handle away, the left one then sweeps the other handle around."""
    hands = Hands("SwingCup")
    hands.move(35, ((0.17, 0.055, 0.68), RIGHT), ((0.17, -0.12, 0.68), LEFT))
    hands.move(40, ((0.03, 0.055, 0.68), RIGHT))
    assert 2 * math.atan2(*hands.get("object_rot")[2:]) == pytest.approx(2.5, abs=0.2), "from 1.57, to -1.57 or 4.71"
    if good:
        hands.move(25, ((0.1, 0.13, 0.68), RIGHT))
        hands.move(60, None, ((0.142, 0.07, 0.68), LEFT))
        hands.move(80, None, ((0.142, 0.27, 0.68), LEFT))
    assert hands.solved is good and not hands.ended


@pytest.mark.parametrize(("task", "first"), [("Kettle", 69), ("LiftUnderarm", 62), ("SwingCup", 62)])
def test_what_has_fallen_ends_the_episode(task, first):
    hands = Hands(task)
    hands.put({first: 1.0, first + 1: -0.6, first + 2: 0.15})
    hands.move(1)
    assert hands.step.terminated.item() and not hands.solved


@pytest.mark.parametrize("good", [True, False])
def test_a_swing_throws_the_egg_across_the_gap(good):
    """Base, wrist and fingers throw together; the wrist alone is too weak."""
    hands = Hands("CatchUnderarm")
    assert hands.get("goal_pos") == pytest.approx([0, -0.79, 0.54])
    thumb, left, swing = (0.74, -0.04, 0, 0, 0), bend(0.35), np.array([-0.21, -0.5, 0.83, -1.0, -0.11, 0.2]) * good
    hands.push(15, np.zeros(6), (bend((0.15, -0.02), thumb, (0.08, -0.6)), left))
    hands.push(1, swing, (bend((0.15, -0.02), thumb, (0.08, 0.53)), left))
    hands.push(14, swing, (bend((0.09, 0.83), thumb, (0.08, 0.53)), left))
    hands.push(45, np.zeros(6), (bend((0.09, 0.83), thumb, (0.08, 0.53)), left))
    assert hands.solved is good and hands.ended


@pytest.mark.parametrize("good", [True, False])
def test_a_swing_throws_the_egg_sideways(good):
    """The hand draws back and swings for a twentieth of a second, or too shortly."""
    hands = Hands("CatchAbreast")
    assert hands.get("goal_pos") == pytest.approx([-0.39, -1.15, 0.54])
    thumb, left, swing = (1.71, 0.77, 0, 0, 0), bend(0.12, wrist=(0, 0.06)), [0.08, -1.35, 1.42, 0.16, 0.61, 0.14]
    hands.push(9, np.zeros(6), (bend((0.78, -0.08), thumb, (-0.34, -0.08)), left))
    hands.push(1, -0.9 * np.array(swing), (bend((0.78, -0.08), thumb, (-0.34, -0.08)), left))
    hands.push(3 if good else 1, swing, (bend((0.05, 0.23), thumb, (-0.34, -0.11)), left))
    hands.push(60, np.zeros(6), (bend((0.05, 0.23), thumb, (-0.34, -0.11)), left))
    assert hands.solved is good


def test_a_hand_that_leaves_its_place_ends_the_episode():
    hands = Hands("CatchAbreast")
    hands.push(12, np.array([0.0, 1.0, 0, 0, 0, 0]), (bend(), bend()))
    assert hands.step.terminated.item() and not hands.solved


@pytest.mark.slow
@pytest.mark.parametrize(("lift", "good"), [(0.05, True), (0.0, False)])
def test_the_red_block_is_set_on_the_green_one(lift, good):
    """The right hand pushes its block to the middle, the left one grasps the other and lifts it, or only drags it."""
    hands = Hands("BlockStack")
    down, back = (math.pi, 0, math.pi), (math.pi, 0, 0)
    above, at = ((0.02, -0.12, 0.69), back), ((0.02, -0.12, 0.66), back)
    open_hand = bend((0.02, 0.32), (0.14, 0.22, -0.13, 0.74, 0), (0, -0.55))
    hands.move(25, ((0, 0.16, 0.65), down), above, (bend(0.5), open_hand))
    hands.move(15, None, at)
    hands.move(5, ((0, 0.1, 0.65), down))
    hands.move(45, shapes=(None, bend((1.15, 0.72), (0.14, 0.75, -0.13, 0.74, -0.92), (0, -0.55))))
    hands.move(30, None, ((0.02, -0.12, 0.66 + lift), back))
    hands.move(60, None, ((0.02, -0.03, 0.66 + lift), back))
    assert hands.solved is good and not hands.ended


@pytest.mark.slow
@pytest.mark.parametrize("good", [True, False])
def test_the_cap_is_pulled_off(good):
    """The left hand grips the bottle; the right one closes around the cap and draws it off, or only holds it."""
    hands = Hands("BottleCap")
    down, tilted = (0.5, math.pi, math.pi), (0, 0.87, 0)
    grip = bend((1.03, 1.16), (0.82, 0.18, 0, 0.12, -0.19), (0, 0.16))
    shapes = [bend(0.55, (1.0, 0, 0, 0.23, 0), (0, 0.08)), bend((1.36, 1.26), (1.0, 0.82, 0, 0.23, -0.04), (0, 0.08))]
    left = hands.get("left_hand_pos") + [0.02, 0.03, 0.01], tilted
    for _ in range(30):
        place = hands.get("bottle_cap_pos") + [-0.01, -0.02, -0.01]
        hands.move(1, (place, down), left, (shapes[0], grip))
    hands.move(17, (place, down))
    hands.move(14, shapes=(shapes[1], None))
    hands.move(64, (place + 0.07 * good * np.array([-0.64, 0, 0.76]), down))
    assert hands.solved is good


def test_a_bottle_that_is_not_held_is_dropped():
    hands = Hands("BottleCap")
    hands.move(60, None, ((0.1, -0.6, 0.38), (0, 0.87, 0)))
    assert hands.step.terminated.item() and not hands.solved


GOALS = {"BottleCap": (0, -0.6, 1.5), "DoorCloseOutward": (0, 0, 10.7), "GraspAndPlace": (-0.3, 0, 0.6)}


@pytest.mark.parametrize(("task", "goal"), [*GOALS.items(), ("Kettle", (0, 0, 10.5))])
def test_rewards_may_read_the_goal_that_success_does_not(task, goal):
    hands = Hands(task)
    hands.move(1)
    assert hands.get("goal_pos") == pytest.approx(goal)
