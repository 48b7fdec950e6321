"""AntPatrolAndReturn's hidden half: phases, metric, and the marker over the place to go to."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation.robots.legged import Ant
from simulation.tasks.ant_patrol_and_return.info import INFO
from simulation.tasks.ant_patrol_and_return.observations import compute_observations
from simulation.worlds import Worlds

START = (0.0, 0.0, 0.0)
CHECKPOINT = (4.0, 0.0, 0.0)
REACHED = 0.5
"""Metres on the ground within which a place counts as reached."""
MARKER_HEIGHT = 1.0


class Task(Ant):
    """Ant's body, asked to run to a checkpoint and back."""

    info = INFO

    def __init__(self, model: mujoco.MjModel) -> None:
        super().__init__(model)
        self._places = torch.tensor((CHECKPOINT, START))

    def begin(self, env: Worlds) -> None:
        """On the way out."""
        env.root_states = torch.cat((env.start_qpos[:, 0:3], torch.zeros(env.num_envs, 10)), dim=-1)
        env.phase = torch.zeros(env.num_envs)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached; the way back begins at the checkpoint."""
        env.last_position = env.root_states[:, 0:3]
        self.read(env)
        env.phase = torch.where(self._at(env, self._places[0]), torch.ones_like(env.phase), env.phase)
        env.targets = self._places[env.phase.long()]
        compute_observations(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """1 where the robot is back at the start after the checkpoint (n,), at the end of an episode."""
        back = (env.phase > 0) & self._at(env, self._places[1]) & ~self.terminated(env)
        return back.to(torch.float32), ended

    def mocap(self, env: Worlds) -> Tensor:
        """The marker, over the place to go to (n, 1, 7)."""
        above = env.targets + torch.tensor((0.0, 0.0, MARKER_HEIGHT))
        level = torch.tensor((0.0, 0.0, 0.0, 1.0)).repeat(env.num_envs, 1)
        return torch.cat((above, level), dim=-1).unsqueeze(1)

    def _at(self, env: Worlds, place: Tensor) -> Tensor:
        distance: Tensor = torch.linalg.vector_norm(env.root_states[:, 0:2] - place[0:2], dim=-1)
        return distance < REACHED
