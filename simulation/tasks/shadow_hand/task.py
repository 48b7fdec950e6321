"""ShadowHand's hidden half: reset, control, termination and metric."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from simulation import bodies, hands
from simulation.rotations import wxyz_to_xyzw
from simulation.tasks.shadow_hand.observations import compute_observations
from simulation.worlds import Worlds

DOFS, FINGERTIPS = 24, 5


class Task:
    """ShadowHand as IsaacGymEnvs resets, drives, ends and measures it."""

    fields = ("qfrc_actuator", "sensordata")
    noise_size = hands.NOISE_SIZE + DOFS

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self.constants = hands.constants(model)
        self._driven = hands.driven(model)

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, 31) and qvel (n, 30) from uniform noise (n, 31)."""
        return hands.start(self._qpos0, self.constants, noise)

    def begin(self, env: Worlds) -> None:
        """A first goal."""
        hands.begin(env, self._qpos0[DOFS : DOFS + 3])

    def control(self, env: Worlds) -> Tensor:
        """Angles that the driven hinges are driven to (n, 20), after a new goal where the last one was reached."""
        hands.renew_goals(env)
        return hands.joint_targets(env, self._driven)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        hands.read(env)
        frames = env.sensordata[:, : 13 * FINGERTIPS].view(-1, FINGERTIPS, 13)
        env.fingertip_pos = frames[:, :, 0:3]
        quaternions = wxyz_to_xyzw(frames[:, :, 3:7])
        env.fingertip_state = torch.cat((env.fingertip_pos, quaternions, frames[:, :, 7:13]), dim=-1)
        env.vec_sensor_tensor = bodies.contact_wrenches(env.sensordata[:, 13 * FINGERTIPS :], env.fingertip_pos)
        compute_observations(env)

    def terminated(self, env: Worlds) -> Tensor:
        """The cube was dropped, (n,) bool."""
        return hands.dropped(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Consecutive successes of the episodes that ended."""
        return hands.successes(env, ended)

    def mocap(self, env: Worlds) -> Tensor:
        """The goal as clips show it (n, 1, 7)."""
        return hands.ghost(env)
