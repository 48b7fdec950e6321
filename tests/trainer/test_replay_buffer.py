"""The replay buffer of SAC."""

import math

import pytest
import torch

from trainer.replay_buffer import ReplayBuffer, select

pytestmark = pytest.mark.slow


class TestReplay:
    def test_the_newest_rows_are_kept(self):
        replay = ReplayBuffer(2, capacity=5, features=1)
        for first in (0, 3, 6):
            numbers = torch.arange(first, first + 3.0).view(1, 3, 1)
            replay.add(torch.cat([numbers, -numbers]))
        assert replay.size == 5
        assert sorted(replay.rows[0].flatten().tolist()) == [4, 5, 6, 7, 8]
        assert torch.equal(replay.rows[0], -replay.rows[1])
        restored = ReplayBuffer(2, capacity=5, features=1)
        restored.load_state_dict(replay.state_dict())
        for one in (replay, restored):
            one.add(torch.full((2, 2, 1), 9.0))
        assert torch.equal(restored.rows, replay.rows)

    def test_more_rows_than_it_holds_leave_the_last(self):
        replay = ReplayBuffer(1, capacity=3, features=1)
        replay.add(torch.arange(8.0).view(1, 8, 1))
        assert sorted(replay.rows.flatten().tolist()) == [5, 6, 7]

    def test_rows_are_selected_for_all_alike_or_for_each(self):
        rows = torch.arange(24.0).view(2, 4, 3)
        assert torch.equal(select(rows, torch.tensor([[3, 0]])), rows[:, [3, 0]])
        each = select(rows, torch.tensor([[3, 0], [1, 1]]))
        assert torch.equal(each, torch.stack([rows[0, [3, 0]], rows[1, [1, 1]]]))

    def test_one_that_does_not_fit_is_halved(self, monkeypatch, capsys):
        zeros = torch.zeros

        def refusing(*size, **options):
            if math.prod(size) > 300:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
            return zeros(*size, **options)

        monkeypatch.setattr(torch, "zeros", refusing)
        assert ReplayBuffer(2, capacity=400, features=1).rows.shape == (2, 100, 1)
        assert "going on with 100 samples" in capsys.readouterr().out
