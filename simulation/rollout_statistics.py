"""Numbers that describe a robot's film, for models that cannot see it. Imports neither torch nor mujoco."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simulation.rollout import read_rollout


def compute_state_statistics(rollout: Path) -> dict[str, Any]:
    """The contents of a rollout file in numbers: {"seconds", "falls", "coordinates": [{"name", "start", "end", ...}]}.

    `falls` counts the episodes that began because the one before had failed. An episode that began because the one
    before was over in time, or had reached its goal, does not count: that would tell a hidden metric. (In files that
    do not say why an episode began, all count.) Of each coordinate: `start` and `end` of the film, `mean`, `min`,
    `max`, `travel` (sum of its changes within episodes) and `speed` (travel per second), in metres or radians. A robot
    that moves freely has x, y, height and `upright` (cosine of the tilt of its z axis) in place of its first seven.

    Raises what read_rollout raises on a file that is no rollout.
    """
    recorded = read_rollout(rollout)
    within = ~recorded.restart[1:]
    fell = recorded.restart if recorded.fell is None else recorded.fell
    return {
        "seconds": round(len(recorded.qpos) * recorded.control_dt, 3),
        "falls": int(fell[1:].sum()),
        "coordinates": [
            {"name": name, **_compute_statistics(values, within, recorded.control_dt)}
            for name, values in _list_coordinates(recorded.qpos)
        ],
    }


def _list_coordinates(qpos: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """(name, values (T,)) of the coordinates in qpos (T, nq). A free body is known by its unit quaternion in 3:7."""
    free = qpos.shape[1] >= 7 and np.allclose(np.linalg.norm(qpos[:, 3:7], axis=1), 1.0, atol=1e-3)
    if not free:
        return [(f"joint {i}", qpos[:, i - 1]) for i in range(1, qpos.shape[1] + 1)]
    upright = 1 - 2 * (qpos[:, 4] ** 2 + qpos[:, 5] ** 2)
    base = [("x", qpos[:, 0]), ("y", qpos[:, 1]), ("height", qpos[:, 2]), ("upright", upright)]
    return base + [(f"joint {i}", qpos[:, 6 + i]) for i in range(1, qpos.shape[1] - 6)]


def _compute_statistics(values: np.ndarray, within: np.ndarray, dt: float) -> dict[str, float]:
    """The numbers of one coordinate (T,); `within` (T - 1,) is false where an episode began during the step."""
    steps = np.diff(values)[within]
    travel = float(steps.sum())
    numbers = {
        "start": values[0],
        "end": values[-1],
        "mean": values.mean(),
        "min": values.min(),
        "max": values.max(),
        "travel": travel,
        "speed": travel / (len(steps) * dt) if len(steps) else 0.0,
    }
    return {name: float(f"{value:.4g}") for name, value in numbers.items()}
