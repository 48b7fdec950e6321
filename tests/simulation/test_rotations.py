import math

import mujoco
import numpy as np
import pytest
import torch

from simulation import rotations

HALF = math.sqrt(0.5)
YAW_90 = torch.tensor([[0.0, 0.0, HALF, HALF]])
ROLL_90 = torch.tensor([[HALF, 0.0, 0.0, HALF]])


def random_quaternions(n: int) -> torch.Tensor:
    q = torch.randn(n, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return q / q.norm(dim=-1, keepdim=True)


def test_yaw_turns_ahead_into_left():
    assert torch.allclose(
        rotations.quat_rotate(YAW_90, torch.tensor([[1.0, 0.0, 0.0]])), torch.tensor([[0.0, 1.0, 0.0]]), atol=1e-6
    )


def test_inverse_turns_left_into_ahead():
    assert torch.allclose(
        rotations.quat_rotate_inverse(YAW_90, torch.tensor([[0.0, 1.0, 0.0]])),
        torch.tensor([[1.0, 0.0, 0.0]]),
        atol=1e-6,
    )


def test_product_applies_the_second_factor_first():
    # roll by 90 degrees takes z to -y, then yaw by 90 degrees takes -y to x
    both = rotations.quat_mul(YAW_90, ROLL_90)
    assert torch.allclose(
        rotations.quat_rotate(both, torch.tensor([[0.0, 0.0, 1.0]])), torch.tensor([[1.0, 0.0, 0.0]]), atol=1e-6
    )


def test_matrix_columns_are_the_rotated_axes():
    q = random_quaternions(20)
    matrix = rotations.quat_to_matrix(q)
    for axis in range(3):
        unit = torch.eye(3, dtype=torch.float64)[axis].expand(20, 3)
        assert torch.allclose(matrix[:, :, axis], rotations.quat_rotate(q, unit))


def test_matrices_agree_with_mujoco():
    for q in random_quaternions(20):
        expected = np.zeros(9)
        mujoco.mju_quat2Mat(expected, q.roll(1).numpy())
        assert np.allclose(rotations.quat_to_matrix(q[None])[0].numpy().ravel(), expected)


def test_the_scalar_of_a_quaternion_moves_to_its_end():
    assert rotations.wxyz_to_xyzw(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).tolist() == [[2.0, 3.0, 4.0, 1.0]]


def test_angles_wrap_into_one_turn():
    angles = torch.tensor([0.5, math.pi + 0.25, -math.pi - 0.25, 4.5 * math.pi])
    expected = torch.tensor([0.5, 0.25 - math.pi, math.pi - 0.25, 0.5 * math.pi])
    assert rotations.wrap_angle(angles).tolist() == pytest.approx(expected.tolist(), abs=1e-5)
