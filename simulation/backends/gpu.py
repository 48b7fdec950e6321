"""Physics on a CUDA device: many worlds of one model on MuJoCo Warp, in tensors that share its memory.

On Warp's CPU device the same code runs, graphs included, in one thread: that is how it is tested.

Warp launches on a stream of its own, PyTorch on CUDA's default stream. Warp's is a blocking one, so each waits for what
the other was given before: nothing here has to synchronise them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
import warp as wp
from torch import Tensor

from simulation.backends import capacity, kernels

log = logging.getLogger(__name__)

STATE_FIELDS = (
    *("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied"),
    *("eq_active", "mocap_pos", "mocap_quat", "userdata", "plastic"),
)
"""MuJoCo's integration state (mjSTATE_INTEGRATION), in its order, as `state` returns it."""
LOST = int(mjw.OverflowType.ALL & ~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS))
"""Overflows that leave a world's contacts or constraints incomplete. A solver that stops early is harmless."""
LOST_CONTACTS = int(mjw.OverflowType.BROADPHASE | mjw.OverflowType.NARROWPHASE | mjw.OverflowType.CCD)
HOLDING = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
"""Constraints that hold bodies together: of closed chains."""
GROW_AFTER = 10
"""Control steps with an overflow after which the buffers are doubled."""
PLACED_SHARE, PLACED_LEAST = 16, 16
"""Worlds are placed in portions of a sixteenth of all, or of 16 worlds where that is more."""

wp.config.log_level = wp.LOG_WARNING


class WarpPhysics:
    """`worlds` worlds of `model`, advanced `substeps` physics steps per control step on `device`.

    `fields` are the derived fields that `read` returns beside qpos and qvel. They describe the state before the last
    substep, except directly after `place`, when they are current: as on the CPU (`cpu.CpuPhysics`).

    A world whose state is not finite, or whose contacts or constraints did not fit into the buffers, has failed in that
    step. `overflows` counts the latter; when they go on, the buffers grow. Raises ValueError where the model needs what
    MuJoCo Warp does not have, and Warp's RuntimeError where the device's memory does not suffice.
    """

    engine = "mujoco_warp"

    def __init__(
        self,
        model: mujoco.MjModel,
        worlds: int,
        substeps: int,
        fields: Sequence[str] = (),
        device: str = "cuda:0",
        sizes: capacity.Sizes | None = None,
    ) -> None:
        self.device = torch.device(device)
        self.worlds = worlds
        self.overflows = 0
        self.sizes = sizes or capacity.measure_sizes(model)
        self._model, self._substeps = model, substeps
        self._holds_bodies = bool(np.isin(model.eq_type, HOLDING).any())
        self._fields = ("qpos", "qvel", *fields)
        self._shapes = {name: np.shape(getattr(mujoco.MjData(model), name)) for name in self._fields}
        self._device = wp.get_device(device)
        self._overflowing = 0
        with wp.ScopedDevice(self._device):
            self._warp_model = _copy_to_device(model)
            self._failed = wp.zeros(worlds, dtype=wp.bool)
            self._counts = wp.zeros(3, dtype=int)
        self._allocate()

    def step(self, ctrl: Tensor) -> Tensor | None:
        """Apply controls (worlds, nu) for one control step.

        Returns None, or when worlds failed their ids (count,).
        """
        self._ctrl.copy_(ctrl)
        with wp.ScopedDevice(self._device):
            wp.capture_launch(self._advance)
        failed, overflowed, kinds = wp.to_torch(self._counts).tolist()
        if not failed:
            return None
        ids = torch.nonzero(wp.to_torch(self._failed)).squeeze(1)
        if overflowed:
            self._count_overflow(overflowed, kinds)
        return ids

    def place(self, ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Put worlds `ids` (count,) into states (count, nq) and (count, nv), at time 0, and compute their fields.

        Their fields are computed in a small batch of its own, so that the other worlds' stay as they are.
        """
        for name, value in self._start.items():
            self._state[name][ids] = value
        self._state["qpos"][ids] = qpos
        self._state["qvel"][ids] = qvel
        size = len(self._portion["qpos"])
        for rows, positions, velocities in zip(
            *(torch.split(values, size) for values in (ids, qpos, qvel)), strict=True
        ):
            self._portion["qpos"][: len(rows)] = positions
            self._portion["qvel"][: len(rows)] = velocities
            with wp.ScopedDevice(self._device):
                wp.capture_launch(self._derive)
            for name in self._fields:
                self._views[name][rows] = self._portion[name][: len(rows)]

    def read(self, ids: Tensor | None = None) -> dict[str, Tensor]:
        """Copies of qpos (n, nq), qvel (n, nv) and the derived fields, of all worlds or of `ids`."""
        if ids is None:
            return {name: view.clone() for name, view in self._views.items()}
        return {name: view[ids] for name, view in self._views.items()}

    def qpos(self, world: int) -> np.ndarray:
        """One world's qpos (nq,), a float64 copy."""
        return self._views["qpos"][world].double().cpu().numpy()

    def state(self) -> Tensor:
        """Every world's integration state (worlds, size) in float64: enough to continue."""
        return torch.cat([view.double().view(self.worlds, -1) for view in self._state.values()], dim=1)

    def load(self, state: Tensor) -> None:
        """Continue from `state()` of a simulation of the same model and number of worlds."""
        parts = torch.split(state.to(self.device), [view[0].numel() for view in self._state.values()], dim=1)
        for view, part in zip(self._state.values(), parts, strict=True):
            view.copy_(part.view_as(view))

    def _allocate(self) -> None:
        """Allocate the buffers for `self.sizes`, views of them, and the graph of a step."""
        portion = min(self.worlds, max(PLACED_LEAST, self.worlds // PLACED_SHARE))
        with wp.ScopedDevice(self._device):
            data, small = (
                mjw.make_data(self._model, worlds, nconmax=self.sizes.contacts, njmax=self.sizes.constraints)
                for worlds in (self.worlds, portion)
            )
            self._data = (data, small)
            self._state = {name: wp.to_torch(getattr(data, name)) for name in STATE_FIELDS}
            self._state = {name: view for name, view in self._state.items() if view.numel()}
            self._start = {name: view[0].clone() for name, view in self._state.items() if name not in ("qpos", "qvel")}
            self._views = self._view_fields(data)
            self._portion = self._view_fields(small)
            self._ctrl = wp.to_torch(data.ctrl)
            self._derive = _record_graph(lambda: self._forward(small))
            self._advance = _record_graph(lambda: self._control_step(data))
            mjw.reset_data(self._warp_model, data)  # of recording

    def _view_fields(self, data: mjw.Data) -> dict[str, Tensor]:
        """Views of the fields that are read, in the shapes of MuJoCo's own, (worlds, ...)."""
        return {name: wp.to_torch(getattr(data, name)).view(-1, *shape) for name, shape in self._shapes.items()}

    def _control_step(self, data: mjw.Data) -> None:
        """The work that the graph of a step records."""
        for _ in range(self._substeps):
            self._move_bodies(data)
            mjw.step(self._warp_model, data)
        self._counts.zero_()  # type: ignore[no-untyped-call]
        wp.launch(
            kernels.find_failed,
            dim=self.worlds,
            inputs=[data.qpos, data.qvel, LOST, data.overflow, self._failed, self._counts],
        )

    def _forward(self, data: mjw.Data) -> None:
        """Every field of the states as they are."""
        self._move_bodies(data)
        mjw.forward(self._warp_model, data)

    def _move_bodies(self, data: mjw.Data) -> None:
        """Compute the bodies' velocities ahead, where constraints hold bodies together.

        MuJoCo Warp makes such constraints, which need them, before it computes them: it would take those of the step
        before, and of another world after a reset.
        """
        if self._holds_bodies:
            for compute in (mjw.kinematics, mjw.com_pos, mjw.com_vel):
                compute(self._warp_model, data)

    def _count_overflow(self, worlds: int, kinds: int) -> None:
        """Count this step, and double the buffers after GROW_AFTER such steps."""
        self.overflows += worlds
        self._overflowing += 1
        if self._overflowing < GROW_AFTER:
            return
        self._overflowing = 0
        contacts = 2 if kinds & LOST_CONTACTS else 1
        constraints = 2 if kinds & ~LOST_CONTACTS else 1
        grown = capacity.Sizes(self.sizes.contacts * contacts, self.sizes.constraints * constraints)
        log.warning(
            "%d worlds had more contacts or constraints than fit (%s a world); going on with %s",
            *(self.overflows, self.sizes, grown),
        )
        self.sizes = grown
        state, fields = self.state(), self.read()
        self._allocate()
        self.load(state)
        for name, view in self._views.items():
            view.copy_(fields[name])


def _record_graph(work: Callable[[], None]) -> wp.Graph:
    """Device work as a graph: done once, which loads every kernel, recorded, and launched once, which takes its memory.

    On a GPU a graph does not keep the arrays that it works on alive: the caller must.
    """
    work()
    with wp.ScopedCapture() as capture:
        work()
    graph: wp.Graph = capture.graph
    wp.capture_launch(graph)
    return graph


def _copy_to_device(model: mujoco.MjModel) -> mjw.Model:
    try:
        on_device = mjw.put_model(model)
    except (NotImplementedError, ValueError) as error:
        raise ValueError(f"MuJoCo Warp cannot simulate this model: {error}; train it on the CPU") from error
    on_device.opt.warn_overflow = 0  # counted here instead of printed from kernels
    # To MuJoCo Warp this only says how boxes touch boxes: as in MuJoCo, in place of its general search, whose points
    # and normals differ where boxes are tilted.
    on_device.opt.disableflags |= mjw.DisableBit.NATIVECCD
    on_device.opt.graph_conditional = wp.get_device().is_cpu or wp.is_conditional_graph_supported()
    return on_device


def compile_into(folder: Path) -> None:
    """Keep kernels compiled from now on in `folder`, and none of it in the cache that other processes load from."""
    folder.mkdir(parents=True, exist_ok=True)
    wp.config.kernel_cache_dir = str(folder)
