import numpy as np
import pytest
import torch

from trainer.normalizer import EPSILON, LIMIT, RunningNormalizer


def fed(batches: list[torch.Tensor]) -> RunningNormalizer:
    normalizer = RunningNormalizer(batches[0].shape[0], batches[0].shape[2])
    for batch in batches:
        normalizer.update(batch)
    return normalizer


def test_it_equals_numpy_over_everything_seen():
    generator = torch.Generator().manual_seed(0)
    batches = [torch.randn(2, n, 3, generator=generator) * 4 + 7 for n in (5, 1, 300)]
    normalizer = fed(batches)
    everything = torch.cat(batches, dim=1).numpy().astype(np.float64)
    np.testing.assert_allclose(normalizer.mean, everything.mean(1), rtol=1e-5)
    np.testing.assert_allclose(normalizer.variance, everything.var(1), rtol=1e-4)
    assert normalizer.counts.tolist() == [[306], [306]]


def test_first_batch_replaces_the_initial_guess():
    batch = torch.tensor([[[2.0], [4.0]]])
    normalizer = fed([batch])
    assert (normalizer.mean.item(), normalizer.variance.item()) == (3.0, 1.0)


@pytest.mark.slow
def test_normalize_clips_and_denormalize_inverts():
    normalizer = fed([torch.randn(2, 50, 3) * 3 - 1])
    x = torch.randn(2, 4, 3)
    torch.testing.assert_close(normalizer.denormalize(normalizer.normalize(x)), x, rtol=1e-4, atol=1e-4)
    assert normalizer.normalize(torch.full((2, 1, 3), 1e6)).max() == LIMIT


def test_a_constant_feature_does_not_divide_by_zero():
    normalizer = fed([torch.ones(1, 10, 1)])
    assert normalizer.normalize(torch.full((1, 1, 1), 1.0 + EPSILON**0.5)).item() <= 1.001


def test_candidates_do_not_mix_and_keep_selects():
    batch = torch.stack([torch.zeros(10, 2), torch.full((10, 2), 5.0)])
    normalizer = fed([batch])
    normalizer.keep([1])
    assert normalizer.mean.tolist() == [[5.0, 5.0]]
    restored = RunningNormalizer(1, 2)
    restored.load_state_dict(normalizer.state_dict())
    assert torch.equal(restored.mean, normalizer.mean) and restored.counts.tolist() == [[10]]


def test_a_candidate_that_begins_again_has_seen_what_came_after_alone():
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn(2, 40, 3, generator=generator), torch.randn(2, 9, 3, generator=generator) * 5
    normalizer = fed([first])
    normalizer.restart([1])
    normalizer.update(second)
    whole, fresh = fed([first, second]), fed([second])
    assert torch.equal(normalizer.mean, torch.stack((whole.mean[0], fresh.mean[1])))
    assert torch.equal(normalizer.variance, torch.stack((whole.variance[0], fresh.variance[1])))


def test_files_of_earlier_versions_hold_one_count_for_all():
    normalizer = fed([torch.randn(2, 7, 3)])
    restored = RunningNormalizer(2, 3)
    restored.load_state_dict(normalizer.state_dict() | {"count": 7})
    assert torch.equal(restored.counts, normalizer.counts)
