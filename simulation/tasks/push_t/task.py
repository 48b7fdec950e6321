"""PushT's hidden half: start, goal, success."""

from __future__ import annotations

import math

import mujoco
import torch
from torch import Tensor

from simulation.robots.tabletop import Tabletop, find_yaw, lay, spread, to_pose
from simulation.tasks.push_t.observations import compute_observations
from simulation.worlds import Worlds

GOAL_X, GOAL_Y, GOAL_YAW = -0.156, -0.1, 5 * math.pi / 3
COVERED = 0.9
"""Part of the outline that the T must cover."""
CELL = 0.01
"""Width in m of the squares in which the covered area is counted."""
PARTS = ((-0.1, 0.1, -0.0625, -0.0125), (-0.025, 0.025, -0.0125, 0.1375))
"""Lowest and highest x and y of bar and stem, in the T's frame."""
FLAT = 0.03
"""Metres above the table below which the T's middle must be."""


class Task(Tabletop):
    """A T that has been pushed onto its outline with closed fingers."""

    columns = 3
    rest = (0.662, 0.212, 0.086, -2.685, -0.115, 2.898, 1.673)
    fingers = 0.0

    def __init__(self, model: mujoco.MjModel) -> None:
        super().__init__(model)
        self._cells = list_cells()

    def place(self, noise: Tensor) -> Tensor:
        """The T's free joint (n, 7): up to 0.2 m from its outline, turned at random."""
        x, y = spread(noise[:, 0], GOAL_X - 0.1, GOAL_X + 0.1), spread(noise[:, 1], GOAL_Y - 0.1, GOAL_Y + 0.2)
        return lay(x, y, 0.02, 2.0 * math.pi * noise[:, 2])

    def begin(self, env: Worlds) -> None:
        """The outline is always at the same place."""
        env.goal_pos = torch.tensor([GOAL_X, GOAL_Y, 0.0]).repeat(env.num_envs, 1)
        env.goal_yaw = torch.full((env.num_envs,), GOAL_YAW)

    def control(self, env: Worlds) -> Tensor:
        """Targets of the nine position drives (n, 9) from actions (n, 8): the fingers stay closed."""
        return torch.cat((self.drive_hinges(env), torch.zeros(env.num_envs, 2)), dim=-1)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, _ = self.read(env)
        env.obj_pose = to_pose(things)
        env.obj_pos, env.obj_yaw = env.obj_pose[:, 0:3], find_yaw(env.obj_pose)
        env.inter_area = self._measure_cover(env)
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The T lies flat and covers its outline, (n,) bool."""
        return (env.inter_area >= COVERED) & (env.obj_pos[:, 2] < FLAT)

    def mocap(self, env: Worlds) -> Tensor:
        """The outline, (n, 1, 7)."""
        pose = torch.zeros(env.num_envs, 7)
        pose[:, 0:3] = env.goal_pos
        pose[:, 5], pose[:, 6] = math.sin(GOAL_YAW / 2), math.cos(GOAL_YAW / 2)
        return pose.unsqueeze(1)

    def _measure_cover(self, env: Worlds) -> Tensor:
        """The part of the T's cells that lie in the outline (n,), which is the part of the outline that it covers."""
        turn = (env.obj_yaw - env.goal_yaw).double()
        cosine, sine = torch.cos(turn).float().unsqueeze(-1), torch.sin(turn).float().unsqueeze(-1)
        away = env.obj_pos[:, 0:2] - env.goal_pos[:, 0:2]
        forward, left = math.cos(GOAL_YAW), math.sin(GOAL_YAW)
        along = (forward * away[:, 0] + left * away[:, 1]).unsqueeze(-1)
        aside = (forward * away[:, 1] - left * away[:, 0]).unsqueeze(-1)
        x, y = self._cells
        there_x, there_y = along + cosine * x - sine * y, aside + sine * x + cosine * y
        inside = torch.zeros_like(there_x, dtype=torch.bool)
        for low_x, high_x, low_y, high_y in PARTS:
            inside |= (there_x > low_x) & (there_x < high_x) & (there_y > low_y) & (there_y < high_y)
        return inside.float().mean(dim=-1)


def list_cells() -> Tensor:
    """The middles of the squares that a T consists of (2, cells): x, y in m, in its frame."""
    cells = []
    for low_x, high_x, low_y, high_y in PARTS:
        columns, rows = round((high_x - low_x) / CELL), round((high_y - low_y) / CELL)
        cells += [
            (low_x + CELL * (column + 0.5), low_y + CELL * (row + 0.5))
            for column in range(columns)
            for row in range(rows)
        ]
    return torch.tensor(cells).T.contiguous()
