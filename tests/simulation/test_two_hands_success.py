"""Each task with two hands: a scripted motion solves it, a wrong one does not."""

import math

import numpy as np
import pytest

from tests.simulation.hands import Hands, bend


def face_to_face(x: float, y: float, z: float, yaw: float = 0.0) -> dict:
    """Palms that face each other, fingers along -x, at y and -y."""
    right, left = ((x, y, z), (math.pi, 1.57, 1.57 + yaw)), ((x, -y, z), (math.pi, -1.57, 1.57 - yaw))
    return {"right": right, "left": left}


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
