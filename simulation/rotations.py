"""Quaternions in torch, xyzw, batched: every function takes (n, 4) and (n, 3) and allocates its result."""

from __future__ import annotations

import torch
from torch import Tensor


def wxyz_to_xyzw(quaternions: Tensor) -> Tensor:
    """MuJoCo's order (scalar first) to the order of every reward input (scalar last), (n, 4)."""
    return torch.roll(quaternions, -1, dims=-1)


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
    products = (q.unsqueeze(2) * (q + q).unsqueeze(1)).flatten(1)
    # an entry adds two products at most, so that its last bit does not depend on the number of worlds
    return torch.addmm(_IDENTITY.to(q), products, _MATRIX.to(q)).view(-1, 3, 3)


def _build_matrix_table() -> Tensor:
    """(16, 9): which products q_i 2 q_j, i and j over xyzw, make which entry of the rotation matrix less the identity.

    With q = (v, w), R = I + 2 (v v^T - |v|^2 I + w [v]x), where [v]x is the matrix of the cross product with v.
    """
    table = torch.zeros(4, 4, 3, 3)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        table[i, j, i, j] = table[j, i, j, i] = 1
        table[j, j, i, i] = table[k, k, i, i] = -1
        table[3, k, j, i], table[3, k, i, j] = 1, -1
    return table.view(16, 9)


_MATRIX = _build_matrix_table()
_IDENTITY = torch.eye(3).flatten()


def quat_rotate(q: Tensor, v: Tensor) -> Tensor:
    """Vectors v given in the body's frame, in the world's, (n, 3)."""
    return rotate(q[..., :3], q[..., 3:], v)


def rotate(vector: Tensor, scalar: Tensor, v: Tensor) -> Tensor:
    """`quat_rotate` by quaternions in two parts, (n, 3) and (n, 1)."""
    twice: Tensor = 2.0 * torch.linalg.cross(vector, v)
    return torch.addcmul(v, scalar, twice).add_(torch.linalg.cross(vector, twice))


def quat_rotate_inverse(q: Tensor, v: Tensor) -> Tensor:
    """Vectors v given in the world's frame, in the body's, (n, 3)."""
    return quat_rotate(quat_conjugate(q), v)


def atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle of (x, y) in (-pi, pi], the same to the last bit wherever a row stands in the batch.

    In float32, torch's vectorised and scalar routines differ in the last bit, so that a world's observations would
    depend on how many worlds are beside it; in float64 the difference vanishes in the rounding.
    """
    return torch.atan2(y.double(), x.double()).to(y.dtype)


def wrap_angle(angle: Tensor) -> Tensor:
    """The same angle in [-pi, pi)."""
    return torch.remainder(angle + torch.pi, 2.0 * torch.pi) - torch.pi
