"""Resuming from a checkpoint that cannot be used here says why."""

import random

import pytest
import torch

from tests.trainer.test_lockstep import CARTPOLE, SHORT, trained
from trainer import checkpoint
from trainer.records import TrainJob

pytestmark = pytest.mark.slow


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


def test_a_pickle_that_ends_within_a_number_is_refused(tmp_path):
    checkpoint.save(tmp_path / "checkpoint.pt", {"iteration": 3})
    damaged = bytearray((tmp_path / "checkpoint.pt").read_bytes())
    damaged[damaged.index(b"u.PK") + 1] = ord("G")  # a float of eight bytes in place of the stop
    (tmp_path / "checkpoint.pt").write_bytes(damaged)
    with pytest.raises(ValueError, match="or a damaged one"):
        checkpoint.load(tmp_path / "checkpoint.pt")


def test_a_policy_of_another_task_is_refused(tmp_path):
    lockstep, _ = trained(tmp_path, TrainJob("Cartpole", CARTPOLE[:1], overrides=SHORT | {"iterations": 1}, film_at=()))
    path = lockstep.job_dir / "checkpoints" / "policies" / "0.pt"
    assert checkpoint.load_policy(path, "Cartpole").task == "Cartpole"
    with pytest.raises(ValueError, match="is a policy for Cartpole, not for Ant"):
        checkpoint.load_policy(path, "Ant")


@pytest.fixture(scope="module", params=["quick", "quick-sac"])
def policy(request, tmp_path_factory):
    """A policy's contents."""
    folder = tmp_path_factory.mktemp("policy")
    brief = {"worlds": 4, "horizon": 4, "iterations": 1}
    trained(folder, TrainJob("Cartpole", CARTPOLE[:1], request.param, overrides=brief, film_at=()))
    return torch.load(folder / "checkpoints" / "policies" / "0.pt", weights_only=True)


WRONG = [None, 3, -1, 0, 1.5, "many", True, [], [8, 8], {}, [None], torch.zeros(3), torch.tensor(1.0), 1 << 40]


def test_whatever_is_damaged_in_a_policy_is_refused_and_nothing_else_happens(policy, tmp_path):
    path = tmp_path / "0.pt"

    def refused(changed: dict) -> None:
        torch.save(changed, path)
        with pytest.raises(ValueError, match=r"0\.pt (is|was)"):
            checkpoint.load_policy(path)

    for key in policy.keys() - {"preset", "seed", "version", "algorithm"}:
        refused({name: value for name, value in policy.items() if name != key})
        for wrong in WRONG:
            refused({**policy, key: wrong})
            for part in policy[key] if isinstance(policy[key], dict) else ():
                refused({**policy, key: {**policy[key], part: wrong}})
        if isinstance(policy[key], torch.Tensor):
            for damaged in (policy[key] * torch.nan, policy[key].int(), policy[key].unsqueeze(-1), policy[key][:-1]):
                refused({**policy, key: damaged})
    refused({**policy, "observation_variance": -policy["observation_variance"] - 1})
    refused({**policy, "algorithm": "dqn"})
    torch.save(policy, path)
    assert checkpoint.load_policy(path).task == "Cartpole"


@pytest.mark.filterwarnings("ignore")  # of what the bytes happen to say
def test_bytes_changed_anywhere_give_a_policy_or_a_reason(policy, tmp_path):
    path, chance = tmp_path / "0.pt", random.Random(0)
    torch.save(policy, path)
    whole = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[chance.randrange(whole.index(b"PK", 64))] = chance.randrange(256)  # the pickle, the first file inside
        path.write_bytes(damaged)
        try:
            checkpoint.load_policy(path)
        except ValueError as error:
            assert "0.pt" in str(error)
