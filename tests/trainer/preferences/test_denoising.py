"""RIME's discriminator: divergences and thresholds by hand, what is kept and what is turned round."""

import math

import pytest
import torch

from trainer.preferences.denoising import UPPER, Discriminator, compute_label_divergences


def discriminator(rho, passes=0, trusted=(0.1, 0.3)):
    """One that has trusted these divergences: 0.1 and 0.3 have a deviation of 0.1."""
    found = Discriminator(0)
    found.rho, found.passes = rho, passes
    found.trusted.update(torch.tensor(trusted).view(1, -1, 1))
    return found


def test_divergences_by_hand():
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    predicted = torch.tensor([[0.8, 0.2], [0.8, 0.2], [0.5, 0.5], [0.8, 0.2], [0.0, 1.0]])
    wanted = [-math.log(0.8), -math.log(0.2), 0.0, 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)]
    found = compute_label_divergences(targets, predicted)
    assert found[:4].tolist() == pytest.approx(wanted, abs=1e-6)
    assert UPPER < found[4] < math.inf, "where a softmax underflows"
    kept, turned = Discriminator(0).sort(found)
    assert kept.all() and not turned.any(), "before the first pass all labels are kept"


def test_the_lower_bound_by_hand():
    # -ln 0.5 + 0.5 * 0.5 + beta * 0.1 with beta 3, 2 after half of the 60 passes, 1 after all and later
    base = math.log(2) + 0.25
    found = [discriminator(0.5, passes).lower() - base for passes in (0, 30, 60, 600)]
    assert found == pytest.approx([0.3, 0.2, 0.1, 0.1], abs=1e-5)
    assert discriminator(0.5, trusted=(0.0, 4.0)).lower() == pytest.approx(base + 3.0), "not beta s = 6"


def test_what_is_near_is_kept_what_is_far_turned_round_and_the_rest_left_out():
    one = discriminator(0.5, passes=30)  # tau_lower is 1.143, tau_upper 6.908
    assert pytest.approx(6.908, abs=1e-3) == UPPER
    kept, turned = one.sort(torch.tensor([0.1, 1.1, 1.2, 6.8, 7.0]))
    assert kept.tolist() == [True, True, False, False, False]
    assert turned.tolist() == [False, False, False, False, True]
    assert (one.rho, one.passes) == (pytest.approx(0.5 + 0.1 * (1.1 - 0.5)), 31)
    assert float(one.trusted.variance) == pytest.approx(float(torch.tensor([0.1, 0.3, 0.1, 1.1]).var(correction=0)))


def test_before_anything_is_known_every_answer_is_kept_once():
    one = Discriminator(0)
    kept, turned = one.sort(torch.tensor([0.2, 9.0]))
    assert kept.all() and not turned.any(), "the authors' code turns the second round, and takes it twice"
    assert one.rho == pytest.approx(0.9)


def test_where_nothing_is_trusted_its_bounds_stay():
    one = discriminator(2.0)
    kept, turned = one.sort(torch.tensor([5.0, 8.0]))
    assert not kept.any() and turned.tolist() == [False, True]
    assert (one.rho, one.passes, float(one.trusted.counts)) == (2.0, 1, 2.0)


def test_the_learning_rate_rises_pass_by_pass():
    one, shares = Discriminator(4), []
    for _ in range(6):
        shares.append(one.rate_share())
        one.sort(torch.tensor([0.1]))
    assert shares == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert Discriminator(0).rate_share() == 1.0


def test_it_goes_on_from_a_saved_state():
    one, resumed = discriminator(0.5, passes=7), Discriminator(0)
    resumed.load_state_dict(one.state_dict())
    given = torch.tensor([0.2, 1.0, 3.0])
    for _ in range(3):
        assert [flags.tolist() for flags in one.sort(given)] == [flags.tolist() for flags in resumed.sort(given)]
    assert resumed.lower() == one.lower()
