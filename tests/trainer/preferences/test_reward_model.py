"""Reward models: the loss by hand, gradients by finite differences, early stopping row by row, rows that never mix."""

import math
from dataclasses import replace

import pytest
import torch

from trainer.preferences import reward_model
from trainer.preferences.denoising import Discriminator
from trainer.preferences.labels import CROPS, Labels, Unlabelled, crop_pairs, pick_labels
from trainer.preferences.reward_model import (
    MEMBERS,
    RATIO,
    RewardModel,
    compute_preference_loss,
    find_right_answers,
    round_up_size,
)

pytestmark = pytest.mark.slow


def labels(count=24, steps=5, inputs=3, seed=0, equal=0):
    """Pairs in which the segment with the larger sum of first inputs is preferred; the first `equal` are equal."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 2, steps, inputs, generator=generator)
    first = x[..., 0].sum(-1)
    targets = torch.stack((first[:, 0] > first[:, 1], first[:, 0] <= first[:, 1]), dim=1).float()
    targets[:equal] = 0.5
    return Labels(x, torch.ones(count, 2, steps, dtype=torch.bool), targets)


def small(seeds=(1,)):
    return RewardModel(3, seeds)


@pytest.fixture(autouse=True)
def small_networks(monkeypatch):
    monkeypatch.setattr(reward_model, "HIDDEN", (16, 16))


def test_the_loss_is_the_cross_entropy_of_summed_rewards():
    returns = torch.tensor([[2.0, 1.0], [0.5, 0.5], [-1.0, 3.0]])
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    # -log(e^2 / (e^2 + e)) = log(1 + 1/e); log 2; for equal ones the mean of log(1 + e^4) and log(1 + e^-4)
    wanted = [math.log1p(math.exp(-1)), math.log(2), 0.5 * (math.log1p(math.exp(4)) + math.log1p(math.exp(-4)))]
    assert compute_preference_loss(returns, targets).tolist() == pytest.approx(wanted, rel=1e-6)


def test_equal_answers_train_and_are_neither_right_nor_wrong():
    """The authors' code trains on them with another option only, and counts each as wrong: it never stops early."""
    equal = labels(count=8, equal=8)
    model = small()
    before = model.flat.clone()
    (fit,) = model.fit([0], [equal], 3)
    assert not torch.equal(model.flat, before)
    assert (fit.epochs, fit.accuracy) == (1, None)
    returns = torch.tensor([[2.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert find_right_answers(returns, targets).tolist() == [True, False, False]


def test_gradients_are_those_of_finite_differences():
    model, given = small(), labels(count=6, equal=2)
    given.valid[0, 1, 3:] = False
    model.flat = model.flat.double()
    double = Labels(given.inputs.double(), given.valid, given.targets.double())
    picked = [[torch.arange(6), torch.tensor([3, 1]).repeat(3), torch.arange(6).flip(0)]]
    gradient, _ = model._gradient(model.flat, pick_labels([double], picked))

    def loss(flat):
        total = 0.0
        for member, index in enumerate(picked[0]):
            x, valid = double.inputs[index], double.valid[index]
            found = model.rewards(flat[member : member + 1], x.flatten(0, 2).unsqueeze(0)).view(valid.shape)
            total += float(compute_preference_loss((found * valid).sum(-1), double.targets[index]).mean())
        return total

    generator = torch.Generator().manual_seed(3)
    for _ in range(5):
        direction = torch.randn(model.flat.shape, generator=generator, dtype=torch.float64)
        step = 1e-6 * direction
        slope = (loss(model.flat + step) - loss(model.flat - step)) / 2e-6
        assert slope == pytest.approx(float((gradient * direction).sum()), rel=1e-5)


def test_steps_that_a_segment_has_not_count_nothing():
    model, short = small(), labels(count=4)
    short.valid[:, 1, 2:] = False
    other = Labels(short.inputs.clone(), short.valid, short.targets)
    other.inputs[:, 1, 2:] = 100.0
    assert torch.equal(
        model.member_returns(0, short.inputs[:, 1], short.valid[:, 1]),
        model.member_returns(0, other.inputs[:, 1], other.valid[:, 1]),
    )


def test_the_reward_is_the_members_mean_within_its_bounds():
    model = small((1, 2))
    x = torch.randn(2, 7, 3)
    each = model.member_rewards([0, 1], x)
    for row in (0, 1):
        for member in range(MEMBERS):
            alone = model.flat[MEMBERS * row + member].unsqueeze(0)
            assert torch.allclose(each[row, member], model.rewards(alone, x[row : row + 1])[0], atol=1e-6)
    assert torch.equal(model.predict([0, 1], x), each.mean(1)) and bool((each.abs() < 1).all())
    assert not torch.allclose(each[0, 0], each[0, 1]), "members begin with weights of their own"


def test_it_learns_and_each_row_stops_when_it_gets_enough_right():
    easy, contradictory = labels(count=40), labels(count=40)
    contradictory.targets[::2] = contradictory.targets[::2].flip(1)
    contradictory.inputs[::2] = contradictory.inputs[1::2]
    contradictory.targets[::2] = contradictory.targets[1::2].flip(1)
    model = small((1, 2))
    fits = model.fit([0, 1], [easy, contradictory], 400)
    assert fits[0].accuracy > reward_model.ENOUGH and fits[0].epochs < 400
    assert fits[1].accuracy < 0.7 and fits[1].epochs == 400
    alone = small((1,))
    alone.fit([0], [easy], fits[0].epochs)
    assert torch.equal(alone.flat, model.flat[:MEMBERS]), "stopped, it stayed as it was while the other went on"


def test_a_row_learns_the_same_in_any_company():
    given = {0: labels(count=20, seed=1), 1: labels(count=20, seed=2), 2: labels(count=33, seed=3)}
    together, apart = small((1, 2, 3)), [small((seed,)) for seed in (1, 2, 3)]
    for rows in ((0, 1, 2), (0, 2), (1,), (0, 1, 2)):  # rows whose optimisers have taken different numbers of steps
        together.fit(rows, [given[row] for row in rows], 4)
        for row in rows:
            apart[row].fit([0], [given[row]], 4)
    assert torch.equal(together.flat, torch.cat([one.flat for one in apart]))


def test_each_member_has_its_own_order(monkeypatch):
    monkeypatch.setattr(reward_model, "BATCH", 8)
    model, seen = small(), []
    take = reward_model.pick_labels
    monkeypatch.setattr(reward_model, "pick_labels", lambda *given: seen.append(given[1]) or take(*given))
    model.fit([0], [labels(count=20)], 1)
    orders = [torch.cat([batch[0][member] for batch in seen]) for member in range(MEMBERS)]
    assert [len(batch[0][0]) for batch in seen] == [8, 8, 4]
    assert all(sorted(order.tolist()) == list(range(20)) for order in orders)
    assert len({tuple(order.tolist()) for order in orders}) == MEMBERS


def test_it_goes_on_from_a_saved_state_and_with_fewer_rows():
    given = [labels(count=20, seed=seed) for seed in (1, 2)]
    whole = small((1, 2))
    whole.fit([0, 1], given, 3)
    resumed = small((8, 9))
    resumed.load_state_dict(whole.state_dict())
    resumed.keep([1])
    resumed.fit([0], given[1:], 3)
    whole.fit([0, 1], given, 3)
    assert torch.equal(resumed.flat, whole.flat[MEMBERS:])


class TestUnlabelledPairs:
    """SURF: pseudo-labels of which a member is sure, and crops."""

    def given(self, count=12, crops=False):
        of = labels(count=count, seed=5)
        return Unlabelled(of.inputs[:, 0], of.valid[:, 0], torch.tensor([[0, 1], [2, 3], [4, 5]]), crops)

    def test_a_member_learns_what_it_is_sure_of_and_nothing_else(self, monkeypatch):
        assert reward_model.CONFIDENCE == 0.99
        monkeypatch.setattr(reward_model, "CONFIDENCE", 0.55)
        model, unlabelled = small(), self.given()
        model.flat[1:] *= 0.0  # the second and third member expect nothing of any segment
        model.flat[0] *= 3.0
        batch = pick_labels([labels(count=4)], [[torch.arange(4)] * MEMBERS])
        found = model._add_pseudo_labels(model.flat, [0], batch, [unlabelled])
        returns = model._returns(model.flat, found.inputs, found.valid)[:, 4:]
        wanted = torch.softmax(returns, -1).amax(-1) > 0.55
        assert found.targets.shape == (MEMBERS, 4 + RATIO * 4, 2)
        assert torch.equal(found.weights[:, :4], torch.full((MEMBERS, 4), 1 / 4))
        assert torch.equal(found.weights[:, 4:], wanted / (RATIO * 4)) and 0 < wanted[0].sum() < RATIO * 4
        assert not wanted[1:].any(), "at 0.5 each nothing is sure"
        assert torch.equal(found.targets[:, 4:].argmax(-1), returns.argmax(-1))

    def test_both_crops_of_a_pair_are_equally_long_and_begin_elsewhere(self):
        valid = torch.ones(300, 2, 60, dtype=torch.bool)
        valid[7, 1, :30] = False
        left = crop_pairs(valid, torch.Generator().manual_seed(0), CROPS)
        assert torch.equal(left[7], valid[7]), "a pair with a shorter one is not cropped"
        left = torch.cat((left[:7], left[8:]))
        lengths = left.sum(-1)
        assert torch.equal(lengths[:, 0], lengths[:, 1]) and set(lengths[:, 0].tolist()) == set(range(45, 56))
        begins = left.int().argmax(-1)
        assert (begins[:, 0] != begins[:, 1]).float().mean() > 0.8
        assert int((left.int().diff(dim=-1) != 0).sum(-1).max()) <= 2, "in a row"

    def test_a_row_learns_the_same_in_any_company(self):
        given, unlabelled = labels(count=20), self.given(crops=True)
        both, alone, without = small((1, 2)), small((2,)), small((2,))
        both.fit([0, 1], [labels(count=20, seed=9), given], 3, [self.given(crops=True), unlabelled])
        alone.fit([0], [given], 3, [unlabelled])
        without.fit([0], [given], 3)
        assert torch.equal(both.flat[MEMBERS:], alone.flat) and not torch.equal(alone.flat, without.flat)


class TestCropsOfLabels:
    """QPA: 20 crops of each labelled pair in its place."""

    def cropped(self, model, count=6):
        batch = pick_labels([labels(count=count, steps=50)], [[torch.arange(count)] * MEMBERS])
        return batch, model._crop_batch([0], batch, 20)

    def test_each_label_is_in_the_batch_twenty_times_and_counts_as_much_as_before(self):
        batch, found = self.cropped(small())
        assert found.valid.shape == (MEMBERS, 120, 2, 50)
        lengths = found.valid.sum(-1)
        assert torch.equal(lengths[..., 0], lengths[..., 1]) and set(lengths.flatten().tolist()) == set(range(35, 46))
        for crop in range(20):
            assert torch.equal(found.targets[:, 6 * crop : 6 * crop + 6], batch.targets)
        assert torch.allclose(found.weights, torch.full((MEMBERS, 120), 1 / 120))
        assert len({tuple(row) for row in found.valid[0, :, 0].int().tolist()}) > 60, "not one crop twenty times"

    def test_the_gradient_is_that_of_twenty_pairs_in_place_of_one(self, monkeypatch):
        model = small()
        _, found = self.cropped(model)
        apart = replace(found, inputs=found.inputs.repeat(1, 20, 1, 1, 1))
        gradient, right = model._gradient(model.flat, found)
        wanted, right_apart = model._gradient(model.flat, apart)
        assert torch.allclose(gradient, wanted, atol=1e-6) and torch.equal(right, right_apart)
        seen, rewards = [], model.rewards
        monkeypatch.setattr(model, "rewards", lambda flat, x: seen.append(x.shape[1]) or rewards(flat, x))
        model._gradient(model.flat, found)
        assert seen[0] <= 6 * 2 * 50, "a step's reward is computed once"

    def test_the_accuracy_is_that_of_all_crops(self, monkeypatch):
        model, given = small(), labels(count=4, steps=50)
        hits = torch.zeros(MEMBERS, 80)
        hits[:, :20] = 1.0  # the first five crops of the four labels
        monkeypatch.setattr(model, "_gradient", lambda flat, batch: (torch.zeros_like(flat), hits))
        assert model.fit([0], [given], 1, crops=20)[0].accuracy == pytest.approx(0.25)

    def test_a_row_learns_the_same_in_any_company(self):
        given = labels(count=20, steps=20)
        both, alone, without = small((1, 2)), small((2,)), small((2,))
        both.fit([0, 1], [labels(count=20, steps=20, seed=9), given], 3, crops=20)
        alone.fit([0], [given], 3, crops=20)
        without.fit([0], [given], 3)
        assert torch.equal(both.flat[MEMBERS:], alone.flat) and not torch.equal(alone.flat, without.flat)


class TestSortedLabels:
    """RIME: labels far from the prediction are left out or turned round."""

    def test_an_answer_far_away_is_turned_round_and_one_that_both_are_equal_never(self, monkeypatch):
        model, given, trust = small(), labels(count=4), Discriminator(0)
        trust.rho, trust.passes = 0.5, 60
        trust.trusted.update(torch.tensor([0.1, 0.3]).view(1, -1, 1))  # tau_lower 1.04
        given.targets[:] = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
        # every member expects the first of each pair to be better, by 10, 10, 3 and 20
        returns = torch.tensor([10.0, 0.0, 10.0, 0.0, 3.0, 0.0, 20.0, 0.0]).expand(MEMBERS, 8)
        monkeypatch.setattr(model, "member_returns", lambda row, inputs, valid: returns)
        left, turned = model._sort(0, given, trust)
        assert turned == 1 and left.targets.tolist() == [[1.0, 0.0], [1.0, 0.0]]
        assert torch.equal(left.inputs, given.inputs[:2])

    def test_it_learns_more_from_answers_of_which_some_are_wrong(self, monkeypatch):
        monkeypatch.setattr(reward_model, "HIDDEN", (32, 32))
        monkeypatch.setattr(reward_model, "LEARNING_RATE", 1e-3)
        true, test = labels(count=200, steps=50), labels(count=300, steps=50, seed=8)
        given = replace(true, targets=true.targets.clone())
        given.targets[::5] = given.targets[::5].flip(1)
        plain, sorting = small(), small()
        plain.fit([0], [given], 60)
        (fit,) = sorting.fit([0], [given], 60, discriminators=[Discriminator(0)])

        def right(model):
            returns = model.member_returns(0, test.inputs.flatten(0, 1), test.valid.flatten(0, 1))
            return float(
                find_right_answers(returns.view(MEMBERS, -1, 2), test.targets.expand(MEMBERS, -1, -1)).float().mean()
            )

        assert right(sorting) > right(plain) + 0.02
        assert 30 <= fit.left_out + fit.turned <= 50 and fit.turned > 0, "40 are wrong"

    def test_a_row_learns_the_same_in_any_company_and_at_least_so_long(self):
        given = labels(count=20)
        both, alone = small((1, 2)), small((2,))
        trust = [Discriminator(3), Discriminator(3), Discriminator(3)]
        both.fit([0, 1], [labels(count=20, seed=9), given], 4, discriminators=trust[:2], least_epochs=4)
        (fit,) = alone.fit([0], [given], 4, discriminators=trust[2:], least_epochs=4)
        assert torch.equal(both.flat[MEMBERS:], alone.flat) and trust[1].rho == trust[2].rho > 0
        assert (fit.epochs, trust[2].passes) == (4, 4)
        assert small().fit([0], [labels(count=8, equal=8)], 9, least_epochs=5)[0].epochs == 5

    def test_the_rate_is_the_discriminators_share(self, monkeypatch):
        model, seen, step = small(), [], reward_model.StackedAdam.step
        monkeypatch.setattr(
            reward_model.StackedAdam,
            "step",
            lambda self, flat, gradient, rates: seen.append(rates.tolist()) or step(self, flat, gradient, rates),
        )
        model.fit([0], [labels(count=20)], 2, discriminators=[Discriminator(4)], least_epochs=2)
        assert seen == [pytest.approx([3e-4 * share] * MEMBERS) for share in (0.25, 0.5)]


def test_a_warm_start_approximates_what_it_is_given_row_by_row():
    """RIME: the reward model begins with the intrinsic reward."""
    x = torch.randn(2, 300, 3, generator=torch.Generator().manual_seed(4))
    wanted = torch.stack((0.8 * torch.tanh(x[0, :, 0]), -0.8 * torch.tanh(x[1, :, 1])))
    both, alone = small((1, 2)), small((2,))
    before = both.flat.clone()
    both.approximate([1], x[1:], wanted[1:], 300, 64)
    assert torch.equal(both.flat[:MEMBERS], before[:MEMBERS])
    alone.approximate([0], x[1:], wanted[1:], 300, 64)
    assert torch.equal(both.flat[MEMBERS:], alone.flat)
    both.approximate([0, 1], x, wanted, 600, 64)
    errors = (both.member_rewards([0, 1], x) - wanted.unsqueeze(1)).square().mean(-1)
    assert float(errors.max()) < 0.15 * float(wanted.square().mean()), "every member of both rows"


def test_only_the_steps_that_segments_have_are_computed(monkeypatch):
    model, given = small(), labels(count=6, steps=9)
    given.valid[1:, :, :7] = False  # right-aligned: one pair of nine steps, five of two
    batch = pick_labels([given], [[torch.arange(6)] * MEMBERS])
    seen, rewards = [], model.rewards
    dense = (rewards(model.flat, batch.inputs.flatten(1, 3)).view(batch.valid.shape) * batch.valid).sum(-1)
    monkeypatch.setattr(model, "rewards", lambda flat, x: seen.append(x.shape[1]) or rewards(flat, x))
    assert torch.allclose(model._returns(model.flat, batch.inputs, batch.valid), dense, atol=1e-6)
    assert seen == [2 * 9 + 10 * 2]


def test_minibatches_of_many_lengths_need_few_sizes_of_products(monkeypatch):
    model, given, sizes, product = small(), labels(count=400, steps=60), set(), torch.baddbmm
    begins = torch.randint(60, (400, 2, 1), generator=torch.Generator().manual_seed(0))
    given.valid[:] = torch.arange(60) >= begins
    monkeypatch.setattr(torch, "baddbmm", lambda bias, x, weight: sizes.add(x.shape[1]) or product(bias, x, weight))
    model.fit([0], [given], 10)
    assert len(sizes) <= 10, "each size of a bfloat16 product keeps another kernel in memory"


def test_sizes_are_few_and_little_larger_than_asked():
    sizes = [round_up_size(count) for count in range(1, 4097)]
    assert all(count <= size <= max(count, 1.25 * count) for count, size in enumerate(sizes, 1))
    assert len(set(sizes)) == 8 + 4 * 9


def test_bfloat16_changes_the_last_digits_alone():
    exact, mixed = small(), RewardModel(3, (1,), mixed_precision=True)
    x = torch.randn(1, 500, 3)
    difference = (exact.predict([0], x) - mixed.predict([0], x)).abs().max()
    assert 0 < difference < 0.01
    given = labels(count=40)
    for model in (exact, mixed):
        model.fit([0], [given], 60)
    assert (exact.predict([0], x) - mixed.predict([0], x)).abs().max() < 0.03
