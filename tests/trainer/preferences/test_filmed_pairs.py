"""Pairs of a simulated teacher that are filmed: which they are, their files, and that nothing else changes by them."""

from dataclasses import replace

import pytest
import torch

from simulation.rollout import read_rollout
from tests.trainer.preferences.test_learning import (
    FEW,
    ppo,
    sac,
    sessions,
    small_and_quick,  # noqa: F401  (a fixture of this module, too)
)
from tests.trainer.test_lockstep import shard, trained
from trainer import checkpoint
from trainer.preferences import exchange
from trainer.preferences.algorithms import Preferences
from trainer.preferences.filmed_pairs import choose_filmed
from trainer.preferences.queries import Query
from trainer.preferences.segments import Segments
from trainer.records import shard_folder


def segments(count, pose_size=1):
    numbers = torch.arange(float(count)).view(-1, 1, 1)
    valid = torch.ones(count, 1, dtype=torch.bool)
    return Segments(numbers, valid, numbers[..., 0], numbers.expand(-1, -1, pose_size), numbers[:, 0, 0])


@pytest.mark.parametrize(
    ("budget", "session", "filmed"), [(49, 7, 3), (49, 8, 0), (150, 1, 3), (1500, 15, 2), (15_000, 30, 1)]
)
def test_at_most_thirty_pairs_of_a_training_are_filmed(budget, session, filmed):
    query = Query(session, list(range(6)), torch.tensor([[4, 1], [1, 5], [0, 4], [2, 3]]))
    found = choose_filmed(query, segments(6), ["first", "skip", "equal", "second"], Preferences(budget=budget))
    if not filmed:
        assert found is None, "beyond the planned sessions"
        return
    queries, kept = found
    assert queries.answers == ("first", "skip", "equal")[:filmed]
    shown = [tuple(float(kept.poses[place, 0, 0]) for place in pair) for pair in queries.pairs]
    assert shown == [(4, 1), (1, 5), (0, 4)][:filmed] and len(kept) == queries.segments


def test_without_poses_nothing_is_filmed():
    query = Query(1, [0, 1], torch.tensor([[0, 1]]))
    assert choose_filmed(query, segments(2, pose_size=0), ["first"], Preferences()) is None


@pytest.mark.slow
@pytest.mark.parametrize("make", [ppo, pytest.param(sac, marks=pytest.mark.exhaustive)])
def test_the_first_pairs_of_each_session_have_files_and_the_training_has_the_bits_of_before(tmp_path, make):
    """Before: from a checkpoint of a version that kept no poses."""
    job = make(replace(FEW, budget=8, equal=0.2), None)
    whole, result = trained(tmp_path / "whole", job)
    begun = shard(tmp_path / "before", job)
    begun._iterate()
    begun._save()
    file = shard_folder(tmp_path / "before", 0, 2) / "checkpoint.pt"
    state = checkpoint.load(file)
    kept = state["preferences"]["segments"]
    assert kept.pop("_shown").shape[-1] == 1 + 2 and kept.pop("_shown_ring") is not None, "metric, and Cartpole's pose"
    checkpoint.save(file, state)
    before, resumed = trained(tmp_path / "before", job)
    assert resumed.candidates == result.candidates
    first, second = whole._preferences.state_dict(), before._preferences.state_dict()
    assert torch.equal(first["model"]["flat"], second["model"]["flat"])
    assert torch.equal(first["segments"]["_rows"], second["segments"]["_rows"])
    held = sessions(tmp_path / "whole", 0)
    assert held == sessions(tmp_path / "before", 0) and len(held) > 3
    assert exchange.list_sessions(tmp_path / "before", 0) == [1], "held before the checkpoint"
    assert exchange.list_sessions(tmp_path / "whole", 1) == [], "a reward function trains it"
    assert exchange.list_sessions(tmp_path / "whole", 0) == [int(row["session"]) for row in held]
    for row in held:
        queries = exchange.read_queries(tmp_path / "whole", 0, int(row["session"]))
        assert len(queries.answers) == len(queries.pairs) == min(3, int(row["asked"])) and queries.digest == ""
        for number in range(queries.segments):
            rollout = read_rollout(exchange.get_segment_file(tmp_path / "whole", 0, queries.session, number))
            assert rollout.whole and rollout.qpos.shape[1] == 2 and len(rollout.qpos) <= FEW.segment
