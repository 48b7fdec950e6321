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


LIFT = 1e-6
"""Metres by which free bodies are lifted where they are placed. Many begin exactly on a table, and whether they touch
it in the first substep is then decided by how each engine rounds."""
MOVES, MOVED = 8, 1e-6
"""Neighbours of each state, and how far their coordinates are from it (m, rad): a few roundings of float32."""


class Twins:
    """MuJoCo, beside which Warp does each step from the same state.

    `errors` are the relative differences, of each world and step. `own` are the largest ones between MuJoCo's step and
    its steps from the state's neighbours: what no engine in float32 can do better than.
    """

    def __init__(self, model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int) -> None:
        self._mujoco, self._warp, self._moved = (
            start(model, worlds, substeps, fields, threads) for start in (MUJOCO, WARP, MUJOCO)
        )
        self.engine, self.device = self._mujoco.engine, self._mujoco.device
        self._coordinates = slice(1, 1 + model.nq)
        self._heights = model.jnt_qposadr[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE] + 2
        self._generator = torch.Generator().manual_seed(0)
        self.errors: dict[str, list[torch.Tensor]] = {}
        self.own: dict[str, list[torch.Tensor]] = {}
        self.failed = 0

    def step(self, ctrl):
        state = self._mujoco.state()
        self._warp.load(state)
        lost, warp_lost = self._mujoco.step(ctrl), self._warp.step(ctrl)
        self.failed += len(lost if lost is not None else ()) + len(warp_lost if warp_lost is not None else ())
        expected = self._mujoco.read()
        self._compare("after a step", expected, self._warp.read())
        moves = [self._step_moved(state, ctrl, expected) for _ in range(MOVES)]
        for name in expected:
            own = torch.stack([errors[name] for errors in moves]).amax(0)
            self.own.setdefault(f"{name} after a step", []).append(own)
        return lost

    def place(self, ids, qpos, qvel):
        qpos = qpos.clone()
        qpos[:, self._heights] += LIFT
        for physics in (self._mujoco, self._warp):
            physics.place(ids, qpos, qvel)
        self._compare("after placing", self._mujoco.read(ids), self._warp.read(ids))

    def _step_moved(self, state, ctrl, expected):
        moved = state.clone()
        coordinates = moved[:, self._coordinates]
        coordinates += MOVED * (2 * torch.rand(coordinates.shape, generator=self._generator, dtype=state.dtype) - 1)
        self._moved.load(moved)
        self._moved.step(ctrl)
        return compare(expected, self._moved.read())

    def _compare(self, when, expected, found):
        for name, errors in compare(expected, found).items():
            self.errors.setdefault(f"{name} {when}", []).append(errors)

    def __getattr__(self, name):
        return getattr(self._mujoco, name)


def compare(expected: dict[str, torch.Tensor], found: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Each world's largest difference in each field, relative to 1 + |value|."""
    return {
        name: ((found[name] - value).abs() / (1 + value.abs())).flatten(1).amax(1) for name, value in expected.items()
    }
