"""Functions that the papers' environments offer to rewards, by their names there, mostly on quaternions and angles.

Quaternions are xyzw, batched: (n, 4); vectors (n, 3). Everything is pure torch on the arguments' device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from simulation.rewards import container_guards
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


def get_basis_vector(q: Tensor, v: Tensor) -> Tensor:
    """The vector v (n, 3) rotated by the quaternion q (n, 4): another name of quat_rotate."""
    return quat_rotate(q, v)


def my_quat_rotate(q: Tensor, v: Tensor) -> Tensor:
    """The vector v (n, 3) rotated by the quaternion q (n, 4): another name of quat_rotate."""
    return quat_rotate(q, v)


def tf_apply(q: Tensor, t: Tensor, v: Tensor) -> Tensor:
    """The vector v (n, 3) rotated by q (n, 4), then moved by t (n, 3)."""
    return quat_rotate(q, v) + t


def tf_inverse(q: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """Rotation (n, 4) and translation (n, 3) that undo `tf_apply` by q and t."""
    inverse = quat_conjugate(q)
    return inverse, -quat_rotate(inverse, t)


def tf_combine(q1: Tensor, t1: Tensor, q2: Tensor, t2: Tensor) -> tuple[Tensor, Tensor]:
    """Rotation (n, 4) and translation (n, 3) of `tf_apply` by q2 and t2, then by q1 and t1."""
    return quat_mul(q1, q2), tf_apply(q1, t1, t2)


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


def quat_to_angle_axis(q: Tensor) -> tuple[Tensor, Tensor]:
    """Angle (n,) in rad, in [-pi, pi], and axis (n, 3) of the unit quaternion q (n, 4); z where it does not turn."""
    sine: Tensor = q[..., :3].norm(p=2, dim=-1, keepdim=True)
    turns = sine > 1e-5
    angle = normalize_angle(2.0 * torch.atan2(sine, q[..., 3:])).where(turns, torch.zeros_like(sine))
    axis = torch.where(turns, q[..., :3] / sine.clamp(min=1e-5), torch.tensor((0.0, 0.0, 1.0), device=q.device))
    return angle.squeeze(-1), axis


def quat_from_euler_xyz(roll: Tensor, pitch: Tensor, yaw: Tensor) -> Tensor:
    """The unit quaternion (n, 4) of roll, pitch and yaw (n,) in rad: about x, then y, then z of the world."""
    zero = torch.zeros_like(roll)
    about_x, about_y, about_z = (
        torch.stack((*(half.sin() if at == axis else zero for at in range(3)), half.cos()), dim=-1)
        for axis, half in enumerate((roll / 2.0, pitch / 2.0, yaw / 2.0))
    )
    return quat_mul(about_z, quat_mul(about_y, about_x))


def calc_heading(q: Tensor) -> Tensor:
    """The direction on the ground (n,) in rad, in [-pi, pi], in which the x axis of q (n, 4) points."""
    ahead = quat_axis(q, 0)
    return torch.atan2(ahead[..., 1], ahead[..., 0])


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


def saturate(x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """The tensor x limited to [lower, upper], element by element."""
    return tensor_clamp(x, lower, upper)


def scale(x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """The tensor, scaled from [-1, 1] to [lower, upper]."""
    return 0.5 * (x + 1.0) * (upper - lower) + lower


def unscale(x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """The tensor, scaled from [lower, upper] to [-1, 1]."""
    return (2.0 * x - upper - lower) / (upper - lower)


def copysign(a: float, b: Tensor) -> Tensor:
    """The size of the number a with the signs of b (n,); 0 where b is 0."""
    return abs(a) * torch.sign(b)


def to_torch(x: Any, dtype: torch.dtype = torch.float32, device: torch.device | None = None) -> Tensor:
    """A tensor of numbers."""
    made: Tensor = container_guards.call_counting(torch.tensor, x, dtype=dtype, device=device)
    return made


HELPERS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        *(normalize, quat_unit, quat_conjugate, quat_mul, quat_apply, quat_rotate, quat_rotate_inverse, quat_axis),
        *(quat_diff_rad, quat_from_angle_axis, normalize_angle, get_euler_xyz, tensor_clamp, tf_vector, tf_apply),
        *(tf_inverse, tf_combine, get_basis_vector, my_quat_rotate, quat_from_euler_xyz, quat_to_angle_axis),
        *(calc_heading, saturate, scale, unscale, copysign, to_torch),
    )
}
