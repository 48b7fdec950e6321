"""Functions on quaternions and angles that the papers' environments offer to rewards, by their names there.

Quaternions are xyzw, batched: (n, 4); vectors (n, 3). Everything is pure torch on the arguments' device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from simulation.rotations import quat_conjugate, quat_mul, quat_rotate, quat_rotate_inverse


def normalize(x: Tensor, eps: float = 1e-9) -> Tensor:
    """The tensor x (..., d) divided by its Euclidean norm over the last dimension, at least eps."""
    length: Tensor = x.norm(p=2, dim=-1, keepdim=True)
    return x / length.clamp(min=eps)


def quat_unit(a: Tensor) -> Tensor:
    """The unit quaternion (..., 4) of a."""
    return normalize(a)


def quat_apply(a: Tensor, b: Tensor) -> Tensor:
    """The vector b (n, 3) rotated by the quaternion a (n, 4): another name of quat_rotate."""
    return quat_rotate(a, b)


def tf_vector(q: Tensor, v: Tensor) -> Tensor:
    """The vector v (n, 3) rotated by the quaternion q (n, 4): another name of quat_rotate."""
    return quat_rotate(q, v)


def quat_axis(q: Tensor, axis: int = 0) -> Tensor:
    """Axis 0, 1 or 2 of the frame of q (n, 4), in the world (n, 3)."""
    basis = torch.zeros(q.shape[0], 3, device=q.device)
    basis[:, axis] = 1.0
    return quat_apply(q, basis)


def quat_diff_rad(a: Tensor, b: Tensor) -> Tensor:
    """Angle in rad (n,) of the rotation between two unit quaternions (n, 4)."""
    vector = quat_mul(a, quat_conjugate(b))[..., :3]
    return 2.0 * torch.asin(torch.clamp(vector.norm(p=2, dim=-1), max=1.0))


def quat_from_angle_axis(angle: Tensor, axis: Tensor) -> Tensor:
    """The unit quaternion (n, 4) of a rotation by angle (n,) in rad about axis (n, 3)."""
    half = (angle / 2.0).unsqueeze(-1)
    return quat_unit(torch.cat((normalize(axis) * half.sin(), half.cos()), dim=-1))


def normalize_angle(x: Tensor) -> Tensor:
    """The angle x in rad, wrapped to [-pi, pi]."""
    return torch.atan2(torch.sin(x), torch.cos(x))


def get_euler_xyz(q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Roll, pitch and yaw (n,) in [0, 2 pi) of q (n, 4)."""
    x, y, z, w = q.unbind(dim=-1)
    roll = torch.atan2(2.0 * (w * x + y * z), w * w - x * x - y * y + z * z)
    pitch = torch.asin(torch.clamp(2.0 * (w * y - z * x), -1.0, 1.0))
    yaw = torch.atan2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)
    return roll % (2 * math.pi), pitch % (2 * math.pi), yaw % (2 * math.pi)


def tensor_clamp(t: Tensor, min_t: Tensor, max_t: Tensor) -> Tensor:
    """The tensor t limited to [min_t, max_t], element by element."""
    return torch.max(torch.min(t, max_t), min_t)


HELPERS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        *(normalize, quat_unit, quat_conjugate, quat_mul, quat_apply, quat_rotate, quat_rotate_inverse, quat_axis),
        *(quat_diff_rad, quat_from_angle_axis, normalize_angle, get_euler_xyz, tensor_clamp, tf_vector),
    )
}
