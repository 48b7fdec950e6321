"""The values of the preset with which a run began. Imports neither torch nor mujoco.

Presets change from version to version. A run that has begun keeps its values, so that it goes on from its checkpoints
after an upgrade.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simulation.catalog import AnyPreset, Preset, SacPreset
from trainer.records import TrainJob, resolve_preset, write_text

KINDS: dict[str, type[Preset] | type[SacPreset]] = {kind.algorithm: kind for kind in (Preset, SacPreset)}


def keep_preset(job_dir: Path, job: TrainJob) -> None:
    """Save the preset's values when a run begins. Raises ValueError as read_preset does.

    A run that an earlier version began, which saved none, is saved with today's: its checkpoints fit them or none.
    """
    preset, file = read_preset(job_dir, job), get_preset_file(job_dir)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(describe_values(preset)))


def read_preset(job_dir: Path, job: TrainJob) -> AnyPreset:
    """The values with which this folder's run began; today's where none are saved. Raises ValueError where they cannot
    be read, and as resolve_preset does.
    """
    file = get_preset_file(job_dir)
    try:
        saved = _restore(json.loads(file.read_text()))
    except FileNotFoundError:
        return resolve_preset(job)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged: remove the folder {file.parent} to start this run again") from error
    return resolve_preset(job, saved)


def describe_values(preset: AnyPreset) -> dict[str, Any]:
    """A preset's fields with its algorithm, as JSON holds them."""
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(preset).items()}
    return {"algorithm": preset.algorithm, **fields}


def is_of_this_job(checkpoint: str, fingerprint: str, job: TrainJob) -> bool:
    """Whether a checkpoint with this fingerprint was made for the job. Raises ValueError where it was not, and the job
    has answers about pairs that nobody would ask again: an earlier version began it and saved no preset.
    """
    if checkpoint != fingerprint and any(one and one.outside for one in job.preferences):
        raise ValueError(
            "its preset has changed since an earlier version began this training, and the answers about its pairs do "
            "not fit another one: begin the experiment again"
        )
    return checkpoint == fingerprint


def get_preset_file(job_dir: Path) -> Path:
    """Where a run that has begun keeps its preset."""
    return job_dir / "checkpoints" / "preset.json"


def _restore(said: dict[str, Any]) -> AnyPreset:
    """A preset from its fields; those that it lacks have their defaults, which stand for what earlier versions did."""
    values: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in said.items()}
    return KINDS[values.pop("algorithm")](**values)
