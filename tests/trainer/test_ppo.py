"""The formulas of PPO, each against numbers by hand or an independent implementation."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from simulation.catalog import Preset
from simulation.noise import SharedNoise
from trainer import ppo
from trainer.adam import StackedAdam
from trainer.experience import Experience
from trainer.networks import NetworkShape
from trainer.ppo import (
    PPO,
    Minibatch,
    adapt_learning_rate,
    compute_advantages,
    compute_ppo_slopes,
    gaussian_kl,
    log_probability,
)

PRESET = Preset(
    worlds=4, horizon=8, iterations=2, epochs=2, minibatches=2, hidden=(8,), entropy_weight=0.01, bounds_weight=0.1
)
SHAPE = NetworkShape(3, 2, (8,), "tanh")


def row(*values: float) -> Tensor:
    """One candidate, len(values) steps, one world."""
    return torch.tensor(values).view(1, -1, 1)


def flags(*values: bool) -> Tensor:
    return torch.tensor(values).view(1, -1, 1)


def advantages(terminated: Tensor, truncated: Tensor, next_values: Tensor) -> list[float]:
    rewards, values = row(1.0, 2.0, 3.0), row(0.5, 1.0, 1.5)
    result = compute_advantages(rewards, values, next_values, terminated, truncated, gamma=0.9, gae_lambda=0.5)
    return result.flatten().tolist()


class TestGeneralizedAdvantages:
    """gamma 0.9, lambda 0.5; rewards 1 2 3, values 0.5 1 1.5, next values 1 1.5 2 unless said."""

    never = flags(False, False, False)

    def test_three_steps_by_hand(self):
        # deltas: 1 + .9 - .5 = 1.4; 2 + 1.35 - 1 = 2.35; 3 + 1.8 - 1.5 = 3.3
        # A2 = 3.3; A1 = 2.35 + .45 * 3.3 = 3.835; A0 = 1.4 + .45 * 3.835 = 3.12575
        assert advantages(self.never, self.never, row(1.0, 1.5, 2.0)) == pytest.approx([3.12575, 3.835, 3.3])

    def test_a_terminal_state_is_worth_nothing_and_cuts_the_sum(self):
        # delta1 = 2 - 1 = 1; A1 = 1; A0 = 1.4 + .45 = 1.85
        result = advantages(flags(False, True, False), self.never, row(1.0, 99.0, 2.0))
        assert result == pytest.approx([1.85, 1.0, 3.3])

    def test_a_time_out_bootstraps_from_the_final_observation_and_cuts_the_sum(self):
        # the final observation of step 1 is worth 4: delta1 = 2 + 3.6 - 1 = 4.6; A1 = 4.6; A0 = 1.4 + .45 * 4.6 = 3.47
        result = advantages(self.never, flags(False, True, False), row(1.0, 4.0, 2.0))
        assert result == pytest.approx([3.47, 4.6, 3.3])


def test_log_probability_is_that_of_torch_distributions():
    actions, means, log_std = torch.randn(3, 7, 2), torch.randn(3, 7, 2), torch.randn(3, 2)
    expected = Normal(means, log_std.exp().unsqueeze(1)).log_prob(actions).sum(-1)
    torch.testing.assert_close(log_probability(actions, means, log_std), expected)


def test_kl_is_that_of_torch_distributions():
    old_means, means, old_log_std, log_std = (
        torch.randn(3, 7, 2),
        torch.randn(3, 7, 2),
        torch.randn(3, 2),
        torch.randn(3, 2),
    )
    old, new = Normal(old_means, old_log_std.exp().unsqueeze(1)), Normal(means, log_std.exp().unsqueeze(1))
    expected = kl_divergence(old, new).sum(-1).mean(-1)
    torch.testing.assert_close(gaussian_kl(old_means, old_log_std, means, log_std), expected)


def test_learning_rate_follows_kl_per_candidate_within_its_limits():
    rates = torch.tensor([3e-4, 3e-4, 3e-4, 1e-6, 1e-2])
    kl = torch.tensor([0.03, 0.01, 0.004, 1.0, 0.0])
    adapted = adapt_learning_rate(rates, kl, target=0.01)
    torch.testing.assert_close(adapted, torch.tensor([2e-4, 3e-4, 4.5e-4, 1e-6, 1e-2]))


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, True])
def test_adam_equals_torch_row_by_row(fused):
    start, rates = torch.randn(3, 10), (1e-3, 3e-2, 1e-1)
    ours, adam = start.clone(), StackedAdam(start, fused)
    rows = [start[k].clone().requires_grad_() for k in range(3)]
    optimizers = [torch.optim.Adam([row], lr=rate) for row, rate in zip(rows, rates, strict=True)]
    for _ in range(20):
        gradient = torch.randn(3, 10)
        adam.step(ours, gradient, torch.tensor(rates))
        for k, optimizer in enumerate(optimizers):
            rows[k].grad = gradient[k].clone()
            optimizer.step()
    torch.testing.assert_close(ours, torch.stack(rows).detach())


def test_a_learner_of_fused_steps_goes_on_and_loses_candidates_as_any():
    plain, fused = learner(3), learner(3)
    fused.optimizer.fused = True
    for one in (plain, fused):
        one.update(experience(3), SharedNoise([0] * 3))
        one.keep([0, 2])
        restored = learner(2)
        restored.optimizer.fused = one.optimizer.fused
        restored.load_state_dict(one.state_dict())
        restored.update(experience(2, 1), SharedNoise([0] * 2))
        one.after = restored.networks.flat
    torch.testing.assert_close(fused.after, plain.after, rtol=1e-3, atol=1e-5)


def reference_loss(batch: Minibatch, k: int, mean: Tensor, log_std: Tensor, value: Tensor, preset: Preset) -> Tensor:
    """PPO's loss of one candidate, written sample by sample."""
    policy = Normal(mean, log_std.exp())
    losses = []
    for i in range(mean.shape[0]):
        log_prob = Normal(mean[i], log_std.exp()).log_prob(batch.actions[k, i]).sum()
        ratio = torch.exp(log_prob - batch.log_probs[k, i])
        advantage = batch.advantages[k, i]
        clipped = torch.clip(ratio, 1 - preset.clip, 1 + preset.clip)
        surrogate = torch.min(ratio * advantage, clipped * advantage)
        old = batch.values[k, i]
        near = old + torch.clip(value[i] - old, -preset.clip, preset.clip)
        error = torch.max((value[i] - batch.returns[k, i]) ** 2, (near - batch.returns[k, i]) ** 2)
        beyond = sum(max(0.0, abs(m) - 1.1) ** 2 for m in mean[i])
        losses.append(-surrogate + error + preset.bounds_weight * beyond)
    return torch.stack(losses).mean() - preset.entropy_weight * policy.entropy()[0].sum()


def test_slopes_are_the_derivatives_of_a_loss_written_sample_by_sample():
    torch.manual_seed(0)
    means = (torch.randn(3, 9, 2) * 1.5).requires_grad_()
    log_std, values = torch.randn(3, 2).requires_grad_(), torch.randn(3, 9).requires_grad_()
    batch = Minibatch(
        observations=torch.empty(0),
        actions=means.detach() + torch.randn(3, 9, 2),
        means=torch.empty(0),
        log_probs=torch.randn(3, 9) - 3,
        values=values.detach() + 0.3 * torch.randn(3, 9),
        returns=torch.randn(3, 9),
        advantages=torch.randn(3, 9),
    )
    loss = sum(reference_loss(batch, k, means[k], log_std[k], values[k], PRESET) for k in range(3))
    expected = torch.autograd.grad(loss, (means, values, log_std))
    with torch.no_grad():
        ours = compute_ppo_slopes(batch, means, log_std, values, PRESET, PRESET.entropy_weight)
    for a, b in zip(ours, expected, strict=True):
        torch.testing.assert_close(a, b)
    assert (ours[0] == 0).any() and (ours[1] == 0).any()  # both kinds of clipping took place


def test_slopes_of_a_sample_that_is_not_a_number_are_none_either():
    batch = Minibatch(*(torch.ones(1, 4, 2) for _ in range(3)), *(torch.ones(1, 4) for _ in range(4)))
    batch.advantages[0, 1], batch.returns[0, 2] = torch.nan, torch.nan
    mean_slopes, value_slopes, _ = compute_ppo_slopes(
        batch, torch.zeros(1, 4, 2), torch.zeros(1, 2), torch.ones(1, 4), PRESET, 0.0
    )
    assert mean_slopes.isnan().any(-1).tolist() == [[False, True, False, False]]
    assert value_slopes.isnan().tolist() == [[False, False, True, False]]


def experience(candidates: int, seed: int = 0) -> Experience:
    """Made-up experience in which every candidate lived through the same."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).repeat(candidates, *(1 for _ in shape))

    observations, means = draw(1, 8, 4, 3).flatten(0, 1), draw(1, 8, 4, 2).flatten(0, 1)
    return Experience(
        observations=observations,
        actions=means + draw(1, 8, 4, 2).flatten(0, 1),
        means=means,
        rewards=draw(1, 8, 4).flatten(0, 1),
        terminated=torch.zeros(candidates, 8, 4, dtype=torch.bool),
        truncated=torch.zeros(candidates, 8, 4, dtype=torch.bool),
        next_observations=draw(1, 4, 3).flatten(0, 1),
        final_observations={},
    )


def learner(candidates: int) -> PPO:
    return PPO(SHAPE, PRESET, [1] * candidates, mixed_precision=False)


def test_time_outs_are_valued_at_the_observation_before_the_reset():
    ppo, data = learner(2), experience(2)
    data.truncated[1, 3, 2] = True
    final = torch.randn(2, 4, 3)
    data.final_observations[3] = final
    observations = ppo.observations.normalize(data.observations.flatten(1, 2))
    with torch.no_grad():
        values, next_values = ppo._values(data, observations)
        reached = ppo.networks.value(ppo.observations.normalize(final))
    torch.testing.assert_close(next_values[1, 3, 2], reached[1, 2], rtol=1e-4, atol=0)
    assert torch.equal(next_values[0, :-1], values[0, 1:])
    changed = (next_values[1, :-1] != values[1, 1:]).nonzero().tolist()
    assert changed == [[3, 2]]


def test_a_candidate_learns_the_same_alone_and_beside_others():
    alone, together = learner(1), learner(3)
    for seed in range(2):
        alone.update(experience(1, seed), SharedNoise([seed]))
        data = experience(3, seed)
        data.rewards[0] *= 7
        data.rewards[2] *= torch.nan
        together.update(data, SharedNoise([seed]))
    torch.testing.assert_close(together.networks.flat[1], alone.networks.flat[0])
    torch.testing.assert_close(together.rates[1], alone.rates[0])
    assert together.find_finite().tolist() == [True, True, False]
    assert not torch.equal(together.networks.flat[0], together.networks.flat[1])
    together.keep([0, 1])
    assert together.networks.flat.shape[0] == 2 and together.find_finite().all()


def test_a_restored_learner_continues_exactly():
    ppo = learner(2)
    ppo.update(experience(2), SharedNoise([0]))
    state = {k: v.clone() if isinstance(v, Tensor) else v for k, v in ppo.state_dict().items()}
    restored = learner(2)
    restored.load_state_dict(state)
    for one in (ppo, restored):
        one.update(experience(2, 5), SharedNoise([9]))
    assert torch.equal(ppo.networks.flat, restored.networks.flat)


def test_the_entropys_weight_falls_to_nothing_in_the_end():
    """Each of two updates takes four steps; a fifth of all are 1.6."""
    one, weights = learner(1), []
    slopes = ppo.compute_ppo_slopes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ppo, "compute_ppo_slopes", lambda *given: weights.append(given[-1]) or slopes(*given))
        for seed in range(2):
            one.update(experience(1, seed), SharedNoise([0]))
    assert weights == pytest.approx([0.01] * 7 + [0.01 / 1.6])


def test_the_update_makes_good_actions_likelier():
    ppo, data = learner(1), experience(1)
    good = data.actions[0, ..., 0] > data.means[0, ..., 0]
    data.rewards[0] = good.float() * 10
    before = ppo.mean_actions(data.observations.flatten(1, 2))[..., 0].mean()
    data.means.copy_(ppo.mean_actions(data.observations.flatten(1, 2)).view_as(data.means))
    data.actions.copy_(data.means + torch.where(good, 1.0, -1.0).unsqueeze(-1) * ppo.std[:, None, None])
    for _ in range(3):
        ppo.update(data, SharedNoise([0]))
    assert ppo.mean_actions(data.observations.flatten(1, 2))[..., 0].mean() > before
    assert math.isfinite(float(ppo.rates[0]))


def test_values_keep_their_meaning_when_their_normaliser_moves():
    ppo, observations = learner(2), torch.randn(2, 5, 3)
    with torch.no_grad():
        before = ppo._value(observations)
        ppo._renormalize_values(torch.randn(2, 40, 1) * 30 + 100)
        after = ppo._value(observations)
    assert ppo.values.mean.min() > 80
    torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-3)


def test_another_reward_begins_the_value_heads_of_its_candidates_again_and_nothing_else():
    ours = learner(3)
    ours.update(experience(3), SharedNoise([0] * 3))
    before, moments = ours.networks.flat.clone(), ours.optimizer.first.clone()
    ours.change_reward([1], lambda observations, actions, earlier: observations[..., 0])
    assert torch.equal(ours.networks.flat, before), "later changes reset nothing"
    ours.change_reward([1], lambda observations, actions, earlier: observations[..., 0], [7])
    weight, bias = ours.networks.value_head(ours.networks.flat)
    head = torch.zeros_like(before, dtype=torch.bool)
    for part in ours.networks.value_head(head):
        part[1] = True
    assert torch.equal(ours.networks.flat != before, head)
    assert weight[1].abs().max() <= 1 / math.sqrt(8) and bias[1].item() == 0
    assert not ours.optimizer.first[head].any() and not ours.optimizer.second[head].any()
    assert torch.equal(ours.optimizer.first[~head], moments[~head])


@pytest.mark.parametrize("fused", [False, True])
def test_rows_whose_optimiser_begins_again_step_as_new_ones(fused):
    start, rates = torch.randn(3, 10), torch.tensor([1e-3, 3e-2, 1e-1])
    ours, adam = start.clone(), StackedAdam(start, fused)
    for _ in range(7):
        adam.step(ours, torch.randn(3, 10), rates)
    adam.restart([1])
    part = adam.rows([1, 2])
    parameters, fresh, new = ours[1:].clone(), ours[1:2].clone(), StackedAdam(ours[1:2])
    for _ in range(5):
        gradient = torch.randn(3, 10)
        adam.step(ours, gradient, rates)
        new.step(fresh, gradient[1:2], rates[1:2])
        part.step(parameters, gradient[1:], rates[1:])
    torch.testing.assert_close(ours[1:2], fresh)
    assert torch.equal(ours[1:], parameters), "rows that go on alone take the same steps"
    adam.replace([1, 2], part)
    gradient = torch.randn(3, 10)
    adam.step(ours, gradient, rates)
    new.step(fresh, gradient[1:2], rates[1:2])
    torch.testing.assert_close(ours[1:2], fresh)
