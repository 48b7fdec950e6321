"""Soft actor-critic: its formulas by hand, and one whole step against an implementation written for one candidate."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, TanhTransform, TransformedDistribution
from torch.nn import functional

from simulation.catalog import SacPreset
from simulation.noise import SharedNoise
from trainer.experience import Experience, Newest
from trainer.replay_buffer import ReplayBuffer
from trainer.replay_rows import pack_rows
from trainer.returns import VALUE_LIMIT, ReturnScale
from trainer.sac import ATOMS, LAST_LEARNING_RATE, LOG_STD, SAC, compute_temperature_slope, project, squash
from trainer.simba import SimbaShape, simba

pytestmark = pytest.mark.slow

PRESET = SacPreset(
    worlds=4,
    horizon=8,
    iterations=2,
    updates=2,
    batch=16,
    replay=100,
    learning_starts=32,
    actor_width=8,
    critic_width=8,
    critic_blocks=1,
    learning_rate=0.01,
    gamma=0.9,
    initial_temperature=0.3,
)


class TestProjection:
    """101 atoms from -5 to 5, 0.1 apart; atom 50 is 0."""

    def test_a_value_between_two_atoms_is_split_by_nearness(self):
        probabilities, values = torch.zeros(ATOMS), torch.zeros(ATOMS)
        probabilities[[0, 1, 2]] = torch.tensor([0.5, 0.3, 0.2])
        values[[0, 1, 2]] = torch.tensor([0.03, 0.2, -0.97])
        result = project(probabilities, values)
        expected = torch.zeros(ATOMS)
        # 0.03 is 0.3 of the way from atom 50 to 51; 0.2 is atom 52; -0.97 is 0.3 of the way from atom 40 to 41
        expected[[50, 51, 52, 40, 41]] = torch.tensor([0.35, 0.15, 0.3, 0.14, 0.06])
        torch.testing.assert_close(result, expected, atol=1e-5, rtol=0)

    def test_values_beyond_the_limits_count_at_the_limits(self):
        result = project(torch.tensor([0.25] * 4 + [0.0] * 97), torch.tensor([-9.0, -5.0, 5.0, 7.0] + [0.0] * 97))
        assert (result[0], result[-1], result.sum()) == pytest.approx((0.5, 0.5, 1.0))

    def test_the_mean_is_kept(self):
        probabilities = torch.softmax(torch.randn(3, 7, ATOMS), -1)
        values = torch.rand(3, 7, ATOMS) * 9.9 - 4.95
        means = project(probabilities, values) @ torch.linspace(-VALUE_LIMIT, VALUE_LIMIT, ATOMS)
        torch.testing.assert_close(means, (probabilities * values).sum(-1), atol=1e-4, rtol=1e-4)


def test_the_temperature_rises_where_there_is_less_entropy_than_wanted():
    log_temperature = torch.tensor([[math.log(0.5)], [math.log(0.5)]])
    log_probs = torch.tensor([[-1.0, -3.0], [5.0, 1.0]])
    # entropies 2 and -3, wanted -0.5 * 2 = -1: slopes 0.5 * (2 + 1) and 0.5 * (-3 + 1)
    slope = compute_temperature_slope(log_temperature, log_probs, actions=2)
    assert slope.flatten().tolist() == pytest.approx([1.5, -1.0])


def test_log_densities_are_those_of_torch_distributions():
    mean, raw, noise = torch.randn(2, 5, 3), torch.randn(2, 5, 3), torch.randn(1, 5, 3)
    actions, log_probs = squash(mean, raw, noise)
    std = (LOG_STD[0] + 0.5 * (LOG_STD[1] - LOG_STD[0]) * (1 + raw.tanh())).exp()
    reference = TransformedDistribution(Normal(mean, std), [TanhTransform(cache_size=1)])
    u = mean + std * noise
    torch.testing.assert_close(actions, u.tanh())
    expected = Normal(mean, std).log_prob(u) - TanhTransform().log_abs_det_jacobian(u, u.tanh())
    torch.testing.assert_close(log_probs, expected.sum(-1), atol=1e-4, rtol=1e-4)
    moderate = actions.abs() < 0.99
    assert torch.allclose(reference.log_prob(actions)[moderate], expected[moderate], atol=1e-3)


class TestReturns:
    def test_three_steps_by_hand(self):
        scale = ReturnScale(1, worlds=2, gamma=0.5)
        rewards = torch.tensor([[[1.0, 4.0], [2.0, 4.0], [3.0, 4.0]]])
        ended = torch.tensor([[[False, False], [True, False], [False, False]]])
        scale.update(rewards, ended)
        # world 0: 1, 2.5, a restart, 3; world 1: 4, 6, 7
        seen = torch.tensor([1.0, 2.5, 3.0, 4.0, 6.0, 7.0])
        expected = 1 / max(seen.std(correction=0).item(), 7 / VALUE_LIMIT)
        assert scale.scale.item() == pytest.approx(expected, rel=1e-4)
        scale.update(torch.tensor([[[0.0, 80.0]]]), torch.tensor([[[False, False]]]))
        assert scale.scale.item() == pytest.approx(
            1 / max(torch.cat([seen, torch.tensor([1.5, 83.5])]).std(correction=0).item(), 83.5 / VALUE_LIMIT), rel=1e-4
        )

    def test_a_reward_of_any_size_gives_the_same_values(self):
        rewards = torch.rand(1, 6, 4)
        both = ReturnScale(2, worlds=4, gamma=0.9)
        both.update(torch.cat([rewards, 1000 * rewards]), torch.zeros(2, 6, 4, dtype=torch.bool))
        small, large = both.scale.flatten()
        assert small.item() == pytest.approx(1000 * large.item(), rel=1e-3)


def experience(candidates: int, seed: int = 0) -> Experience:
    """Made-up experience in which every candidate lived through the same, with an episode cut off and one that fell."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(1, *shape, generator=generator).repeat(candidates, *(1 for _ in shape))

    terminated, truncated = torch.zeros(2, candidates, 8, 4, dtype=torch.bool)
    terminated[:, 2, 1] = truncated[:, 5, 3] = True
    return Experience(
        observations=draw(8, 4, 3),
        actions=draw(8, 4, 2).tanh(),
        means=draw(8, 4, 2),
        rewards=draw(8, 4),
        terminated=terminated,
        truncated=truncated,
        next_observations=draw(4, 3),
        final_observations={5: draw(4, 3)},
    )


def test_what_followed_a_time_out_is_the_last_observation_and_a_fall_goes_nowhere():
    data = experience(2)
    rows = pack_rows(data).view(2, 8, 4, -1)
    following, goes_on = rows[..., 3:6], rows[..., -1]
    assert torch.equal(following[:, 5, 3], data.final_observations[5][:, 3])
    assert torch.equal(following[:, 5, 2], data.observations[:, 6, 2])
    assert torch.equal(following[:, 7], data.next_observations)
    assert (goes_on == 0).nonzero().tolist() == [[0, 2, 1], [1, 2, 1]], "a time-out goes on, a fall does not"
    assert torch.equal(rows[..., -2], data.rewards)


def learner(candidates: int, **changed: float) -> SAC:
    return SAC(3, 2, replace(PRESET, **changed), [1] * candidates, mixed_precision=False)


def test_a_candidate_learns_the_same_alone_and_beside_others():
    alone, together = learner(1), learner(3)
    for seed in range(3):
        alone.update(experience(1, seed), SharedNoise([seed]))
        data = experience(3, seed)
        data.rewards[0] *= -7
        data.rewards[2] *= torch.nan
        together.update(data, SharedNoise([seed] * 3))
    torch.testing.assert_close(together.actors[1], alone.actors[0])
    torch.testing.assert_close(together.critics[2:4], alone.critics)
    torch.testing.assert_close(together.log_temperature[1], alone.log_temperature[0])
    assert together.find_finite().tolist() == [True, True, False]
    assert not torch.equal(together.actors[0], together.actors[1])
    together.keep([0, 1])
    assert together.find_finite().all() and together.critics.shape[0] == 4
    together.update(experience(2, 9), SharedNoise([9, 9]))
    alone.update(experience(1, 9), SharedNoise([9]))
    torch.testing.assert_close(together.actors[1], alone.actors[0])


class TestHybridReplay:
    """QPA: half of one candidate's minibatches from its newest samples."""

    def test_half_of_each_minibatch_comes_from_the_newest_and_no_other_draw_changes(self):
        sac = learner(3)
        for _ in range(4):
            sac.replay.add(torch.zeros(3, 32, sac.replay.rows.shape[2]))  # 128 of 100: the newest is at place 27
        plain = sac._draw(SharedNoise([5, 6, 5]), {})
        mixed = sac._draw(SharedNoise([5, 6, 5]), {1: Newest(0.5, samples=10, seed=3)})
        assert torch.equal(mixed[[0, 2]], plain[[0, 2]]) and torch.equal(mixed[1, :, :8], plain[1, :, :8])
        assert set(mixed[1, :, 8:].flatten().tolist()) <= set(range(18, 28))
        assert not torch.equal(mixed[1, 0, 8:], mixed[1, 1, 8:])
        assert sac.replay.places(torch.tensor([0, 27, 28, 99])).tolist() == [27, 0, 99, 28]
        together = sac._draw(SharedNoise([5, 5, 5]), {1: Newest(0.5, samples=10, seed=3)})
        assert torch.equal(together[1, :, 8:], mixed[1, :, 8:]), "the company's seeds do not matter"

    def test_all_samples_are_the_newest_where_there_are_fewer(self):
        sac = learner(2)
        sac.replay.add(torch.zeros(2, 6, sac.replay.rows.shape[2]))
        drawn = sac._draw(SharedNoise([1, 2]), {0: Newest(0.5, samples=5000, seed=3)})
        assert set(drawn[0, :, 8:].flatten().tolist()) == set(range(6))

    def test_the_others_learn_the_same_bit_for_bit(self):
        plain, mixed = learner(3), learner(3)
        for seed in range(3):
            plain.update(experience(3, seed), SharedNoise([seed] * 3))
            wanted = {1: Newest(0.5, samples=32, seed=seed)}
            mixed.update(replace(experience(3, seed), newest=wanted), SharedNoise([seed] * 3))
        assert torch.equal(mixed.actors[[0, 2]], plain.actors[[0, 2]])
        assert torch.equal(mixed.critics[[0, 1, 4, 5]], plain.critics[[0, 1, 4, 5]])
        assert not torch.equal(mixed.actors[1], plain.actors[1])


def test_nothing_is_learned_before_there_is_enough_and_weights_stay_on_the_sphere():
    sac = learner(2, learning_starts=40)
    before = sac.critics.clone()
    sac.update(experience(2), SharedNoise([0, 0]))
    assert torch.equal(sac.critics, before) and sac.replay.size == 32
    sac.update(experience(2, 1), SharedNoise([0, 0]))
    assert not torch.equal(sac.critics, before)
    embedding = sac.critics[:, : 6 * 8].view(4, 6, 8)
    torch.testing.assert_close(embedding.norm(dim=1), torch.ones(4, 8))


def test_a_replay_that_had_to_be_smaller_than_the_wait_ends_the_wait():
    sac = learner(2, learning_starts=40)
    sac.replay = ReplayBuffer(2, 16, sac.replay.rows.shape[2])
    before = sac.critics.clone()
    sac.update(experience(2), SharedNoise([0, 0]))
    assert sac.replay.size == 16 and not torch.equal(sac.critics, before)


def test_everything_is_on_the_learners_device():
    """On PyTorch's device without memory, where a tensor of another device would be refused."""
    sac, data = SAC(3, 2, PRESET, [1, 2], mixed_precision=False, device="meta"), experience(2)
    moved = {name: value.to("meta") for name, value in vars(data).items() if isinstance(value, Tensor)}
    finals = {t: final.to("meta") for t, final in data.final_observations.items()}
    sac.update(replace(data, **moved, final_observations=finals), SharedNoise([1, 2]))
    acted = sac.act(torch.empty(2, 4, 3, device="meta"), torch.empty(2, 4, 2, device="meta"))
    assert {tensor.device.type for tensor in (*acted, sac.actors, sac.critics, sac.targets)} == {"meta"}
    assert sac.optimizers[0].steps == PRESET.updates


def test_the_learning_rate_falls_linearly_to_a_tenth():
    sac = learner(1)
    optimizer, rates = sac.optimizers[2], []
    step = optimizer.step
    optimizer.step = lambda parameters, gradient, rate: (rates.append(rate.item()), step(parameters, gradient, rate))
    for _ in range(6):
        sac._descend(2, sac.log_temperature, torch.ones(1, 1))
    fractions = [1, 0.775, 0.55, 0.325, LAST_LEARNING_RATE, LAST_LEARNING_RATE]
    assert rates == pytest.approx([0.01 * fraction for fraction in fractions])


def reference_step(sac: SAC, rows: Tensor, next_noise: Tensor, noise: Tensor) -> dict[str, Tensor]:
    """One step of a single candidate, sample by sample where it matters, on torch's own Adam and distributions."""
    assert len(sac.actors) == 1
    actor_shape, critic_shape = sac.shape, sac.critic_shape
    actor = sac.actors[0].clone().requires_grad_()
    critics = [sac.critics[i].clone().requires_grad_() for i in (0, 1)]
    targets = [sac.targets[i].clone() for i in (0, 1)]
    log_temperature = sac.log_temperature[0].clone().requires_grad_()
    atoms = torch.linspace(-5, 5, 101)

    def normalized(x: Tensor) -> Tensor:
        variance = sac.observations.variance[0]
        return ((x - sac.observations.mean[0]) / (variance + 1e-5).sqrt()).clamp(-10, 10)

    def sample(flat: Tensor, observation: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        mean, raw = (head[0, 0] for head in simba(actor_shape, flat.unsqueeze(0), observation.view(1, 1, -1)))
        normal = Normal(mean, (-5 + 3.5 * (1 + raw.tanh())).exp())
        u = mean + normal.scale * drawn
        return u.tanh(), (normal.log_prob(u) - (1 - u.tanh() ** 2).log()).sum()

    def logits(flat: Tensor, observation: Tensor, action: Tensor) -> Tensor:
        pair = torch.cat([observation, action]).view(1, 1, -1)
        return simba(critic_shape, flat.unsqueeze(0), pair)[0][0, 0]

    critic_losses = [[], []]
    for row, drawn in zip(rows[0], next_noise[0], strict=True):
        observation, following, action = normalized(row[:3]), normalized(row[3:6]), row[6:8]
        reward, goes_on = row[8] * sac.returns.scale[0, 0], row[9]
        with torch.no_grad():
            next_action, log_prob = sample(actor, following, drawn)
            distributions = [functional.softmax(logits(t, following, next_action), -1) for t in targets]
            chosen = min(distributions, key=lambda p: float((p * atoms).sum()))
            wanted = torch.zeros(101)
            for probability, atom in zip(chosen, atoms, strict=True):
                value = reward + 0.9 * goes_on * (atom - log_temperature.exp() * log_prob)
                position = (float(value.clamp(-5, 5)) + 5) / 0.1
                lower = min(int(position), 99)
                wanted[lower] += probability * (1 - (position - lower))
                wanted[lower + 1] += probability * (position - lower)
        for losses, critic in zip(critic_losses, critics, strict=True):
            losses.append(-(wanted * functional.log_softmax(logits(critic, observation, action), -1)).sum())
    for losses, critic in zip(critic_losses, critics, strict=True):
        optimizer = torch.optim.Adam([critic], lr=0.01)
        torch.stack(losses).mean().backward()
        optimizer.step()
        on_sphere(critic_shape, critic.data)
    actor_losses, log_probs = [], []
    for row, drawn in zip(rows[0], noise[0], strict=True):
        observation = normalized(row[:3])
        action, log_prob = sample(actor, observation, drawn)
        values = [(functional.softmax(logits(c.detach(), observation, action), -1) * atoms).sum() for c in critics]
        actor_losses.append(log_temperature.exp().detach() * log_prob - torch.minimum(*values))
        log_probs.append(log_prob.detach())
    optimizers = [torch.optim.Adam([actor], lr=0.01), torch.optim.Adam([log_temperature], lr=0.01)]
    torch.stack(actor_losses).mean().backward()
    (log_temperature.exp() * (-torch.stack(log_probs).mean() + 0.5 * 2)).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    on_sphere(actor_shape, actor.data)
    followed = [target + PRESET.target_rate * (c.data - target) for target, c in zip(targets, critics, strict=True)]
    return {
        "actors": actor.data.unsqueeze(0),
        "critics": torch.stack([c.data for c in critics]),
        "targets": torch.stack(followed),
        "log_temperature": log_temperature.data.unsqueeze(0),
    }


def on_sphere(shape: SimbaShape, flat: Tensor) -> None:
    at = 0
    for inputs, outputs in shape.weights:
        weight = flat[at : at + inputs * outputs].view(inputs, outputs)
        weight /= weight.norm(dim=0, keepdim=True)
        at += inputs * outputs


def test_a_step_is_that_of_a_straightforward_implementation():
    sac = learner(1, learning_starts=1000)
    sac.update(experience(1), SharedNoise([0]))  # fills replay and statistics, learns nothing yet
    generator = torch.Generator().manual_seed(3)
    sac.targets += 0.05 * torch.randn(sac.targets.shape, generator=generator)  # so that they differ from the critics
    rows = sac.replay.rows[:, :12]
    next_noise, noise = torch.randn(2, 1, 12, 2, generator=generator)
    before = {name: getattr(sac, name).clone() for name in ("actors", "critics", "targets", "log_temperature")}
    expected = reference_step(sac, rows, next_noise, noise)
    sac._step(rows, next_noise, noise)
    for name, value in expected.items():
        moved = (getattr(sac, name) - before[name]).abs()
        assert moved.max() > 1e-4
        # Adam's first step is a sign: where a gradient is nearly nothing, rounding decides it
        torch.testing.assert_close(getattr(sac, name), value, atol=2e-4, rtol=1e-3)


def test_another_reward_relabels_the_replay_and_begins_critics_and_returns_again_once():
    """PEBBLE: the replay always, critics, their optimiser and the scale of returns after the first session."""
    ours = learner(3)
    for seed in range(4):
        ours.update(experience(3, seed), SharedNoise([0] * 3))
    replay, critics, scales = ours.replay.rows.clone(), ours.critics.clone(), ours.returns.scale.clone()
    column, size = 2 * ours.num_obs + ours.num_actions, ours.replay.size

    def rewards(observations: Tensor, actions: Tensor, earlier: Tensor) -> Tensor:
        return observations[..., 0] + 10 * actions[..., 0] + 0.5 * earlier

    ours.change_reward([2, 0], rewards)
    wanted = replay.clone()
    for row in (0, 2):
        kept = replay[row, :size]
        wanted[row, :size, column] = rewards(kept, kept[:, 2 * ours.num_obs :], kept[:, column])
    assert torch.equal(ours.replay.rows, wanted)
    assert torch.equal(ours.critics, critics) and torch.equal(ours.returns.scale, scales)

    ours.change_reward([2], rewards, [7])
    fresh = SAC(ours.num_obs, ours.num_actions, PRESET, [7], False)
    assert torch.equal(ours.critics[4:], fresh.critics) and torch.equal(ours.targets[4:], fresh.critics)
    assert torch.equal(ours.critics[:4], critics[:4])
    assert not ours.optimizers[1].first[4:].any() and ours.optimizers[1].first[:4].any()
    assert torch.equal(ours.returns.scale[:2], scales[:2]) and torch.equal(ours.returns.scale[2:], fresh.returns.scale)
    restored = learner(3)
    restored.load_state_dict(ours.state_dict())
    for one in (ours, restored):
        one.update(experience(3, 9), SharedNoise([0] * 3))
    assert torch.equal(restored.critics, ours.critics)
    for one in (ours, restored):
        one.keep([2])
    assert restored.optimizers[1].begun == ours.optimizers[1].begun == [8, 8]
