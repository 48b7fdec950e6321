"""The reservoir of segments: where episodes are cut, which are kept, what the teacher's thresholds follow."""

import copy

import pytest
import torch

from trainer.preferences import segments
from trainer.preferences.segments import SegmentReservoir, count_places

pytestmark = pytest.mark.slow


def reservoir(steps=4, worlds=1, horizon=6, last=(None,), seeds=(1,), **given):
    return SegmentReservoir(1, worlds, steps, horizon, last, seeds, **given)


def play(kept, lengths, horizon=6, counts=None, truth=lambda step: 1.0):
    """One row and world: episodes of these lengths after each other; a step's input is its number, from 1."""
    steps = sum(lengths)
    steps += -steps % horizon
    ends = {sum(lengths[: i + 1]) for i in range(len(lengths))}
    numbers = torch.arange(1.0, steps + 1)
    ended = torch.tensor([n in ends for n in range(1, steps + 1)])
    worth = torch.tensor([truth(n) for n in range(1, steps + 1)])
    counted = torch.ones(steps, dtype=torch.bool) if counts is None else ended
    for part in range(0, steps, horizon):
        chosen = slice(part, part + horizon)
        shape = (1, horizon, 1)
        given = (worth[chosen].view(shape), counted[chosen].view(shape), ended[chosen].view(shape))
        kept.add(numbers[chosen].view(*shape, 1), *given)
    return kept


def contents(kept, row=0):
    found = kept.segments(row, kept.pool(row))
    return [x[valid, 0].tolist() for x, valid in zip(found.inputs, found.valid, strict=True)]


def test_an_episode_is_cut_from_its_beginning_and_its_last_segment_ends_with_it():
    kept = play(reservoir(), [10, 2])
    assert contents(kept) == [[1, 2, 3, 4], [5, 6, 7, 8], [7, 8, 9, 10], [11, 12]]


def test_no_segment_holds_steps_of_two_episodes_and_a_short_one_is_empty_at_its_beginning():
    found = play(reservoir(), [3, 3]).segments(0, [0, 1])
    assert found.valid.tolist() == [[False, True, True, True]] * 2
    assert found.inputs[..., 0].tolist() == [[0, 1, 2, 3], [0, 4, 5, 6]]
    assert found.truths.tolist() == [[0, 1, 1, 1]] * 2


def test_an_episode_that_ends_where_a_segment_does_gives_it_once():
    assert contents(play(reservoir(), [8, 4])) == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]


def test_whole_episodes_of_different_lengths_are_segments():
    kept = play(reservoir(steps=9), [3, 9, 6])
    assert contents(kept) == [[1, 2, 3], list(range(4, 13)), list(range(13, 19))]


def test_the_last_episodes_alone_are_in_their_pool():
    every, last = play(reservoir(), [4] * 6), play(reservoir(last=(2,)), [4] * 6)
    assert len(contents(every)) == 6
    assert contents(last) == [[17, 18, 19, 20], [21, 22, 23, 24]]


def test_of_episodes_that_end_together_the_last_worlds_count_as_last():
    """All worlds of a lockstep training may end at once: then none of their segments was among the last n episodes."""
    kept = reservoir(worlds=3, last=(2,))
    numbers = torch.tensor([[10.0 * world + step for world in (1, 2, 3)] for step in range(1, 7)])
    ended = (torch.arange(1, 7) == 4).view(1, 6, 1).expand(1, 6, 3)
    kept.add(numbers.view(1, 6, 3, 1), torch.ones(1, 6, 3), torch.ones(1, 6, 3, dtype=torch.bool), ended)
    assert contents(kept) == [[21, 22, 23, 24], [31, 32, 33, 34]]


def test_a_segment_in_which_the_metric_never_counts_cannot_be_asked_about():
    kept = play(reservoir(), [10, 2], counts="ends", truth=lambda step: float(step))
    assert contents(kept) == [[7, 8, 9, 10], [11, 12]]
    assert kept.segments(0, kept.pool(0)).truths.sum(1).tolist() == [10, 12]


def test_a_segment_keeps_the_metric_of_the_steps_at_which_it_counts():
    kept = reservoir(worlds=1)
    numbers, nan = torch.arange(1.0, 7.0).view(1, 6, 1), float("nan")
    ended = torch.tensor([False, False, True, False, False, True]).view(1, 6, 1)
    metrics = torch.tensor([0.5, nan, 2.0, nan, nan, nan]).view(1, 6, 1)
    kept.add(numbers.unsqueeze(-1), numbers, ended | True, ended, metrics=metrics)
    found = kept.segments(0, kept.pool(0)).metrics
    assert found[0] == 2.5 and found[1].isnan(), "the metric counts at none of its steps"


def test_a_state_of_an_earlier_version_goes_on_without_metric_and_poses():
    def add(to):
        to.add(stood, ones, ones > 0, ones < 0, stood, metrics=ones)

    ones, stood = torch.ones(1, 6, 1), torch.ones(1, 6, 1, 1)
    kept = reservoir(pose_size=1, outside=False)
    add(kept)
    state = copy.deepcopy(kept.state_dict())
    resumed = reservoir(pose_size=1, outside=False)
    resumed.load_state_dict({name: value for name, value in state.items() if "shown" not in name})
    add(resumed)
    add(kept)
    assert contents(resumed) == contents(kept) and len(contents(kept)) == 3
    assert (kept.keeps_poses, resumed.keeps_poses) == (True, False)
    assert kept.segments(0, [0, 1, 2]).metrics.tolist() == [4.0] * 3
    again = reservoir(pose_size=1, outside=False)
    again.load_state_dict(resumed.state_dict())
    add(again)
    found = again.segments(0, again.pool(0))
    assert found.metrics.isnan().all() and found.poses.shape[-1] == 0


@pytest.mark.parametrize("outside", [True, False])
def test_poses_stand_beside_what_is_learned_from_where_a_teacher_answers(outside):
    kept, poses = reservoir(pose_size=2, outside=outside), torch.arange(12.0).view(1, 6, 1, 2)
    ones = torch.ones(1, 6, 1)
    kept.add(ones.unsqueeze(-1), ones, ones > 0, ones < 0, poses)
    assert kept.segments(0, [0]).poses.tolist() == [poses[0, :4, 0].tolist()] and kept.keeps_poses
    assert kept.state_dict()["_rows"].shape[-1] == (4 if outside else 2), "earlier versions read these"


def test_a_full_reservoir_keeps_each_segment_with_equal_probability(monkeypatch):
    monkeypatch.setattr(segments, "STEPS_KEPT", 0)
    monkeypatch.setattr(segments, "LEAST_PLACES", 5)
    kept_once = [0] * 20
    for seed in range(150):
        for segment in contents(play(reservoir(steps=2, seeds=(seed,), horizon=8), [2] * 20, horizon=8)):
            kept_once[int(segment[0]) // 2] += 1
    # each of 20 is kept in a quarter of 150 trials: 37.5, with a deviation of 5.3
    assert all(16 < count < 59 for count in kept_once), kept_once
    newest = contents(play(reservoir(steps=2, last=(100,), horizon=8), [2] * 20, horizon=8))
    assert sorted(segment[0] for segment in newest) == [31, 33, 35, 37, 39]


def test_the_mean_step_is_that_of_the_last_ten_episodes():
    kept = play(reservoir(), [4] * 2 + [8] * 10, truth=lambda step: 5.0 if step <= 8 else 2.0 if step % 2 else 1.0)
    assert kept.mean_step(0) == pytest.approx(1.5)
    assert reservoir().mean_step(0) == 0.0


def test_rows_do_not_mix_and_go_on_from_a_saved_state():
    generator = torch.Generator().manual_seed(0)
    kept = reservoir(worlds=3, last=(None, 4), seeds=(1, 2))
    horizons = []
    for _ in range(30):
        shape = (2, 6, 3)
        inputs, truths = torch.randn(*shape, 1, generator=generator), torch.randn(shape, generator=generator)
        horizons.append((inputs, truths, torch.ones(shape) > 0, torch.rand(shape, generator=generator) < 0.1))
    alone = reservoir(worlds=3, last=(4,), seeds=(2,))
    for number, given in enumerate(horizons):
        kept.add(*given)
        alone.add(*(tensor[1:] for tensor in given))
        if number == 12:
            resumed = reservoir(worlds=3, last=(None, 4), seeds=(7, 8))
            resumed.load_state_dict(kept.state_dict())
            kept = resumed
    assert contents(kept, 1) == contents(alone) and len(contents(alone)) > 4
    assert kept.mean_step(1) == alone.mean_step(0) != 0
    kept.keep([1])
    assert contents(kept) == contents(alone)


def test_a_row_keeps_a_thousand_short_segments_or_a_hundred_episodes():
    assert (count_places(50), count_places(1000)) == (1024, 100)
    assert (count_places(50, 1000), count_places(50, 500), count_places(300, 500)) == (2000, 1024, 200), (
        "PEBBLE's last 100 episodes"
    )


def test_all_segments_of_the_last_episodes_are_kept_however_long_these_are(monkeypatch):
    for name, value in {"STEPS_KEPT": 0, "LEAST_PLACES": 5, "EPISODES_KEPT": 3}.items():
        monkeypatch.setattr(segments, name, value)
    kept = play(reservoir(steps=2, last=(3,), horizon=8, longest=8), [8] * 5, horizon=8)
    assert sorted(segment[0] for segment in contents(kept)) == list(range(17, 41, 2))
    every = play(reservoir(steps=2, horizon=8, longest=8), [8] * 5, horizon=8)
    assert len(contents(every)) == 5, "a sample of all episodes needs no more places"
