"""Quaternions in torch, xyzw, batched: every function takes (n, 4) and (n, 3) and allocates its result."""

from __future__ import annotations

import torch
from torch import Tensor


def wxyz_to_xyzw(quaternions: Tensor) -> Tensor:
    """MuJoCo's order (scalar first) to the order of every reward input (scalar last), (n, 4)."""
    return torch.roll(quaternions, -1, dims=-1)


def xyzw_to_wxyz(quaternions: Tensor) -> Tensor:
    """The order of reward inputs to MuJoCo's, (n, 4)."""
    return torch.roll(quaternions, 1, dims=-1)


def quat_mul(a: Tensor, b: Tensor) -> Tensor:
    """Hamilton product a b, (n, 4): the rotation b, then a."""
    a_vec, a_w, b_vec, b_w = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vec = a_w * b_vec + b_w * a_vec + torch.linalg.cross(a_vec, b_vec)
    return torch.cat((vec, a_w * b_w - (a_vec * b_vec).sum(-1, keepdim=True)), dim=-1)


def quat_conjugate(q: Tensor) -> Tensor:
    """The inverse of a unit quaternion, (n, 4)."""
    return torch.cat((-q[..., :3], q[..., 3:]), dim=-1)


def quat_to_matrix(q: Tensor) -> Tensor:
    """Rotation matrices (n, 3, 3); columns are the body's x, y, z axes in the world."""
    x, y, z, w = q.unbind(-1)
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz, xy, xz, yz = x * x2, y * y2, z * z2, x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    one = torch.ones_like(xx)
    entries = (one - (yy + zz), xy - wz, xz + wy, xy + wz, one - (xx + zz), yz - wx, xz - wy, yz + wx, one - (xx + yy))
    return torch.stack(entries, dim=-1).view(*q.shape[:-1], 3, 3)


def quat_rotate(q: Tensor, v: Tensor) -> Tensor:
    """Vectors v given in the body's frame, in the world's, (n, 3)."""
    twice: Tensor = 2.0 * torch.linalg.cross(q[..., :3], v)
    rotated: Tensor = v + q[..., 3:] * twice + torch.linalg.cross(q[..., :3], twice)
    return rotated


def quat_rotate_inverse(q: Tensor, v: Tensor) -> Tensor:
    """Vectors v given in the world's frame, in the body's, (n, 3)."""
    return quat_rotate(quat_conjugate(q), v)


def atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle of (x, y) in (-pi, pi], the same to the last bit wherever a row stands in the batch.

    In float32, torch's vectorised and scalar routines differ in the last bit, so that a world's observations would
    depend on how many worlds are beside it; in float64 the difference vanishes in the rounding.
    """
    return torch.atan2(y.double(), x.double()).to(y.dtype)


def euler_xyz(q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Roll, pitch, yaw in (-pi, pi], each (n,): the rotation Rz(yaw) Ry(pitch) Rx(roll)."""
    x, y, z, w = q.unbind(-1)
    roll = atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = torch.asin((2.0 * (w * y - z * x)).clamp(-1.0, 1.0))
    yaw = atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return roll, pitch, yaw


def wrap_angle(angle: Tensor) -> Tensor:
    """The same angle in [-pi, pi)."""
    return torch.remainder(angle + torch.pi, 2.0 * torch.pi) - torch.pi
