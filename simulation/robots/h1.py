"""The common base of the tasks of a Unitree H1 with simple hands: start, drives, variables, fall, success.

As in HumanoidBench, 50 times a second an action from -1 to 1 sets the angle that each drive holds, from its joint's
lower to its upper limit. Here 0 is the angle with which the joint begins, so that a robot that does nothing stands at
first; there it is the middle of the range. In qpos and qvel the robot comes first, then things.
"""

from __future__ import annotations

from typing import Any, ClassVar

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.worlds import Worlds

JOINTS = 25
CROUCH = {"hip_pitch": -0.4, "knee": 0.8, "ankle": -0.4}
"""Angles in rad of both legs with which it begins; other hinges begin at 0."""
DEVIATION = 0.01
"""Metres and radians by which everything may begin away from its place."""


class H1:
    """An H1 on its feet, facing x. A task's `class Task` adds `look` and `succeeded`, most also things and an end."""

    fields: ClassVar[tuple[str, ...]] = ("sensordata", "site_xpos", "qfrc_actuator")
    columns: ClassVar[int] = 0
    """Columns of noise that the task needs beside one for each number of qpos."""
    palms_down: ClassVar[bool] = False
    """Whether the hands begin turned by a quarter, palms down; else palms face each other."""
    lowest: ClassVar[float] = 0.0
    """Metres; a robot whose pelvis is lower has fallen."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        for side in ("left", "right"):
            turned = {"wrist_yaw": 1.57} if self.palms_down else {}
            for name, angle in (CROUCH | turned).items():
                self._qpos0[model.joint(f"{side}_{name}").qposadr[0]] = angle
        limits = torch.from_numpy(model.actuator_ctrlrange).float()
        self._nq, self._nv = model.nq, model.nv
        self._sites = {model.site(i).name: i for i in range(model.nsite)}
        self.noise_size = self._nq + self.columns
        self.constants: dict[str, Any] = {
            "default_joint_angles": self._qpos0[7 : 7 + JOINTS].clone(),
            "joint_limits_lower": limits[:, 0].contiguous(),
            "joint_limits_upper": limits[:, 1].contiguous(),
        }

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, nq) and qvel (n, nv) from noise: in a slight crouch, things in place."""
        qpos = self._qpos0 + DEVIATION * (2.0 * noise[:, : self._nq] - 1.0)
        turn = qpos[:, 3:7]
        qpos[:, 3:7] = turn / torch.linalg.vector_norm(turn, dim=-1, keepdim=True)
        return self.place(qpos, torch.zeros(len(noise), self._nv), noise[:, self._nq :])

    def place(self, qpos: Tensor, qvel: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Put things where they begin, by their part of qpos (n, nq) and qvel (n, nv)."""
        return qpos, qvel

    def begin(self, env: Worlds) -> None:
        """Nothing is achieved yet."""
        env.solved = torch.zeros(env.num_envs)

    def control(self, env: Worlds) -> Tensor:
        """The angles in rad that the drives hold, (n, 25)."""
        start = env.default_joint_angles
        up, down = env.joint_limits_upper - start, start - env.joint_limits_lower
        return start + torch.where(env.actions > 0.0, up, down) * env.actions

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached, and whether the task was solved up to here."""
        env.root_states = bodies.root_states(env.qpos, env.qvel)
        env.joint_angles, env.joint_velocities = env.qpos[:, 7 : 7 + JOINTS], env.qvel[:, 6 : 6 + JOINTS]
        env.actuator_forces = env.qfrc_actuator[:, 6 : 6 + JOINTS]
        env.head_height = self.site(env, "head")[:, 2]
        env.left_hand_position, env.right_hand_position = self.site(env, "left_hand"), self.site(env, "right_hand")
        env.torso_upright = env.sensordata[:, 2]
        env.left_hand_velocity, env.right_hand_velocity = env.sensordata[:, 3:6], env.sensordata[:, 6:9]
        self.look(env)
        env.solved = torch.maximum(env.solved, self.succeeded(env).float())

    def look(self, env: Worlds) -> None:
        """Set the task's own variables, then compute the observations."""
        raise NotImplementedError

    def site(self, env: Worlds, name: str) -> Tensor:
        """Where a site of the model is (n, 3)."""
        return env.site_xpos[:, self._sites[name]]

    def read_thing(self, env: Worlds) -> Tensor:
        """Pose and velocities (n, 13) of the free body."""
        return bodies.root_states(env.qpos[:, 7 + JOINTS :], env.qvel[:, 6 + JOINTS :])

    def succeeded(self, env: Worlds) -> Tensor:
        """The task's success test, (n,) bool."""
        raise NotImplementedError

    def terminated(self, env: Worlds) -> Tensor:
        """The robot fell, or has solved the task, (n,) bool."""
        return (env.root_states[:, 2] < self.lowest) | self.succeeded(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """1 where the success test was true at some step of an episode (n,); it counts where one ends."""
        return env.solved, ended
