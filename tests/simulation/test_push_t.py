"""PushT: pushes that are planned one by one cover the outline; the same pushes in the wrong direction do not."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from tests.simulation.arm import CLOSED, Arm, point_down

pytestmark = pytest.mark.slow

DOWN = point_down(0.0)
LENGTH = 0.07
"""Metres: how far from its middle the T rubs on the table, on the mean."""
LOW, HIGH, AWAY = 0.022, 0.09, 0.025
"""Heights of the fingers in m while they push and while they go elsewhere, and how far before the T they begin."""
FINGERS = np.array([0.00875, 0.0152])
"""Half the width of the two closed fingers along x and y, in m."""
LENGTHS = (0.003, 0.006, 0.01, 0.015, 0.02, 0.03, 0.045, 0.06)
"""How far a push may go, in m."""
SIDES = (
    ((-0.1, -0.0625), (0.1, -0.0625), (0, 1)),
    ((-0.1, -0.0125), (-0.047, -0.0125), (0, -1)),
    ((0.047, -0.0125), (0.1, -0.0125), (0, -1)),
    ((-0.1, -0.0625), (-0.1, -0.0125), (1, 0)),
    ((0.1, -0.0625), (0.1, -0.0125), (-1, 0)),
    ((-0.025, 0.0095), (-0.025, 0.1375), (1, 0)),
    ((0.025, 0.0095), (0.025, 0.1375), (-1, 0)),
    ((-0.025, 0.1375), (0.025, 0.1375), (0, -1)),
)
"""Where the fingers fit at the T's sides, in its frame in m: from, to, and the direction in which they push."""


def list_places() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every centimetre of the sides, with the direction in which to push there, in the T's frame."""
    for first, last, way in SIDES:
        side = np.subtract(last, first)
        length = np.linalg.norm(side)
        for along in np.arange(0.01, length - 0.005, 0.01):
            yield first + side / length * along, np.array(way, dtype=float)


PLACES = list(list_places())


def plan_push(arm: Arm, towards: float) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Place, direction, and length in m of the push that brings the T nearest to its outline; None if none does.

    A T that is pushed slowly turns as much as the push points past its middle. With `towards` -1 the T is brought away.
    """
    middle, yaw = arm.get("obj_pos")[:2], float(arm.get("obj_yaw"))
    left = arm.get("goal_pos")[:2] - middle
    turn = (float(arm.get("goal_yaw")) - yaw + math.pi) % (2 * math.pi) - math.pi
    frame = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    best, most = None, 0.0
    for place, way in PLACES:
        spot, push = frame @ place, frame @ way
        lever = (spot[0] * push[1] - spot[1] * push[0]) / LENGTH
        for length in LENGTHS:
            moved = length / (1 + lever * lever)
            off = left - moved * push
            gain = towards * (left @ left + (LENGTH * turn) ** 2 - off @ off - (LENGTH * turn - moved * lever) ** 2)
            if gain > most:
                best, most = (middle + spot, push, length), gain
    return best


def push_t(seed: int, pushes: int, towards: float = 1.0) -> Arm:
    """Push until the episode ends, or this often."""
    arm = Arm("PushT", seed, patient=True)
    for number in range(pushes):
        push = plan_push(arm, towards)
        if arm.ended or push is None:
            break
        spot, way, length = push
        corner = FINGERS * np.sign(way) * (np.abs(way) > 0.1)
        before, way = np.append(spot - corner - AWAY * way, LOW), np.append(way, 0.0)
        above = np.append(before[:2], HIGH)
        if number == 0:
            arm.turn_hinges(above, DOWN, CLOSED, near=0.03)
        arm.reach(above, CLOSED, DOWN, near=0.01, most=40)
        arm.reach(before, CLOSED, DOWN, near=0.004, most=25)
        for far in np.linspace(0.0, AWAY + length, 5 + int(length / 0.008))[1:]:
            arm.reach(before + far * way, CLOSED, DOWN, near=0.0015, most=6)
        arm.reach(before, CLOSED, DOWN, near=0.01, most=10)
        arm.reach(above, CLOSED, DOWN, near=0.02, most=20)
    return arm


def test_a_t_that_is_pushed_onto_its_outline_succeeds():
    for seed in (0, 3):
        arm = push_t(seed, pushes=40)
        assert arm.succeeded and arm.get("inter_area") >= 0.9, seed


def test_a_t_that_is_pushed_the_other_way_does_not():
    arm = push_t(3, pushes=6, towards=-1.0)
    assert not arm.ended and arm.get("inter_area") < 0.4
