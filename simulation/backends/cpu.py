"""Physics on the CPU: many worlds of one model on `mujoco.batch`, read as float32 torch tensors."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch
from torch import Tensor

# The warnings with which MuJoCo resets a world silently or drops its controls: BADQPOS, BADQVEL, BADQACC, BADCTRL.
_DIVERGED = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)


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
        self._views = {name: self._batch.bind(name) for name in ("qpos", "qvel", *fields)}
        self._ctrl = self._batch.bind("ctrl")
        self._counts = self._batch.warning[:, _DIVERGED, 1]
        """(worlds, 4), live: how often each of these warnings was given."""
        self._counted = self._counts.copy()

    def step(self, ctrl: Tensor) -> Tensor | None:
        """Apply controls (worlds, nu) for one control step.

        Returns None, or when worlds diverged (state non-finite, or reset silently by MuJoCo) their ids (count,).
        """
        self._ctrl[:] = ctrl.numpy()
        self._batch.step(nstep=self._substeps)
        # in every substep MuJoCo checks state, controls and acceleration, counts what is bad, and resets that world
        if np.array_equal(self._counts, self._counted):
            return None
        diverged = (self._counts != self._counted).any(1)
        self._counted = self._counts.copy()
        return torch.from_numpy(np.flatnonzero(diverged))

    def place(self, ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Put worlds `ids` (count,) into states (count, nq) and (count, nv), at time 0, and compute their fields."""
        rows = ids.numpy()
        self._batch.reset(rows, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self._views["qpos"][rows] = qpos.numpy()
        self._views["qvel"][rows] = qvel.numpy()
        self._batch.forward(rows)
        self._counted = self._counts.copy()

    def read(self, ids: Tensor | None = None) -> dict[str, Tensor]:
        """Copies of qpos (n, nq), qvel (n, nv) and the derived fields, of all worlds or of `ids`."""
        if ids is None:
            return {name: torch.from_numpy(view.astype(np.float32)) for name, view in self._views.items()}
        rows = ids.numpy()
        return {name: torch.from_numpy(view[rows].astype(np.float32)) for name, view in self._views.items()}

    def qpos(self, world: int) -> np.ndarray:
        """One world's qpos (nq,), a float64 copy."""
        return np.array(self._views["qpos"][world])

    def state(self) -> Tensor:
        """Every world's whole MuJoCo state (worlds, size) in float64: enough to continue exactly."""
        return torch.from_numpy(self._batch.state.copy())

    def load(self, state: Tensor) -> None:
        """Continue from `state()` of a simulation of the same model and number of worlds."""
        self._batch.state[:] = state.numpy()
        self._counted = self._counts.copy()
