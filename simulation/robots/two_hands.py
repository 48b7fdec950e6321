"""The common base of the tasks of two ShadowHands: start, drives, the variables of both hands, success.

Hands and their drives are Bi-DexHands': each hinge follows a position, a base is pushed and turned by forces against a
strong drag, so that an action is nearly a velocity. Both hands are right ones, as there; the second is called left. In
qpos and qvel the right hand comes first, then the left one, then things.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.rotations import atan2, quat_rotate, wxyz_to_xyzw
from simulation.worlds import Worlds

HINGES, DRIVEN, FINGERS = 24, 20, 5
FORCE, TORQUE = 100_000 / 60, 1000 / 60
"""Newtons and newton metres of a full action at a scale of 1."""
WRIST = 0.29
"""Metres from where a hand's place is given, the end of its forearm, to the point that its base is turned about."""
PALM = (0.0, -0.02, 0.08)
"""A hand's position in the frame of its palm, in m."""
TIP = (0.0, 0.0, 0.02)
"""A fingertip's middle in the frame of its last link, in m."""
NAMES = ("ff", "mf", "rf", "lf", "th")

Place = tuple[float, float, float, float, float, float]


class TwoHands:
    """Two hands and things. A task's `class Task` adds `look` and `succeeded`, most also places and an end."""

    fields: ClassVar[tuple[str, ...]] = ("qfrc_actuator", "sensordata")
    columns: ClassVar[int] = 0
    """Columns of noise that the task needs beside those of the hinges."""
    loose: ClassVar[float] = 0.0
    """Part of the way to its limits that a hinge may begin away from 0."""
    places: ClassVar[tuple[Place, Place] | None] = None
    """Where the right and the left hand begin: x, y, z in m, turns about x, y, z in rad. None where they are fixed."""
    push: ClassVar[float] = 0.5
    turn: ClassVar[float] = 0.1
    """Scales of the base's forces and torques."""

    def __init__(self, model: mujoco.MjModel) -> None:
        lower, upper = bodies.joint_limits(model)
        self._base = (model.nu - 2 * DRIVEN) // 2
        """Actions, and degrees of freedom, of a hand's base: six or none."""
        width = HINGES + (self._base and 7)
        self._qpos0 = torch.from_numpy(model.qpos0).float()
        self._things = self._qpos0[2 * width :]
        self._bases = torch.tensor([place_base(place) for place in self.places]) if self.places else torch.zeros(2, 0)
        self._width, self._nv = width, model.nv
        self._first = int(model.sensor("right_palm").adr[0])
        """Where the hands' sensors begin; a task's own come before them."""
        self._driven = torch.from_numpy(model.actuator_trnid[self._base : self._base + DRIVEN, 0].astype("int64"))
        self._driven = self._driven - 4 * (self._base > 0)  # joints before the hinges: three slides and a ball
        self._strength = torch.tensor([FORCE * self.push] * 3 + [TORQUE * self.turn] * 3)[: self._base]
        self.noise_size = HINGES + self.columns
        self.constants: dict[str, Any] = {
            "shadow_hand_dof_lower_limits": lower[:HINGES].contiguous(),
            "shadow_hand_dof_upper_limits": upper[:HINGES].contiguous(),
            "vel_obs_scale": 0.2,
            "force_torque_obs_scale": 10.0,
        }

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, nq) and qvel (n, nv) from noise: both hands open in the same way, things in place."""
        lower, upper = self.constants["shadow_hand_dof_lower_limits"], self.constants["shadow_hand_dof_upper_limits"]
        fingers = (self.loose * (lower + (upper - lower) * noise[:, :HINGES])).clamp(lower, upper)
        right, left = (torch.cat((base.expand(len(noise), -1), fingers), dim=-1) for base in self._bases)
        qpos = torch.cat((right, left, self.place(noise[:, HINGES:])), dim=-1)
        return qpos, torch.zeros(len(noise), self._nv)

    def place(self, noise: Tensor) -> Tensor:
        """Where the things begin: their part of qpos, from noise (n, columns)."""
        return self._things.repeat(len(noise), 1)

    def begin(self, env: Worlds) -> None:
        """Nothing is achieved yet."""
        env.solved = torch.zeros(env.num_envs)

    def control(self, env: Worlds) -> Tensor:
        """Forces and torques on the bases, and angles in rad for the hinges (n, nu), as the actions say."""
        actions = split(env.actions)
        lower = env.shadow_hand_dof_lower_limits[self._driven]
        upper = env.shadow_hand_dof_upper_limits[self._driven]
        base = self._strength * actions[:, :, : self._base]
        hinges = lower + (upper - lower) * 0.5 * (actions[:, :, self._base :] + 1.0)
        return torch.cat((base, hinges), dim=-1).flatten(1)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached, and whether the task was solved up to here."""
        self.read(env)
        self.look(env)
        env.solved = torch.maximum(env.solved, self.succeeded(env).float())

    def read(self, env: Worlds) -> None:
        """Set the variables of both hands."""
        qpos = split(env.qpos[:, : 2 * self._width])
        dofs = self._base + HINGES
        qvel = split(env.qvel[:, : 2 * dofs])[:, :, self._base :]
        force = split(env.qfrc_actuator[:, : 2 * dofs])[:, :, self._base :]
        hinges = qpos[:, :, self._width - HINGES :]
        env.shadow_hand_dof_pos, env.shadow_hand_another_dof_pos = hinges.unbind(1)
        env.shadow_hand_dof_vel, env.shadow_hand_another_dof_vel = qvel.unbind(1)
        env.dof_force_tensor = force.flatten(1)
        sensors = split(env.sensordata[:, self._first :])
        place, tips = self._read_palms(env, sensors), self._read_tips(env, sensors)
        lower, upper = env.shadow_hand_dof_lower_limits, env.shadow_hand_dof_upper_limits
        parts = [(2.0 * hinges - upper - lower) / (upper - lower), qvel * env.vel_obs_scale]
        parts += [force * env.force_torque_obs_scale, tips]
        parts += [split(env.vec_sensor_tensor) * env.force_torque_obs_scale]
        if self._base:
            parts += [place, find_angles(qpos[:, :, 3:7])]
        env.hands_obs = torch.cat((*parts, split(env.actions)), dim=-1).flatten(1)

    def look(self, env: Worlds) -> None:
        """Set the task's own variables, then compute the observations."""
        raise NotImplementedError

    def read_thing(self, env: Worlds, first: int = 0) -> Tensor:
        """Pose and velocities (n, 13) of the free body whose qpos begins `first` numbers after the hands'."""
        spin = first - first // 7
        qpos, qvel = env.qpos[:, 2 * self._width :], env.qvel[:, 2 * (self._base + HINGES) :]
        return bodies.root_states(qpos[:, first : first + 7], qvel[:, spin : spin + 6])

    def read_object(self, env: Worlds) -> None:
        """Set the variables of the thing, the first free body."""
        thing = self.read_thing(env)
        env.object_pose, env.object_pos, env.object_rot = thing[:, 0:7], thing[:, 0:3], thing[:, 3:7]
        env.object_linvel, env.object_angvel = thing[:, 7:10], thing[:, 10:13]

    def terminated(self, env: Worlds) -> Tensor:
        """Never, unless a task says more, (n,) bool."""
        return torch.zeros(env.num_envs, dtype=torch.bool)

    def succeeded(self, env: Worlds) -> Tensor:
        """The task's success test, (n,) bool."""
        raise NotImplementedError

    def metric(self, env: Worlds, ended: Tensor) -> tuple[Tensor, Tensor]:
        """1 where the success test was true at some step of an episode (n,); it counts where one ends."""
        return env.solved, ended

    @staticmethod
    def _read_palms(env: Worlds, sensors: Tensor) -> Tensor:
        """Set position and rotation of both hands; returns the positions (n, 2, 3).

        `sensors` (n, 2, 117) are of each hand: pose of the palm 7, frames of the fingertips 5 x 13, contacts 5 x 9.
        """
        turns = wxyz_to_xyzw(sensors[:, :, 3:7])
        places = sensors[:, :, 0:3] + quat_rotate(turns, move(turns, PALM))
        env.right_hand_pos, env.left_hand_pos = places.unbind(1)
        env.right_hand_rot, env.left_hand_rot = turns.unbind(1)
        return places

    @staticmethod
    def _read_tips(env: Worlds, sensors: Tensor) -> Tensor:
        """Set the variables of the fingertips; returns their states (n, 2, 65)."""
        frames = sensors[:, :, 7:72].reshape(len(sensors), 2, FINGERS, 13)
        turns = wxyz_to_xyzw(frames[..., 3:7])
        states = torch.cat((frames[..., 0:3], turns, frames[..., 7:13]), dim=-1)
        env.fingertip_state, env.fingertip_another_state = states.unbind(1)
        env.fingertip_pos, env.fingertip_another_pos = states[..., 0:3].unbind(1)
        env.vec_sensor_tensor = bodies.contact_wrenches(sensors[:, :, 72:].flatten(1), states[..., 0:3].flatten(1, 2))
        middles = states[..., 0:3] + quat_rotate(turns, move(turns, TIP))
        for index, name in enumerate(NAMES):
            setattr(env, f"right_hand_{name}_pos", middles[:, 0, index])
            setattr(env, f"left_hand_{name}_pos", middles[:, 1, index])
        return states.flatten(2)


def split(values: Tensor) -> Tensor:
    """What both hands have, one after the other (n, 2k), hand by hand (n, 2, k)."""
    return values.reshape(len(values), 2, -1)


def move(turns: Tensor, offset: tuple[float, float, float]) -> Tensor:
    """An offset in m for each of the rotations (..., 4), (..., 3)."""
    return turns.new_tensor(offset).expand(*turns.shape[:-1], 3)


def offset_by(pose: Tensor, offset: tuple[float, float, float]) -> Tensor:
    """A point of a body, given in its frame, in the world (n, 3), from the body's pose (n, 7 or more)."""
    return pose[:, 0:3] + quat_rotate(pose[:, 3:7], move(pose[:, 3:7], offset))


def sum_gaps(env: Worlds, side: str, place: Tensor) -> Tensor:
    """How far the five fingers of a hand are from a place (n, 3), in m, summed, (n,)."""
    tips = (getattr(env, f"{side}_hand_{name}_pos") for name in NAMES)
    return torch.stack([torch.linalg.vector_norm(tip - place, dim=-1) for tip in tips]).sum(0)


def find_angles(quaternion: Tensor) -> Tensor:
    """MuJoCo's wxyz (..., 4) as turns about the world's x, then y, then z axis in rad, (..., 3)."""
    w, x, y, z = quaternion.unbind(-1)
    roll = atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = torch.asin((2.0 * (w * y - z * x)).clamp(-1.0, 1.0).double()).to(w.dtype)
    yaw = atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return torch.stack((roll, pitch, yaw), dim=-1)


def turn_by(roll: float, pitch: float, yaw: float) -> tuple[float, float, float, float]:
    """MuJoCo's wxyz of turns about the world's x, then y, then z axis in rad."""
    (cx, cy, cz), (sx, sy, sz) = ([f(a / 2) for a in (roll, pitch, yaw)] for f in (math.cos, math.sin))
    return (
        cx * cy * cz + sx * sy * sz,
        sx * cy * cz - cx * sy * sz,
        cx * sy * cz + sx * cy * sz,
        cx * cy * sz - sx * sy * cz,
    )


def place_base(place: Place) -> list[float]:
    """A base's part of qpos, 7 numbers, for a hand whose forearm ends at a place in m, turned by angles in rad."""
    w, x, y, z = turn = turn_by(*place[3:])
    along = (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x))  # the hand's y axis
    return [*(at - WRIST * part for at, part in zip(place[:3], along, strict=True)), *turn]
