"""Several seeds, and several experiments, in one batch."""

import pytest
import torch

from tests.trainer import rewards
from tests.trainer.test_lockstep import SHORT, shard, trained, unnumbered
from trainer.records import TrainJob, read_job, resolve_preset, write_json

pytestmark = pytest.mark.slow

SOURCES = (rewards.UPRIGHT, rewards.STILL, rewards.UPRIGHT, rewards.NAN_WHEN_LEANING, rewards.STILL)
SEEDS = (4, 4, 9, 9, 9)


def test_several_seeds_in_one_batch_give_what_separate_jobs_give(tmp_path):
    job = TrainJob("Cartpole", SOURCES, seeds=SEEDS, overrides=SHORT, film_at=())
    together, result = trained(tmp_path / "together", job)
    for first, last, seed in ((0, 2, 4), (2, 5, 9)):
        alone = TrainJob("Cartpole", SOURCES[first:last], seed=seed, overrides=SHORT, film_at=())
        separate, part = trained(tmp_path / f"{seed}", alone)
        assert unnumbered(part.candidates) == unnumbered(result.candidates[first:last])
    assert [c.ok for c in result.candidates] == [True, True, True, False, True]
    assert torch.equal(together.learner.networks.flat[2:], separate.learner.networks.flat)
    assert result.candidates[0].trace != result.candidates[2].trace, "one reward, two seeds"


def test_a_batch_of_seeds_goes_on_from_its_checkpoint(tmp_path):
    job = TrainJob("Cartpole", SOURCES, seeds=SEEDS, overrides=SHORT, film_at=())
    whole = trained(tmp_path / "whole", job)[1]

    begun = shard(tmp_path / "again", job)
    for _ in range(3):
        begun._iterate()
    begun._save()
    assert trained(tmp_path / "again", job)[1].candidates == whole.candidates


def test_a_job_with_seeds_survives_its_file_and_must_have_one_for_each(tmp_path):
    job = TrainJob("Cartpole", SOURCES, seeds=SEEDS)
    write_json(tmp_path / "job.json", job)
    assert read_job(tmp_path) == job
    assert [job.seed_of(i) for i in (1, 2)] == [4, 9]
    with pytest.raises(ValueError, match="5 reward functions, but seeds for 2"):
        resolve_preset(TrainJob("Cartpole", SOURCES, seeds=(1, 2)))
