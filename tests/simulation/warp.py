"""Engines for tests of the GPU backend: with elliptic cones, for which parity is claimed, on Warp's CPU device."""

from collections.abc import Sequence

import mujoco
import torch

from simulation.backends import choice
from simulation.backends.interface import Physics, StartPhysics


def elliptic(start: StartPhysics) -> StartPhysics:
    """The engine, stepping the model with elliptic friction cones."""

    def start_elliptic(model, worlds, substeps, fields, threads) -> Physics:
        model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        return start(model, worlds, substeps, fields, threads)

    return start_elliptic


def start_warp(model, worlds, substeps, fields, threads) -> Physics:
    """Warp is loaded here: every process of the tests reads this file, and that takes seconds."""
    import warp

    # Compiling takes most of these tests' time, and half of it optimizes code that then runs for a moment.
    warp.config.optimization_level = 0
    return choice.start_warp_on("cpu")(model, worlds, substeps, fields, threads)


WARP = elliptic(start_warp)
MUJOCO = elliptic(choice.start_mujoco)


class Twins:
    """MuJoCo, beside which Warp does each step from the same state; `errors` are the relative differences."""

    def __init__(self, model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int) -> None:
        self._mujoco, self._warp = (start(model, worlds, substeps, fields, threads) for start in (MUJOCO, WARP))
        self.engine, self.device = self._mujoco.engine, self._mujoco.device
        self.errors: dict[str, list[torch.Tensor]] = {}
        self.failed = 0

    def step(self, ctrl):
        self._warp.load(self._mujoco.state())
        lost, warp_lost = self._mujoco.step(ctrl), self._warp.step(ctrl)
        self.failed += len(lost if lost is not None else ()) + len(warp_lost if warp_lost is not None else ())
        self._compare("after a step", self._mujoco.read(), self._warp.read())
        return lost

    def place(self, ids, qpos, qvel):
        for physics in (self._mujoco, self._warp):
            physics.place(ids, qpos, qvel)
        self._compare("after placing", self._mujoco.read(ids), self._warp.read(ids))

    def _compare(self, when, expected, found):
        for name, value in expected.items():
            error = (found[name] - value).abs() / (1 + value.abs())
            self.errors.setdefault(f"{name} {when}", []).append(error.flatten(1).amax(1))

    def __getattr__(self, name):
        return getattr(self._mujoco, name)
