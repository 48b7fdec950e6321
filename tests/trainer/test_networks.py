import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from trainer.networks import NetworkShape, StackedActorCritic, draw_parameters

SHAPE = NetworkShape(num_obs=5, num_actions=2, hidden=(7, 6), activation="elu")


MODULES = {"elu": nn.ELU, "silu": nn.SiLU, "relu": nn.ReLU, "tanh": nn.Tanh}


def stacked(count: int, activation: str = "elu") -> StackedActorCritic:
    generator = torch.Generator().manual_seed(3)
    rows = [draw_parameters(SHAPE, 0.5, generator) for _ in range(count)]
    return StackedActorCritic(replace(SHAPE, activation=activation), torch.stack(rows))


def plain(networks: StackedActorCritic, group: int, layers: str) -> nn.Sequential:
    """The same perceptron of one candidate, from torch.nn."""
    modules: list[nn.Module] = []
    for weight, bias in getattr(networks, layers):
        linear = nn.Linear(*weight.shape[1:])
        linear.weight.data = weight[group].detach().t().clone()
        linear.bias.data = bias[group, 0].detach().clone()
        modules += [linear, MODULES[networks.shape.activation]()]
    return nn.Sequential(*modules[:-1])


def test_parameter_count_is_that_of_the_layers():
    actor = 6 * 7 + 8 * 6 + 7 * 2
    critic = 6 * 7 + 8 * 6 + 7 * 1
    assert SHAPE.parameters == actor + critic + 2
    assert stacked(3).flat.shape == (3, SHAPE.parameters)


@pytest.mark.slow
@pytest.mark.parametrize("layers", ["actor", "critic"])
def test_each_candidate_computes_its_own_perceptron(layers):
    networks = stacked(3)
    x = torch.randn(3, 11, 5)
    ours = networks.mean(x) if layers == "actor" else networks.value(x).unsqueeze(-1)
    for group in range(3):
        torch.testing.assert_close(ours[group], plain(networks, group, layers)(x[group]))


@pytest.mark.parametrize("activation", MODULES)
def test_gradient_is_that_of_autograd_and_depends_on_the_candidate_s_own_loss_alone(activation):
    networks = stacked(2, activation)
    x = torch.randn(2, 11, 5)

    def gradient(weights: torch.Tensor) -> torch.Tensor:
        traces = networks.traces(x)
        means, values = (trace.output for trace in traces)
        slopes = (2 * means * weights[:, None, None], torch.ones_like(values) * weights[:, None, None])
        return networks.gradient(traces, slopes, weights[:, None].expand(2, 2))

    both, first = gradient(torch.tensor([1.0, 1.0])), gradient(torch.tensor([1.0, 0.0]))
    assert both.shape == networks.flat.shape
    assert torch.equal(both[0], first[0])
    assert torch.equal(first[1], torch.zeros(SHAPE.parameters))
    actor, critic = plain(networks, 0, "actor"), plain(networks, 0, "critic")
    (actor(x[0]).square().sum() + critic(x[0]).sum()).backward()
    parts = [p.grad.t().flatten() for network in (actor, critic) for p in network.parameters()]
    torch.testing.assert_close(both[0], torch.cat([*parts, torch.ones(2)]))


def test_layers_share_memory_with_the_flat_parameters():
    networks = stacked(2)
    networks.flat.zero_()
    assert networks.mean(torch.randn(2, 3, 5)).abs().max() == 0


def test_products_in_bfloat16_follow_the_parameters_once_refreshed():
    networks = StackedActorCritic(SHAPE, stacked(2).flat, torch.bfloat16)
    x = torch.randn(2, 3, 5)
    torch.testing.assert_close(networks.mean(x), stacked(2).mean(x), rtol=0.1, atol=0.01)
    networks.flat.zero_()
    assert networks.mean(x).abs().max() > 0
    networks.refresh()
    assert networks.mean(x).abs().max() == 0
    assert networks.mean(x).dtype == torch.float32


def test_initial_parameters_follow_the_seed_and_the_std():
    first, again = (draw_parameters(SHAPE, 0.5, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
    torch.testing.assert_close(first[-2:], torch.full((2,), math.log(0.5)))
    assert first[:-2].abs().max() <= 1 / math.sqrt(5)
