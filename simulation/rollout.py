"""The rollout file: a policy's joint positions over time, for filming. Imports neither torch nor mujoco."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """(T,) bool, true where an episode began."""
    mocap: np.ndarray
    """(T, nmocap, 7) float64, position and quaternion xyzw of the bodies that are only shown (targets, ghosts)."""
    fell: np.ndarray | None = None
    """(T,) bool, true where an episode began because the one before had failed, not because its time was over or its
    goal reached; None where that was not recorded."""
    components: dict[str, np.ndarray] = field(default_factory=dict)
    """Reward component (also "total") -> (T,) float32, its value in each state; empty where that was not recorded."""
    whole: bool = False
    """Whether its clip is as long as it is; else as long as all clips of the task."""


def write_rollout(
    path: Path,
    task: str,
    qpos: np.ndarray,
    control_dt: float,
    restart: np.ndarray,
    mocap: np.ndarray | None = None,
    fell: np.ndarray | None = None,
    components: Mapping[str, np.ndarray] | None = None,
    whole: bool = False,
) -> None:
    """Write qpos (T, nq), restart (T,), mocap (T, nmocap, 7), fell (T,) and the (T,) values of each component of one
    world to `path` (.npz), replacing it atomically. Where `fell` is not given, every restart counts as a fall.

    `whole`: its clip is as long as it is, not as long as all clips of the task.

    Raises ValueError when the shapes do not fit or a pose is not finite.
    """
    mocap = np.empty((len(qpos), 0, 7)) if mocap is None else np.asarray(mocap, dtype=np.float64)
    rollout = Rollout(
        task,
        np.asarray(qpos, dtype=np.float64),
        float(control_dt),
        np.asarray(restart, dtype=bool),
        mocap,
        None if fell is None else np.asarray(fell, dtype=bool),
        {name: np.asarray(values, dtype=np.float32) for name, values in (components or {}).items()},
        whole,
    )
    _require_sound(rollout)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(
                file,
                task=np.str_(task),
                qpos=rollout.qpos,
                control_dt=np.float64(control_dt),
                restart=rollout.restart,
                mocap=rollout.mocap,
                fell=rollout.restart if rollout.fell is None else rollout.fell,
                whole=np.bool_(whole),
                names=np.array(list(rollout.components), dtype=np.str_),
                values=np.array(list(rollout.components.values()), dtype=np.float32).reshape(-1, len(qpos)),
            )
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
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
                mocap=data["mocap"].astype(np.float64) if "mocap" in data else np.empty((len(data["qpos"]), 0, 7)),
                fell=data["fell"].astype(bool) if "fell" in data else None,
                components=dict(zip(map(str, data["names"]), data["values"].astype(np.float32), strict=True))
                if "names" in data
                else {},
                whole=bool(data["whole"]) if "whole" in data else False,
            )
    except FileNotFoundError as error:
        raise ValueError(f"there is no rollout file {path}") from error
    except (OSError, EOFError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a rollout file (.npz of task, qpos, control_dt, restart)") from error
    _require_sound(rollout)
    return rollout


def _require_sound(rollout: Rollout) -> None:
    qpos, restart, mocap = rollout.qpos, rollout.restart, rollout.mocap
    if qpos.ndim != 2 or not len(qpos):
        raise ValueError(f"qpos of a rollout has shape (steps, nq), not {qpos.shape}")
    if restart.shape != qpos.shape[:1]:
        raise ValueError(f"restart of a rollout has shape {qpos.shape[:1]}, not {restart.shape}")
    if rollout.fell is not None and rollout.fell.shape != qpos.shape[:1]:
        raise ValueError(f"fell of a rollout has shape {qpos.shape[:1]}, not {rollout.fell.shape}")
    for name, values in rollout.components.items():
        if values.shape != qpos.shape[:1]:
            raise ValueError(f"component {name} of a rollout has shape {qpos.shape[:1]}, not {values.shape}")
    if mocap.ndim != 3 or (len(mocap), mocap.shape[2]) != (len(qpos), 7):
        raise ValueError(f"mocap of a rollout has shape ({len(qpos)}, nmocap, 7), not {mocap.shape}")
    for name, values in (("qpos", qpos), ("mocap", mocap)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} of a rollout holds values that are not finite")
    if not 0 < rollout.control_dt < 1:
        raise ValueError(f"control_dt of a rollout is {rollout.control_dt} s, which is not a control step")
