"""The common base of the tasks of a Panda at a table: start, drives, tool centre point, grasp, success.

The arm is driven as in ManiSkill (`pd_joint_delta_pos`): 20 times a second each hinge gets a target up to 0.1 rad from
where it is, and both fingers one position. The robot's nine joints come first in qpos, then the free joints of things.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mujoco
import torch
from torch import Tensor

from simulation.rotations import atan2, quat_rotate, wxyz_to_xyzw
from simulation.worlds import Worlds

JOINTS, HINGES = 9, 7
REST = (0.0, math.pi / 8, 0.0, -5 * math.pi / 8, 0.0, 3 * math.pi / 4, math.pi / 4)
"""The hinges' start in rad: the fingers point down, 0.17 m above the table."""
START_DEVIATION = 0.02
"""Standard deviation of each hinge's start in rad."""
HINGE_STEP = 0.1
"""Radians from where it is to where a full action drives a hinge."""
FINGERS_LOW, FINGERS_HIGH = -0.01, 0.04
"""Metres that the last action drives each finger to; below 0 it presses on what is thin."""
STATIC_SPEED = 0.2
"""Radians per second; a robot whose hinges are all slower stands still."""
REST_SPEED, REST_SPIN = 0.01, 0.5
"""Metres and radians per second below which a thing is at rest."""
GRASP_FORCE = 0.5
"""Newtons with which each finger must press."""
PRESSES_FROM, CONTACTS = 7, 4
"""Where a finger's contacts begin in sensordata, and how many of the strongest are read."""


class Tabletop:
    """A Panda at a table. A task's `class Task` adds `place`, `begin`, `observe` and `succeeded`."""

    fields: ClassVar[tuple[str, ...]] = ("sensordata",)
    columns: ClassVar[int]
    """Columns of noise that the task needs beside those of the arm."""
    rest: ClassVar[tuple[float, ...]] = REST
    fingers: ClassVar[float] = FINGERS_HIGH
    """Metres from the hand's middle at which each finger begins."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.noise_size = HINGES + self.columns
        self._nv = model.nv
        self.constants: dict[str, Any] = {}

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, nq) and qvel (n, nv) from noise: the arm near its rest fingers open, things in place."""
        hinges = torch.tensor(self.rest) + START_DEVIATION * to_normal(noise[:, :HINGES])
        things = self.place(noise[:, HINGES:])
        fingers = torch.full((len(noise), JOINTS - HINGES), self.fingers)
        return torch.cat((hinges, fingers, things), dim=-1), torch.zeros(len(noise), self._nv)

    def place(self, noise: Tensor) -> Tensor:
        """Where the things begin: their part of qpos, from noise (n, columns)."""
        raise NotImplementedError

    def control(self, env: Worlds) -> Tensor:
        """Targets of the nine position drives (n, 9) from actions (n, 8): a hinge each, then both fingers."""
        middle, half = (FINGERS_HIGH + FINGERS_LOW) / 2, (FINGERS_HIGH - FINGERS_LOW) / 2
        fingers = middle + half * env.actions[:, HINGES:]
        return torch.cat((self.drive_hinges(env), fingers, fingers), dim=-1)

    def drive_hinges(self, env: Worlds) -> Tensor:
        """Targets of the seven hinges (n, 7)."""
        return env.robot_qpos[:, :HINGES] + HINGE_STEP * env.actions[:, :HINGES]

    def read(self, env: Worlds) -> tuple[Tensor, Tensor]:
        """Set the robot's variables. Returns the things' parts of qpos and qvel."""
        qpos, qvel = env.qpos, env.qvel
        env.robot_qpos, env.robot_qvel = qpos[:, :JOINTS], qvel[:, :JOINTS]
        env.tcp_pos, turn = env.sensordata[:, 0:3], env.sensordata[:, 3:7]
        env.tcp_pose = torch.cat((env.tcp_pos, wxyz_to_xyzw(turn)), dim=-1)
        return qpos[:, JOINTS:], qvel[:, JOINTS:]

    def terminated(self, env: Worlds) -> Tensor:
        """Never, because nothing fails irreversibly, (n,) bool."""
        return torch.zeros(env.num_envs, dtype=torch.bool)

    def succeeded(self, env: Worlds) -> Tensor:
        """The task's success test, (n,) bool."""
        raise NotImplementedError

    def finished(self, env: Worlds) -> Tensor:
        """Success ends an episode, (n,) bool; nothing counts as one at its very beginning."""
        return self.succeeded(env)

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """1 where an episode ends with success (n,); it counts where one ends."""
        return self.succeeded(env).float(), ended


def to_normal(noise: Tensor) -> Tensor:
    """Standard normal numbers from uniform ones in [0, 1), of the same shape."""
    centred = (2.0 * noise.double() - 1.0).clamp(-1 + 1e-7, 1 - 1e-7)  # float64, as in rotations.atan2
    return (math.sqrt(2.0) * torch.erfinv(centred)).to(noise.dtype)


def spread(noise: Tensor, low: float, high: float) -> Tensor:
    """Uniform numbers in [0, 1) to ones in [low, high)."""
    return low + (high - low) * noise


def lay(x: Tensor, y: Tensor, height: float, yaw: Tensor | None = None) -> Tensor:
    """A free joint's part of qpos (n, 7): at (x, y), each (n,), turned by yaw (n,) in rad about the vertical."""
    half = torch.zeros_like(x).double() if yaw is None else 0.5 * yaw.double()
    zero = torch.zeros_like(x)
    sine, cosine = torch.sin(half).to(x.dtype), torch.cos(half).to(x.dtype)
    return torch.stack((x, y, torch.full_like(x, height), cosine, zero, zero, sine), dim=-1)


def to_pose(joint: Tensor) -> Tensor:
    """A free joint's part of qpos (n, 7), MuJoCo's wxyz, as position and quaternion xyzw (n, 7)."""
    return torch.cat((joint[:, 0:3], wxyz_to_xyzw(joint[:, 3:7])), dim=-1)


def find_yaw(pose: Tensor) -> Tensor:
    """How far a pose (n, 7) is turned about the vertical, in rad, (n,)."""
    x, y, z, w = pose[:, 3:7].unbind(-1)
    return atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def stand_turned(place: Tensor, height: float) -> Tensor:
    """x, y and the turn about the vertical (n, 3) as poses at this height (n, 7)."""
    half = 0.5 * place[:, 2].double()
    sine, cosine = torch.sin(half).to(place.dtype), torch.cos(half).to(place.dtype)
    zero = torch.zeros_like(sine)
    return torch.stack((place[:, 0], place[:, 1], torch.full_like(zero, height), zero, zero, sine, cosine), dim=-1)


def stand_flat(place: Tensor) -> Tensor:
    """Places (n, 3) as poses of a mocap body that is not turned (n, 1, 7)."""
    unturned = torch.zeros(len(place), 4)
    unturned[:, 3] = 1.0
    return torch.cat((place, unturned), dim=-1).unsqueeze(1)


def is_grasped(env: Worlds, degrees: float = 85.0) -> Tensor:
    """Whether both fingers press on the thing, each within `degrees` of the direction in which it opens, (n,) bool.

    Friction does not count: fingers that close while they stand on a thing would be said to grasp it.
    """
    axis = torch.zeros_like(env.tcp_pos)
    axis[:, 1] = 1.0
    opening = quat_rotate(env.tcp_pose[:, 3:7], axis)  # of the left finger
    left, right = find_presses(env).unbind(1)
    pressed = torch.ones(len(left), dtype=torch.bool)
    for force, along in ((left, -(left * opening).sum(-1)), (right, (right * opening).sum(-1))):
        strength = torch.linalg.vector_norm(force, dim=-1)
        pressed = pressed & (strength >= GRASP_FORCE) & (along >= math.cos(math.radians(degrees)) * strength)
    return pressed


def find_presses(env: Worlds) -> Tensor:
    """Force of the left and of the right finger on the thing without friction, in N in the world, (n, 2, 3).

    For each finger `sensordata` has its strongest contacts from PRESSES_FROM on, six numbers each: the force along the
    contact's normal and two tangents, and the normal in the world.
    """
    contacts = env.sensordata[:, PRESSES_FROM : PRESSES_FROM + 2 * CONTACTS * 6].reshape(-1, 2, CONTACTS, 6)
    return (contacts[..., 0:1] * contacts[..., 3:6]).sum(2)


def is_at_rest(velocity: Tensor, spin: Tensor) -> Tensor:
    """Whether a thing moves by less than 0.01 m/s and turns by less than 0.5 rad/s, from (n, 3) each, (n,) bool."""
    moves: Tensor = torch.linalg.vector_norm(velocity, dim=-1)
    turns: Tensor = torch.linalg.vector_norm(spin, dim=-1)
    return (moves <= REST_SPEED) & (turns <= REST_SPIN)


def is_static(env: Worlds) -> Tensor:
    """Whether every hinge is slow, (n,) bool."""
    fastest: Tensor = env.robot_qvel[:, :HINGES].abs().amax(dim=-1)
    return fastest <= STATIC_SPEED
