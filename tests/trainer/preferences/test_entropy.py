"""Particle entropy: distances by hand, a reservoir that is a fair sample, rows that never mix."""

import pytest
import torch

from trainer.preferences import entropy
from trainer.preferences.entropy import NEIGHBOUR, ParticleEntropy, compute_neighbour_distances


def test_the_distance_is_that_to_the_fifth_neighbour():
    among = torch.arange(10.0).unsqueeze(1)
    # from 0: neighbours 0 1 2 3 4; from 4.4: 4 5 3 6 2 at .4 .6 1.4 1.6 2.4; far away: the fifth from the end, 5
    states = torch.tensor([[0.0], [4.4], [100.0]])
    assert compute_neighbour_distances(states, among, NEIGHBOUR).tolist() == pytest.approx([4.0, 2.4, 95.0])
    assert compute_neighbour_distances(states, among[:3], NEIGHBOUR).tolist() == pytest.approx([2.0, 4.4, 100.0])


def test_a_reward_is_the_distance_over_its_running_deviation():
    first, second = torch.arange(10.0).view(1, 10, 1), torch.tensor([[[4.4], [0.0]]])
    particle = ParticleEntropy(1, [1])
    # the first states are each other's neighbours, none its own: 5 4 3 3 3 3 3 3 4 5
    distances = torch.tensor([5.0, 4, 3, 3, 3, 3, 3, 3, 4, 5])
    found = particle.rewards([0], first)
    assert torch.allclose(found[0], distances / distances.std(correction=0), rtol=1e-3)
    later = torch.tensor([2.4, 4.0])
    deviation = torch.cat((distances, later)).std(correction=0)
    assert torch.allclose(particle.rewards([0], second)[0], later / deviation, rtol=1e-3)


def test_a_bounded_reward_is_the_distance_from_the_mean_over_three_deviations():
    """RIME: the same in the bounds of a reward model."""
    particle = ParticleEntropy(1, [1, 1], bounded=[True, False])
    states = torch.tensor([[0.0], *([[float(step)] for step in range(1, 10)]), [200.0]]).expand(2, 11, 1)
    distances = torch.tensor([5.0, 4, 3, 3, 3, 3, 3, 3, 4, 5, 195])
    found = particle.rewards([0, 1], states)
    deviation = distances.std(correction=0)
    wanted = ((distances - distances.mean()) / (3 * deviation)).clamp(-1, 1)
    assert torch.allclose(found[0], wanted, atol=1e-3) and found[0, -1] == 1.0, "at 3.16 deviations it is cut"
    assert torch.allclose(found[1], distances / deviation, rtol=1e-3)
    particle.keep([1])
    assert particle.rewards([0], torch.full((1, 1, 1), 500.0)) > 1


@pytest.mark.slow
def test_the_reservoir_is_a_fair_sample_of_all_states(monkeypatch):
    monkeypatch.setattr(entropy, "RESERVOIR", 50)
    kept = torch.zeros(200)
    for seed in range(100):
        particle = ParticleEntropy(1, [seed])
        for begin in range(0, 200, 40):
            particle.rewards([0], torch.arange(float(begin), begin + 40).view(1, 40, 1))
        held = particle._states[0, :, 0].long()
        assert len(held.unique()) == 50
        kept[held] += 1
    # each is kept in a quarter of 100 trials, 25 with a deviation of 4.3; each fifth of the states in 1000 all together
    assert kept.min() >= 8 and kept.max() <= 44
    assert kept.view(5, 40).sum(1).tolist() == pytest.approx([1000] * 5, rel=0.1)


def test_rows_do_not_mix_and_go_on_from_a_saved_state():
    generator = torch.Generator().manual_seed(0)
    horizons = [torch.randn(2, 30, 3, generator=generator) for _ in range(4)]
    both, alone = ParticleEntropy(3, [1, 2]), ParticleEntropy(3, [2])
    for number, states in enumerate(horizons):
        found = both.rewards([0, 1], states)
        assert torch.equal(found[1:], alone.rewards([0], states[1:]))
        if number == 1:
            resumed = ParticleEntropy(3, [1, 2])
            resumed.load_state_dict(both.state_dict())
            both = resumed
    both.keep([1])
    more = torch.randn(1, 30, 3, generator=generator)
    assert torch.equal(both.rewards([0], more), alone.rewards([0], more))
