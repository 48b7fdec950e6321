import pytest

from simulation import catalog
from trainer.records import (
    CandidateProgress,
    CandidateResult,
    Progress,
    TrainJob,
    TrainResult,
    read_job,
    read_progress,
    read_result,
    resolve_preset,
    write_json,
)


def test_a_job_comes_back_as_written(tmp_path):
    job = TrainJob(
        "Ant", ("a", "b"), seed=3, overrides={"iterations": 5, "kl_target": 0.01}, film_at=(100,), processes=1
    )
    write_json(tmp_path / "job.json", job)
    assert read_job(tmp_path) == job


def test_progress_comes_back_as_written_and_is_fresh_before_the_first(tmp_path):
    assert read_progress(tmp_path) == Progress()
    progress = Progress("training", 0.5, 12.5, 1000, 200.0, (CandidateProgress(0, fraction=0.5, rollouts=(10, 30)),))
    write_json(tmp_path / "progress.json", progress)
    assert read_progress(tmp_path) == progress


def test_a_result_comes_back_as_written_and_is_none_before(tmp_path):
    assert read_result(tmp_path) is None
    trace = {"total": {"samples": [1.0, 2.0], "max": 2.0, "mean": 1.5, "min": 1.0}}
    candidates = (CandidateResult(0, True, trace=trace, rts=2.0), CandidateResult(1, False, reason="no"))
    result = TrainResult(candidates, seconds=3.0, samples=10)
    write_json(tmp_path / "result.json", result)
    assert read_result(tmp_path) == result
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_overrides_replace_fields_of_the_preset():
    preset = resolve_preset(TrainJob("Ant", ("",), overrides={"iterations": 7.0, "learning_rate": 1}))
    assert (preset.iterations, preset.learning_rate) == (7, 1.0)
    assert isinstance(preset.iterations, int) and isinstance(preset.learning_rate, float)
    assert preset.worlds == catalog.get_preset("Ant", "quick").worlds


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (TrainJob("Antt", ("",)), "unknown task 'Antt'. Did you mean Ant?"),
        (TrainJob("Ant", ("",), preset="fast"), "unknown preset 'fast' of Ant; known: quick"),
        (TrainJob("Ant", ("",), overrides={"iteration": 3}), "unknown override 'iteration'. Did you mean iterations?"),
        (TrainJob("Ant", ("",), overrides={"hidden": 3}), "unknown override 'hidden'"),
        (TrainJob("Ant", ("",), overrides={"iterations": 0}), "iterations=0: a whole number of at least 1"),
        (TrainJob("Ant", ("",), overrides={"epochs": 1.5}), "epochs=1.5: a whole number"),
    ],
)
def test_a_job_that_cannot_be_run_says_what_is_wrong(job, message):
    with pytest.raises(ValueError, match=message):
        resolve_preset(job)
