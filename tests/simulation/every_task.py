"""Tasks for `pytest.mark.parametrize`: of those that share their code, one is in the default tier."""

import pytest

from simulation import catalog

AT_A_TABLE = [name for name, info in catalog.list_tasks().items() if "tcp_pose" in info.inputs]
"""Panda at a table: `simulation/robots/tabletop.py` does most for all of them."""
WITH_TWO_HANDS = [name for name, info in catalog.list_tasks().items() if "fingertip_another_pos" in info.inputs]
"""Two ShadowHands: `simulation/robots/two_hands.py` does."""
OF_THE_H1 = [name for name, info in catalog.list_tasks().items() if "torso_upright" in info.inputs]
"""A humanoid at work: `simulation/robots/h1.py` does."""
FIRST = ("PickCube", "DoorCloseOutward", "HumanoidPush")
SHARED = (*AT_A_TABLE, *WITH_TWO_HANDS, *OF_THE_H1)
TASKS = [
    pytest.param(name, marks=pytest.mark.exhaustive if name in {*SHARED} - {*FIRST} else ())
    for name in catalog.list_tasks()
]
