"""Resuming from a checkpoint that cannot be used here says why."""

import pytest

from tests.trainer.test_lockstep import CARTPOLE, SHORT, trained
from trainer import checkpoint
from trainer.records import TrainJob


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "VERSION", 9)
    checkpoint.save(tmp_path / "checkpoint.pt", {"iteration": 3})
    assert checkpoint.load(tmp_path / "checkpoint.pt") == {"iteration": 3}
    monkeypatch.undo()
    with pytest.raises(ValueError, match="is a checkpoint of version 9, this program reads version 1: use the release"):
        checkpoint.load(tmp_path / "checkpoint.pt")


def test_a_damaged_checkpoint_is_refused(tmp_path):
    (tmp_path / "checkpoint.pt").write_bytes(b"PK\x03\x04 half of it")
    with pytest.raises(ValueError, match="no checkpoint of this program, or a damaged one"):
        checkpoint.load(tmp_path / "checkpoint.pt")
    assert checkpoint.load(tmp_path / "absent.pt") is None


def test_a_policy_of_another_task_is_refused(tmp_path):
    lockstep, _ = trained(tmp_path, TrainJob("Cartpole", CARTPOLE[:1], overrides=SHORT | {"iterations": 1}, film_at=()))
    path = lockstep.job_dir / "checkpoints" / "policies" / "0.pt"
    assert checkpoint.load_policy(path, "Cartpole").task == "Cartpole"
    with pytest.raises(ValueError, match="is a policy for Cartpole, not for Ant"):
        checkpoint.load_policy(path, "Ant")
