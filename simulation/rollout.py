"""The rollout file: what a policy did, as joint positions over time, for filming. Imports neither torch nor mujoco."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Rollout:
    """A recorded policy: T states of one world at control rate."""

    task: str
    """A task's name, see simulation.catalog."""
    qpos: np.ndarray
    """(T, nq) float64, MuJoCo's generalised positions."""
    control_dt: float
    """Seconds between two states."""
    restart: np.ndarray
    """(T,) bool, true where an episode began anew."""


def write_rollout(path: Path, task: str, qpos: np.ndarray, control_dt: float, restart: np.ndarray) -> None:
    """Write qpos (T, nq) and restart (T,) of one world to `path` (.npz), replacing it atomically.

    Raises ValueError when the shapes do not fit or qpos is not finite.
    """
    qpos, restart = np.asarray(qpos, dtype=np.float64), np.asarray(restart, dtype=bool)
    _require_sound(qpos, control_dt, restart)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        np.savez_compressed(file, task=np.str_(task), qpos=qpos, control_dt=np.float64(control_dt), restart=restart)
    os.replace(temporary, path)


def read_rollout(path: Path) -> Rollout:
    """The rollout in `path`. Raises ValueError, saying what is wrong, where it is not one."""
    try:
        with np.load(path, allow_pickle=False) as data:
            rollout = Rollout(
                task=str(data["task"]),
                qpos=data["qpos"].astype(np.float64),
                control_dt=float(data["control_dt"]),
                restart=data["restart"].astype(bool),
            )
    except FileNotFoundError as error:
        raise ValueError(f"there is no rollout file {path}") from error
    except (OSError, EOFError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a rollout file (.npz of task, qpos, control_dt, restart)") from error
    _require_sound(rollout.qpos, rollout.control_dt, rollout.restart)
    return rollout


def _require_sound(qpos: np.ndarray, control_dt: float, restart: np.ndarray) -> None:
    if qpos.ndim != 2 or not len(qpos):
        raise ValueError(f"qpos of a rollout has shape (steps, nq), not {qpos.shape}")
    if restart.shape != qpos.shape[:1]:
        raise ValueError(f"restart of a rollout has shape {qpos.shape[:1]}, not {restart.shape}")
    if not np.isfinite(qpos).all():
        raise ValueError("qpos of a rollout holds values that are not finite")
    if not 0 < control_dt < 1:
        raise ValueError(f"control_dt of a rollout is {control_dt} s, which is not a control step")
