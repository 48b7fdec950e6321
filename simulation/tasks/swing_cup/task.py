"""SwingCup's hidden half: start, goal, end, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.two_hands import TwoHands, offset_by
from simulation.rotations import quat_conjugate, quat_mul
from simulation.tasks.swing_cup.observations import compute_observations
from simulation.worlds import Worlds

GOAL = (0.0, 0.0, math.sin(-math.pi / 4), math.cos(math.pi / 4))
"""How the cup should be turned: xyzw of a quarter turn about the vertical, the other way than at the start."""
RIGHT, LEFT = (0.062, 0.0, 0.0), (-0.06, 0.0, 0.0)
"""The handles in the cup's frame, in m; at the start the first is at the right hand."""
NEAR = 0.785
"""Radians from the goal within which the cup is turned."""
FLOOR = 0.3
"""Height in m of a cup that has been pushed off the table."""


class Task(TwoHands):
    """A cup with two handles between two palms."""

    places = ((0.35, 0.2, 0.8, math.pi, 1.57, 1.57), (0.35, -0.2, 0.8, math.pi, -1.57, 1.57))
    push = 0.1

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read_object(env)
        env.goal_pos = self._things[:3].repeat(env.num_envs, 1)
        env.goal_rot = env.object_pos.new_tensor(GOAL).repeat(env.num_envs, 1)
        env.goal_pose = torch.cat((env.goal_pos, env.goal_rot), dim=-1)
        env.cup_right_handle_pos = offset_by(env.object_pose, RIGHT)
        env.cup_left_handle_pos = offset_by(env.object_pose, LEFT)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The cup has fallen, (n,) bool."""
        return env.object_pos[:, 2] <= FLOOR

    def succeeded(self, env: Worlds) -> Tensor:
        """The cup is turned as it should be, (n,) bool: the angle between them is 2 asin |vec(q conj(g))|."""
        difference = quat_mul(env.object_rot, quat_conjugate(env.goal_rot))
        sine: Tensor = torch.linalg.vector_norm(difference[:, 0:3], dim=-1)
        return sine < math.sin(NEAR / 2)
