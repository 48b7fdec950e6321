"""The interface of an engine: many worlds of one model, stepped together, as tensors on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import mujoco
import numpy as np
import torch
from torch import Tensor


class Physics(Protocol):
    """`worlds` worlds of one model. Every tensor, in and out, is on `device`; everything that is read is a copy."""

    device: torch.device
    engine: str
    """The engine of `state`: one engine cannot continue another's states."""

    def step(self, ctrl: Tensor) -> Tensor | None:
        """Apply controls (worlds, nu) for one control step; None, or the ids (count,) of the worlds that failed."""

    def place(self, ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Put worlds `ids` (count,) into states (count, nq) and (count, nv), and compute their fields."""

    def read(self, ids: Tensor | None = None) -> dict[str, Tensor]:
        """Copies of qpos (n, nq), qvel (n, nv) and the derived fields, of all worlds or of `ids`.

        Derived fields are one substep behind after `step`, current after `place`.
        """

    def qpos(self, world: int) -> np.ndarray:
        """One world's qpos (nq,), a float64 copy."""

    def state(self) -> Tensor:
        """Every world's whole state (worlds, size): enough to continue."""

    def load(self, state: Tensor) -> None:
        """Continue from `state()` of the same engine, model and number of worlds."""


class StartPhysics(Protocol):
    """Starts an engine: an environment builds its physics with it, and builds it again with other worlds."""

    def __call__(
        self, model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int
    ) -> Physics:
        """Physics of `worlds` worlds of `model`, `substeps` physics steps per control step, reading `fields`."""
