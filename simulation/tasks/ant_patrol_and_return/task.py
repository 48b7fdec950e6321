"""AntPatrolAndReturn's hidden half: reset, control, phases, termination and metric."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation.tasks.ant import body
from simulation.tasks.ant_patrol_and_return.info import INFO
from simulation.tasks.ant_patrol_and_return.observations import compute_observations
from simulation.worlds import Worlds

START = (0.0, 0.0, 0.0)
CHECKPOINT = (4.0, 0.0, 0.0)
REACHED = 0.5
"""Metres on the ground within which a place counts as reached."""
MARKER_HEIGHT = 1.0


class Task:
    """Ant's body, asked to run to a checkpoint and back."""

    fields = body.FIELDS
    noise_size = body.NOISE_SIZE

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self._places = torch.tensor((CHECKPOINT, START))
        self.constants = body.constants(model, INFO.control_dt)

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 15) and qvel (n, 14) from uniform noise (n, 16): at the start, facing the checkpoint."""
        return body.start(self._qpos0, self.constants["dof_limits_lower"], self.constants["dof_limits_upper"], noise)

    def begin(self, env: Worlds) -> None:
        """On the way out."""
        env.root_states = torch.cat((env.start_qpos[:, 0:3], torch.zeros(env.num_envs, 10)), dim=-1)
        env.phase = torch.zeros(env.num_envs)

    def control(self, env: Worlds) -> Tensor:
        """Motor controls (n, 8)."""
        return env.actions

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached; the way back begins at the checkpoint."""
        env.last_position = env.root_states[:, 0:3]
        body.read(env)
        env.phase = torch.where(self._at(env, self._places[0]), torch.ones_like(env.phase), env.phase)
        env.targets = self._places[env.phase.long()]
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The robot fell, (n,) bool."""
        return body.fallen(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """1 where the robot is back at the start after the checkpoint (n,), at the end of an episode."""
        back = (env.phase > 0) & self._at(env, self._places[1]) & ~body.fallen(env)
        return back.to(torch.float32), ended

    def mocap(self, env: Worlds) -> Tensor:
        """The marker, over the place to go to (n, 1, 7)."""
        above = env.targets + torch.tensor((0.0, 0.0, MARKER_HEIGHT))
        level = torch.tensor((0.0, 0.0, 0.0, 1.0)).repeat(env.num_envs, 1)
        return torch.cat((above, level), dim=-1).unsqueeze(1)

    def _at(self, env: Worlds, place: Tensor) -> Tensor:
        distance: Tensor = torch.linalg.vector_norm(env.root_states[:, 0:2] - place[0:2], dim=-1)
        return distance < REACHED
