"""The figures of sessions: what the model of before expected of new segments, and the files that keep them."""

import csv
from dataclasses import replace

import torch

from trainer.preferences import new_answers
from trainer.preferences.new_answers import measure_before
from trainer.preferences.segments import Segments
from trainer.preferences.session_figures import Session, read_sessions, write_sessions

FIRST = Session(1, 100, 2, 0, 0, 2, 4, 1.0, None, None, None)
SECOND = replace(FIRST, session=2, labels=4, accuracy_before=0.5, points=((0.5, 1.0), (-0.25, 3.0)), held_out=0.875)
THIRD = replace(SECOND, session=3, labels=6, points=((0.75, 2.0), (0.5, 1.5)), metrics=(7.5, None), held_out=0.75)


def segments(*truths, metrics=None):
    steps = torch.tensor(truths)
    inputs = torch.zeros(*steps.shape, 1)
    known = torch.full((len(steps),), torch.nan) if metrics is None else torch.tensor(metrics)
    return Segments(inputs, torch.ones(steps.shape, dtype=torch.bool), steps, inputs[..., :0], known)


def test_learned_and_true_sums_of_the_segments_that_were_asked_about(monkeypatch):
    shown = segments([1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [9.0, 9.0])
    returns = torch.tensor([[1.0, 2.0, 3.0, 0.0], [1.0, 2.0, 3.0, 0.0], [4.0, 2.0, 0.0, 0.0]])
    pairs = torch.tensor([[0, 1], [1, 2]])
    given = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    found = measure_before(returns, shown, pairs, pairs, given)
    assert found["points"] == ((2.0, 2.0), (2.0, 4.0), (2.0, 6.0)), "the members' mean, and no segment of no pair"
    assert found["accuracy_before"] == 0.5 and found["correlation_before"] is None, "all sums are equal"
    monkeypatch.setattr(new_answers, "MOST_POINTS", 2)
    assert measure_before(returns, shown, pairs, pairs, given)["points"] == ((2.0, 2.0), (2.0, 6.0))
    assert measure_before(None, shown, pairs, pairs, given)["points"] == (), "before the first session"


def test_the_metric_of_the_segments_that_were_asked_about(monkeypatch):
    nan = float("nan")
    returns, pairs, given = torch.zeros(3, 4), torch.tensor([[0, 1], [1, 3]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    steps = ([1.0], [2.0], [3.0], [9.0])
    found = measure_before(returns, segments(*steps, metrics=[5.0, nan, 6.0, 0.123456]), pairs, pairs, given)
    assert found["metrics"] == (5.0, None, 0.12346) and len(found["points"]) == 3
    assert measure_before(returns, segments(*steps), pairs, pairs, given)["metrics"] == (), "known of none"
    monkeypatch.setattr(new_answers, "MOST_POINTS", 2)
    shown = segments(*steps, metrics=[5.0, nan, 6.0, 8.0])
    assert measure_before(returns, shown, pairs, pairs, given)["metrics"] == (5.0, 8.0), "those of the points"


def test_files_keep_the_points_of_sessions_that_a_continued_training_does_not_know(tmp_path):
    write_sessions(tmp_path, 0, [FIRST, SECOND, THIRD])
    assert read_sessions(tmp_path, 0) == [FIRST, SECOND, THIRD]
    resumed = [Session(**one.to_state()) for one in (FIRST, SECOND)]
    assert [one.points for one in resumed] == [(), ()], "a checkpoint has none, so that any version reads it"
    assert not {"metrics", "held_out"} & set(THIRD.to_state())
    again = replace(THIRD, points=((0.5, 5.0),), metrics=(0.25,), held_out=0.5)
    write_sessions(tmp_path, 0, [*resumed, again])
    assert read_sessions(tmp_path, 0) == [FIRST, SECOND, again]
    write_sessions(tmp_path, 0, resumed)
    assert read_sessions(tmp_path, 0) == [FIRST, SECOND], "a session after the checkpoint was not held yet"
    assert read_sessions(tmp_path, 1) == []


def test_a_file_of_sessions_has_the_columns_that_earlier_versions_read(tmp_path):
    write_sessions(tmp_path, 0, [SECOND])
    with (tmp_path / "preferences" / "0.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert not {"points", "metrics", "held_out"} & set(row) and list(row)[-2:] == ["left_out", "turned"]


def test_points_of_earlier_versions_have_no_metric(tmp_path):
    write_sessions(tmp_path, 0, [FIRST, SECOND, THIRD])
    file = tmp_path / "preferences" / "0-points.csv"
    assert file.read_text().splitlines()[-1] == "3,0.5,1.5,"
    file.write_text("".join(f"{line.rpartition(',')[0]}\n" for line in file.read_text().splitlines()))
    assert read_sessions(tmp_path, 0) == [FIRST, SECOND, replace(THIRD, metrics=())]
