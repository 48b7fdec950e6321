"""Physics on the CPU: many worlds of one model on `mujoco.batch`, read as float32 torch tensors."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch
from torch import Tensor

_START = 1.0
"""When worlds begin, in s. MuJoCo silently resets a world that diverged to time 0, which identifies it. The counts of
its warnings say the same, but reading their memory costs more."""


class CpuPhysics:
    """`worlds` worlds of `model`, advanced `substeps` physics steps per control step on `threads` threads.

    `fields` are the derived MuJoCo fields that `read` returns beside qpos and qvel. They describe the state before
    the last substep (as after `mj_step`), except directly after `place`, when they are current.
    """

    engine = "mujoco"
    device = torch.device("cpu")

    def __init__(
        self, model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str] = (), threads: int = 1
    ) -> None:
        self.model = model
        self.worlds = worlds
        self._substeps = substeps
        self._batch = Batch(model, worlds, threads)
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._both = self._batch.state[:, 1 : 1 + model.nq + model.nv]  # time, qpos and qvel lie side by side
        self._views = {name: self._batch.bind(name) for name in fields}
        self._ctrl = self._batch.bind("ctrl")
        self._time = self._batch.bind("time")
        self._time[:] = _START

    def step(self, ctrl: Tensor) -> Tensor | None:
        """Apply finite controls (worlds, nu) for one control step.

        Returns None, or when worlds diverged (their state or acceleration was bad, and MuJoCo reset them silently)
        their ids (count,).
        """
        self._ctrl[:] = ctrl.numpy()
        self._batch.step(nstep=self._substeps)
        if self._time.min() >= _START:
            return None
        diverged = np.flatnonzero(self._time < _START)
        self._time[diverged] = _START
        return torch.from_numpy(diverged)

    def place(self, ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Put worlds `ids` (count,) into states (count, nq) and (count, nv), and compute their fields."""
        rows = ids.numpy()
        self._batch.reset(rows, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self._time[rows] = _START
        self._qpos[rows] = qpos.numpy()
        self._qvel[rows] = qvel.numpy()
        self._batch.forward(rows)

    def read(self, ids: Tensor | None = None) -> dict[str, Tensor]:
        """Copies of qpos (n, nq), qvel (n, nv) and the derived fields, of all worlds or of `ids`."""
        rows = slice(None) if ids is None else ids.numpy()
        both = self._both[rows].astype(np.float32)
        read = {"qpos": both[:, : self.model.nq], "qvel": both[:, self.model.nq :]}
        read |= {name: view[rows].astype(np.float32) for name, view in self._views.items()}
        return {name: torch.from_numpy(values) for name, values in read.items()}

    def qpos(self, world: int) -> np.ndarray:
        """One world's qpos (nq,), a float64 copy."""
        return np.array(self._qpos[world])

    def state(self) -> Tensor:
        """Every world's whole MuJoCo state (worlds, size) in float64: enough to continue exactly."""
        return torch.from_numpy(self._batch.state.copy())

    def load(self, state: Tensor) -> None:
        """Continue from `state()` of a simulation of the same model and number of worlds."""
        self._batch.state[:] = state.numpy()
        np.maximum(self._time, _START, out=self._time)
