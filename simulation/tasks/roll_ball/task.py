"""RollBall's hidden half: start, goal, success."""

from __future__ import annotations

import torch
from torch import Tensor

from simulation.robots.tabletop import HINGES, Tabletop, lay, spread, stand_flat, to_pose
from simulation.tasks.roll_ball.observations import compute_observations
from simulation.worlds import Worlds

RADIUS, GOAL_RADIUS = 0.035, 0.1
HIT_BEHIND, HIT_NEAR = RADIUS + 0.05, 0.04
"""Metres behind the ball's middle from which to hit it, and within which the gripper counts as there."""


class Task(Tabletop):
    """A ball that has rolled to a disc out of the arm's reach."""

    columns = 4

    def place(self, noise: Tensor) -> Tensor:
        """The ball's free joint (n, 7), before the robot."""
        return lay(spread(noise[:, 0], -0.4, 0.2), spread(noise[:, 1], 0.5, 0.7), RADIUS)

    def begin(self, env: Worlds) -> None:
        """A disc anywhere at the other end of the table; the ball is not reached yet."""
        x, y = spread(env.noise[:, HINGES + 2], -0.4, 0.2), spread(env.noise[:, HINGES + 3], -0.9, -0.7)
        env.goal_pos = torch.stack((x, y, torch.zeros(env.num_envs)), dim=-1)
        env.reached_status = torch.zeros(env.num_envs)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        things, speeds = self.read(env)
        env.ball_pose, env.ball_vel = to_pose(things), speeds[:, 0:3]
        env.ball_pos = env.ball_pose[:, 0:3]
        away = torch.nn.functional.normalize(env.ball_pos - env.goal_pos, dim=-1)
        apart = torch.linalg.vector_norm(env.ball_pos + HIT_BEHIND * away - env.tcp_pos, dim=-1)
        env.reached_status = torch.maximum(env.reached_status, (apart < HIT_NEAR).float())
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The ball's middle is above the disc, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.ball_pos[:, :2] - env.goal_pos[:, :2], dim=-1)
        return apart < GOAL_RADIUS

    def mocap(self, env: Worlds) -> Tensor:
        """The disc, (n, 1, 7)."""
        return stand_flat(env.goal_pos)
