"""How many contacts and constraints a model's worlds need: MuJoCo Warp's buffers have a fixed size."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.batch import Batch

WORLDS = 64
STEPS = 240
HELD = 10
"""Physics steps for which a random control is held."""
MARGIN = 1.5
"""Factor above the largest number seen, because a policy finds postures that chance does not."""


@dataclass(frozen=True)
class Sizes:
    """Room for each world; contacts are pooled over all worlds, constraints are not."""

    contacts: int
    constraints: int

    def __str__(self) -> str:
        return f"{self.contacts} contacts and {self.constraints} constraints"


def measure_sizes(model: mujoco.MjModel) -> Sizes:
    """Buffers for MARGIN times the most that random controls need, from the initial and from tumbled postures.

    Always the same for the same model.
    """
    random = np.random.default_rng(0)
    batch = Batch(model, WORLDS, 1)
    qpos, ctrl, contacts, constraints = (batch.bind(name) for name in ("qpos", "ctrl", "ncon", "nefc"))
    qpos[:] = _draw_postures(model, random)
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, (-1.0, 1.0)).T
    most = np.zeros(2, dtype=int)
    for step in range(STEPS):
        if step % HELD == 0:
            ctrl[:] = random.uniform(low, high, ctrl.shape)
        batch.step()
        most = np.maximum(most, (contacts.max(), constraints.max()))
    return Sizes(*(_round_up(MARGIN * value) for value in most))


def _draw_postures(model: mujoco.MjModel, random: np.random.Generator) -> np.ndarray:
    """(WORLDS, nq): half of the worlds as the model begins, half with random hinges, slides and orientations."""
    qpos = np.tile(model.qpos0, (WORLDS, 1))
    tumbled = qpos[WORLDS // 2 :]
    for kind, address, limited, bounds in zip(
        model.jnt_type, model.jnt_qposadr, model.jnt_limited, model.jnt_range, strict=True
    ):
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            first = address + (3 if kind == mujoco.mjtJoint.mjJNT_FREE else 0)
            rotation = random.normal(size=(len(tumbled), 4))
            tumbled[:, first : first + 4] = rotation / np.linalg.norm(rotation, axis=1, keepdims=True)
        elif limited:
            tumbled[:, address] = random.uniform(bounds[0], bounds[1], len(tumbled))
    return qpos


def _round_up(value: float) -> int:
    """Up to a multiple of 16, and 16 at least."""
    return max(16, 16 * int(np.ceil(value / 16)))
