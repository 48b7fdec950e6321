"""SimbaV2's networks: against a network written layer by layer, and what stays on the sphere."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from trainer.simba import SHIFT, WIDENING, SimbaShape, draw_simba, normalize_weights, simba

SHAPE = SimbaShape(3, (2, 4), width=8, blocks=2)


def unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True)


def layer_by_layer(flat: Tensor, x: Tensor, shape: SimbaShape = SHAPE) -> list[Tensor]:
    """One network, one sample, reading its parameters in their order."""
    at, width = 0, shape.width

    def take(*size: int) -> Tensor:
        nonlocal at
        part = flat[at : at + math.prod(size)].view(*size)
        at += math.prod(size)
        return part

    embedding = take(shape.inputs + 1, width)
    blocks = [(take(width, WIDENING * width), take(WIDENING * width, width)) for _ in range(shape.blocks)]
    heads = [(take(width, width), take(width, outputs)) for outputs in shape.heads]
    features = unit((unit(torch.cat([x, torch.tensor([SHIFT])])) @ embedding) * take(width))
    for inner, outer in blocks:
        scale, interpolation = take(WIDENING * width), take(width) * math.sqrt(width) / (shape.blocks + 1)
        changed = unit(functional.relu((features @ inner) * scale) @ outer)
        features = unit((1 - interpolation) * features + interpolation * changed)
    outputs = []
    for (inner, outer), count in zip(heads, shape.heads, strict=True):
        outputs.append(((features @ inner) * take(width)) @ outer + take(count))
    assert at == shape.parameters
    return outputs


def perturbed(networks: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    flat = torch.stack([draw_simba(SHAPE, generator) for _ in range(networks)])
    return flat + 0.1 * torch.randn(flat.shape, generator=generator)


def test_all_networks_at_once_are_each_network_alone():
    flat, x = perturbed(3), torch.randn(3, 5, 3)
    for head, outputs in enumerate(simba(SHAPE, flat, x)):
        expected = torch.stack(
            [torch.stack([layer_by_layer(flat[r], x[r, i])[head] for i in range(5)]) for r in range(3)]
        )
        torch.testing.assert_close(outputs, expected)


def test_slopes_are_those_of_a_network_written_layer_by_layer():
    flat, x = perturbed(1).requires_grad_(), torch.randn(1, 5, 3, generator=torch.Generator().manual_seed(1))
    weights = torch.randn(5, 6, generator=torch.Generator().manual_seed(2))
    (found,) = torch.autograd.grad((torch.cat(simba(SHAPE, flat, x), dim=-1)[0] * weights).sum(), flat)
    rows = torch.stack([torch.cat(layer_by_layer(flat[0], row)) for row in x[0]])
    (wanted,) = torch.autograd.grad((rows * weights).sum(), flat)
    assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_every_unit_begins_with_weights_of_norm_one_and_is_put_back_there():
    fresh = draw_simba(SHAPE, torch.Generator().manual_seed(1)).unsqueeze(0)
    for flat in (fresh, perturbed(2)):
        directions = [w.clone() for w in matrices(flat)]
        vectors = flat[:, SHAPE.matrices :].clone()
        normalize_weights(SHAPE, flat)
        for weight, before in zip(matrices(flat), directions, strict=True):
            torch.testing.assert_close(weight.norm(dim=1), torch.ones(len(flat), weight.shape[2]))
            torch.testing.assert_close(weight, before / before.norm(dim=1, keepdim=True))
        assert torch.equal(flat[:, SHAPE.matrices :], vectors), "scales and biases are free"


def matrices(flat: Tensor) -> list[Tensor]:
    sizes = [rows * columns for rows, columns in SHAPE.weights]
    columns = torch.split(flat[:, : SHAPE.matrices], sizes, dim=1)
    return [c.view(-1, *size) for c, size in zip(columns, SHAPE.weights, strict=True)]


def test_a_block_begins_with_its_share_of_the_features():
    interpolations = [value * SHAPE.interpolation for length, value in SHAPE.vectors if value == 1 / math.sqrt(8)]
    assert interpolations == pytest.approx([1 / 3, 1 / 3])


def test_the_length_of_the_input_is_not_lost_and_bfloat16_is_near():
    flat = perturbed(1)
    near, far = torch.tensor([[[0.1, 0.2, 0.3]]]), torch.tensor([[[1.0, 2.0, 3.0]]])
    assert (simba(SHAPE, flat, near)[0] - simba(SHAPE, flat, far)[0]).abs().max() > 0.05
    exact, rough = simba(SHAPE, flat, near)[1], simba(SHAPE, flat, near, torch.bfloat16)[1]
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough, exact, atol=0.05, rtol=0.05)
