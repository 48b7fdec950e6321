"""ShadowHand's hidden half: reset, control, termination and metric."""

from __future__ import annotations

import torch

from simulation import bodies
from simulation.robots.cube_in_hand import CubeInHand
from simulation.rotations import wxyz_to_xyzw
from simulation.tasks.shadow_hand.observations import compute_observations
from simulation.worlds import Worlds

FINGERTIPS = 5


class Task(CubeInHand):
    """ShadowHand as IsaacGymEnvs resets, drives, ends and measures it."""

    fields = ("qfrc_actuator", "sensordata")

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached; those of the fingertips come from sensors."""
        self.read(env)
        frames = env.sensordata[:, : 13 * FINGERTIPS].view(-1, FINGERTIPS, 13)
        env.fingertip_pos = frames[:, :, 0:3]
        quaternions = wxyz_to_xyzw(frames[:, :, 3:7])
        env.fingertip_state = torch.cat((env.fingertip_pos, quaternions, frames[:, :, 7:13]), dim=-1)
        env.vec_sensor_tensor = bodies.contact_wrenches(env.sensordata[:, 13 * FINGERTIPS :], env.fingertip_pos)
        compute_observations(env)
