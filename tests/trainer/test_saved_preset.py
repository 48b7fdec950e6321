"""A run keeps the values of its preset, whatever an upgrade makes of the preset."""

import json
from dataclasses import replace

import pytest
import torch

from simulation import catalog
from simulation.catalog import Preset
from tests.trainer.test_lockstep import CARTPOLE, SHORT, shard, trained
from trainer.preferences.algorithms import Preferences
from trainer.records import TrainJob, resolve_preset
from trainer.saved_preset import get_preset_file, is_of_this_job, keep_preset, read_preset

JOB = TrainJob("Cartpole", CARTPOLE[:1], overrides=SHORT, film_at=())


def change_preset(monkeypatch: pytest.MonkeyPatch, name: str = "quick", **values: float) -> None:
    """Upgrade to a version in which Cartpole's preset has other values."""
    info = catalog.get_task("Cartpole")
    changed = replace(info, presets={**info.presets, name: replace(info.presets[name], **values)})
    known = {**catalog.list_tasks(), "Cartpole": changed}
    monkeypatch.setattr(catalog, "list_tasks", lambda: known)


@pytest.mark.slow
def test_a_training_goes_on_after_its_preset_changed_and_ends_as_if_it_had_not(tmp_path, monkeypatch):
    keep_preset(tmp_path / "whole", JOB)
    whole, result = trained(tmp_path / "whole", JOB)
    keep_preset(tmp_path / "stopped", JOB)
    stopped = shard(tmp_path / "stopped", JOB)
    for _ in range(3):
        stopped._iterate()
    stopped._save()
    change_preset(monkeypatch, gamma=0.5, epochs=1)
    keep_preset(tmp_path / "stopped", JOB)
    continued = shard(tmp_path / "stopped", JOB)
    assert continued.iteration == 3
    assert continued.train().candidates == result.candidates
    assert torch.equal(whole.learner.networks.flat, continued.learner.networks.flat)


@pytest.mark.parametrize("name", ["quick", "quick-sac"])
def test_the_values_of_a_run_that_began_stay(tmp_path, monkeypatch, name):
    job = TrainJob("Cartpole", CARTPOLE[:1], name, overrides={"iterations": 7})
    keep_preset(tmp_path, job)
    began = resolve_preset(job)
    change_preset(monkeypatch, name, gamma=0.5, iterations=9)
    assert resolve_preset(job).gamma == 0.5
    keep_preset(tmp_path, job)
    assert read_preset(tmp_path, job) == began and began.iterations == 7


def test_a_preset_that_is_no_more_does_not_stop_a_run_that_began_with_it(tmp_path, monkeypatch):
    keep_preset(tmp_path, JOB)
    began = resolve_preset(JOB)
    known = {**catalog.list_tasks(), "Cartpole": replace(catalog.get_task("Cartpole"), presets={})}
    monkeypatch.setattr(catalog, "list_tasks", lambda: known)
    assert read_preset(tmp_path, JOB) == began


def test_a_run_of_an_earlier_version_goes_on_with_todays_values(tmp_path, monkeypatch):
    change_preset(monkeypatch, gamma=0.5)
    assert read_preset(tmp_path, JOB) == resolve_preset(JOB)
    keep_preset(tmp_path, JOB)
    assert read_preset(tmp_path, JOB) == resolve_preset(JOB)


def test_a_field_that_came_later_has_its_default(tmp_path):
    keep_preset(tmp_path, JOB)
    saved = json.loads(get_preset_file(tmp_path).read_text())
    del saved["bounds_weight"]
    get_preset_file(tmp_path).write_text(json.dumps({**saved, "hidden": [8, 8]}))
    read = read_preset(tmp_path, JOB)
    assert isinstance(read, Preset) and (read.bounds_weight, read.hidden) == (1e-4, (8, 8))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"algorithm": "dqn"}', '{"algorithm": "ppo", "unknown": 1}'])
def test_a_damaged_file_is_named(tmp_path, text):
    get_preset_file(tmp_path).parent.mkdir()
    get_preset_file(tmp_path).write_text(text)
    with pytest.raises(ValueError, match=r"preset.json is damaged: remove the folder \S+checkpoints to start this run"):
        keep_preset(tmp_path, JOB)


def test_a_training_with_answers_of_people_does_not_start_over():
    outside = Preferences("prefppo", budget=4, segment=4, outside=True)
    answered = replace(JOB, preferences=(outside,))
    assert is_of_this_job("a", "a", answered) and is_of_this_job("a", "a", JOB)
    assert not is_of_this_job("b", "a", JOB)
    with pytest.raises(ValueError, match="its preset has changed .* begin the experiment again"):
        is_of_this_job("b", "a", answered)
