"""HumanoidBasketball's hidden half: the ball's flight, end, success."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation.robots.h1 import H1, JOINTS
from simulation.robots.h1_info import CONTROL_DT
from simulation.tasks.humanoid_basketball.observations import compute_observations
from simulation.worlds import Worlds

HOOP = (5.9, 0.0, 2.25)
NEAR = 0.05
"""Metres from the ball's middle to that of the hoop within which it goes in."""
AWAY, HEIGHT, SPEED = 1.5, 1.4549, 7.5
"""Metres from which the ball comes and above the ground, metres per second."""
WIDEST = 1.45
"""Radians to either side from which it may come."""
LOWEST_BALL = 0.5
"""Metres; a ball that is lower is lost."""
TOUCHED = 0.05
"""Metres per second by which a ball that is not in free flight changes its velocity within a step."""


class Task(H1):
    """A ball that flies to the robot, and a hoop."""

    columns = 1
    lowest = 0.5

    def __init__(self, model: mujoco.MjModel) -> None:
        super().__init__(model)
        self._fall = CONTROL_DT * torch.from_numpy(model.opt.gravity).float()
        self.constants["hoop_center"] = torch.tensor(HOOP)

    def place(self, qpos: Tensor, qvel: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """The ball ahead of the robot or to a side of it, on its way there."""
        side = (WIDEST * (2.0 * noise[:, 0] - 1.0)).double()
        towards = torch.stack((torch.cos(side), torch.sin(side)), dim=-1).to(qpos.dtype)
        qpos[:, 7 + JOINTS : 9 + JOINTS] = AWAY * towards
        qpos[:, 9 + JOINTS] = HEIGHT
        qvel[:, 6 + JOINTS : 8 + JOINTS] = -SPEED * towards
        return qpos, qvel

    def begin(self, env: Worlds) -> None:
        """Nobody has touched the ball."""
        super().begin(env)
        env.stage = torch.zeros(env.num_envs)
        env.basketball_velocity = env.start_qvel[:, 6 + JOINTS : 9 + JOINTS] - self._fall

    def look(self, env: Worlds) -> None:
        """Variables and observations of the state reached; a touch ends the ball's free flight."""
        flying = env.basketball_velocity + self._fall
        ball = self.read_thing(env)
        env.basketball_position, env.basketball_rotation = ball[:, 0:3], ball[:, 3:7]
        env.basketball_velocity, env.basketball_angular_velocity = ball[:, 7:10], ball[:, 10:13]
        touched = torch.linalg.vector_norm(env.basketball_velocity - flying, dim=-1) > TOUCHED
        env.stage = torch.maximum(env.stage, touched.float())
        compute_observations(env)

    def succeeded(self, env: Worlds) -> Tensor:
        """The ball is in the middle of the hoop, (n,) bool."""
        apart: Tensor = torch.linalg.vector_norm(env.basketball_position - env.hoop_center, dim=-1)
        return apart < NEAR

    def terminated(self, env: Worlds) -> Tensor:
        """The robot fell, the ball is lost or went in, (n,) bool."""
        return super().terminated(env) | (env.basketball_position[:, 2] < LOWEST_BALL)
