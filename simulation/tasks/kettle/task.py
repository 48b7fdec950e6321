"""Kettle's hidden half: start, end, success."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from simulation.robots.two_hands import TwoHands, offset_by
from simulation.tasks.kettle.observations import compute_observations
from simulation.worlds import Worlds

HANDLE, SPOUT, OPENING = (0.15, 0.0, 0.0), (-0.2, 0.0, 0.07), (0.0, 0.0, 0.045)
"""Points of the kettle, and the middle of the bucket's opening, in their own frames in m."""
NEAR = 0.05
"""Metres from the spout to the bucket's opening within which the kettle can pour."""
FLOOR = 0.2
"""Height in m of a bucket that has been pushed off the table."""
GOAL = (0.0, 0.0, 10.5)
"""Bi-DexHands' goal in m: 10 m above the kettle. Nothing reaches it, and success does not read it."""


class Task(TwoHands):
    """A kettle and a bucket on a table."""

    places = ((0.55, 0.2, 0.6, math.pi, 1.57, 1.57), (0.55, -0.2, 0.6, math.pi, -1.57, 1.57))

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        self.read_object(env)
        env.kettle_handle_pos = offset_by(env.object_pose, HANDLE)
        env.kettle_spout_pos = offset_by(env.object_pose, SPOUT)
        env.bucket_handle_pos = offset_by(self.read_thing(env, 7), OPENING)
        env.goal_pos = env.object_pos.new_tensor(GOAL).repeat(env.num_envs, 1)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The bucket has fallen, (n,) bool."""
        return env.bucket_handle_pos[:, 2] <= FLOOR

    def succeeded(self, env: Worlds) -> Tensor:
        """The spout is at the bucket's opening, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.bucket_handle_pos - env.kettle_spout_pos, dim=-1)
        return apart < NEAR
