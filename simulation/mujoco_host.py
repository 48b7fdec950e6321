"""MuJoCo, or on a GPU MuJoCo Warp, behind the bridge. Runs in this program's Python."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import torch

from simulation.backends import choice


def prepare(described: dict[str, Any]) -> mujoco.MjModel:
    """The compiled model, exactly the client's."""
    return mujoco.MjModel.from_binary_path(described["binary"])


class Host:
    """One engine of `simulation.backends`, in numpy arrays (see worker)."""

    def __init__(
        self,
        model: mujoco.MjModel,
        worlds: int,
        substeps: int,
        fields: dict[str, list[int]],
        threads: int,
        device: str,
    ) -> None:
        derived = [name for name in fields if name not in ("qpos", "qvel")]
        self._physics = choice.find_engine(device)(model, worlds, substeps, derived, threads)
        self.engine = self._physics.engine
        self._on = self._physics.device

    def step(self, ctrl: np.ndarray) -> np.ndarray:
        """One control step; ids of the failed worlds."""
        failed = self._physics.step(torch.from_numpy(ctrl).to(self._on))
        return np.empty(0, dtype=np.int64) if failed is None else failed.cpu().numpy()

    def place(self, ids: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Put worlds into states."""
        self._physics.place(*(torch.from_numpy(values).to(self._on) for values in (ids, qpos, qvel)))

    def fields(self, ids: np.ndarray | None) -> dict[str, np.ndarray]:
        """Copies of qpos, qvel and the derived fields."""
        rows = None if ids is None else torch.from_numpy(ids).to(self._on)
        return {name: values.cpu().numpy() for name, values in self._physics.read(rows).items()}

    def qpos(self, world: int) -> np.ndarray:
        """One world's qpos."""
        return self._physics.qpos(world)

    def state(self) -> np.ndarray:
        """Everything needed to continue."""
        return self._physics.state().cpu().numpy()

    def load(self, state: np.ndarray) -> None:
        """Continue from a state."""
        self._physics.load(torch.from_numpy(state.copy()))
