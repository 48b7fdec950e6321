"""The bridge's near end: an engine in another interpreter, which an environment steps like its own."""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from simulation.bridge import transport
from simulation.bridge.isaacgym.model_description import describe

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 600.0
"""An engine may compile its kernels when it starts."""
ANSWER_SECONDS = 120.0
LEAVE_SECONDS = 5.0


class BridgeError(RuntimeError):
    """The bridge is lost, of another version, or the engine behind it refuses. The message says what to do."""


class Bridge:
    """One worker process, which hosts one physics after the other: an environment's `StartPhysics`.

    `engine` is a name of `worker.ENGINES`, `python` the interpreter that has it, `device` where it simulates, `asset`
    the file that an engine without MuJoCo loads the robot from. Raises BridgeError when the worker cannot be started or
    is of another version.
    """

    def __init__(
        self, engine: str, python: str = sys.executable, device: str = "cpu", asset: Path | None = None
    ) -> None:
        self.engine = engine
        self._device, self._asset = device, asset
        here, there = socket.socketpair()
        self._channel = transport.Channel(here)
        command = [python, "-m", "simulation.bridge.engine_host", engine, str(there.fileno())]
        try:
            self._process = subprocess.Popen(
                command, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)}
            )
        except OSError as error:
            self._channel.close()
            raise BridgeError(f"the bridge's interpreter {python} cannot be started: {error.strerror}") from error
        finally:
            there.close()
        self._end = weakref.finalize(self, _end, self._process, self._channel)
        self._block: mmap.mmap | None = None
        version = self.ask({"do": "hello", "version": transport.VERSION}).get("version")
        if version != transport.VERSION:
            self.close()
            raise BridgeError(
                f"the bridge's worker speaks version {version} of the protocol, this program version "
                f"{transport.VERSION}: let both run from the same release"
            )

    def __call__(
        self, model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int
    ) -> BridgePhysics:
        """Start a physics; it replaces the one before, and may not have more worlds than the first."""
        return BridgePhysics(self, *self._start(model, worlds, substeps, fields, threads))

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """One request and its answer. Raises BridgeError when it is refused or the worker is lost."""
        return self._check_answer(lambda: self._exchange(message))

    def close(self) -> None:
        """End the worker."""
        self._end()

    @property
    def pid(self) -> int:
        """The worker's process."""
        return self._process.pid

    def _start(
        self, model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int
    ) -> tuple[dict[str, Any], dict[str, np.ndarray], tuple[str, ...]]:
        sizes = {"nq": model.nq, "nv": model.nv, "nu": model.nu}
        shapes = _read_shapes(model, ("qpos", "qvel", *fields))
        request: dict[str, Any] = {"do": "start", "model": None, "worlds": worlds, "substeps": substeps}
        request |= {"fields": shapes, "threads": threads, "device": self._device, "reuse": self._block is not None}
        if self._block is not None:
            answer = self._check_answer(lambda: self._exchange(request, START_SECONDS))
            layout = transport.list_arrays(worlds, sizes, shapes, answer["state"])
            if transport.count_bytes(layout) > len(self._block):
                raise BridgeError("a bridge's later physics cannot be larger than its first: start another bridge")
        else:
            with tempfile.TemporaryDirectory(prefix="prefine-bridge-") as folder:
                request["model"] = sizes | self._describe_model(model, Path(folder))
                answer = self._check_answer(lambda: self._start_first(request))
            layout = transport.list_arrays(worlds, sizes, shapes, answer["state"])
        assert self._block is not None
        return answer, transport.view_arrays(self._block, layout), tuple(shapes)

    def _describe_model(self, model: mujoco.MjModel, folder: Path) -> dict[str, Any]:
        """The model for the worker: a file of MuJoCo's in `folder`, or in words for an engine without MuJoCo."""
        if self._asset is not None:
            return describe(model, self._asset)
        binary = folder / "model.mjb"
        mujoco.mj_saveModel(model, str(binary))
        return {"binary": str(binary)}

    def _exchange(self, message: dict[str, Any], timeout: float = ANSWER_SECONDS) -> dict[str, Any]:
        self._channel.send(message)
        return self._channel.receive(timeout)

    def _start_first(self, request: dict[str, Any]) -> dict[str, Any]:
        """The first start, with whose answer the shared block comes."""
        self._channel.send(request)
        answer, block = self._channel.receive_block(START_SECONDS)
        if block is not None:
            self._block = mmap.mmap(block, 0)
            os.close(block)
        return answer

    def _check_answer(self, exchange: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = exchange()
        except transport.BridgeLost as lost:
            raise BridgeError(f"the bridge to {self.engine} is lost: {lost}{self._describe_end()}") from lost
        if not answer.get("ok"):
            raise BridgeError(f"{self.engine} behind the bridge refused: {answer.get('error')}")
        return answer

    def _describe_end(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(1.0)
            return f"; its process {self.pid} ended with status {status}, its last words are in the log"
        return f"; its process {self.pid} still runs"


class BridgePhysics:
    """The physics behind a bridge (see `backends.interface.Physics`), in tensors on the CPU."""

    device = torch.device("cpu")

    def __init__(
        self, bridge: Bridge, started: dict[str, Any], arrays: dict[str, np.ndarray], fields: tuple[str, ...]
    ) -> None:
        self.engine: str = started["engine"]
        self._bridge = bridge
        self._arrays = {name: torch.from_numpy(array) for name, array in arrays.items()}
        self._fields = fields

    def step(self, ctrl: Tensor) -> Tensor | None:
        """Apply controls (worlds, nu) for one control step; None, or the ids (count,) of the worlds that failed."""
        self._arrays["ctrl"].copy_(ctrl)
        failed = self._bridge.ask({"do": "step"})["failed"]
        return self._arrays["ids"][:failed].clone() if failed else None

    def place(self, ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Put worlds `ids` (count,) into states (count, nq) and (count, nv), at time 0, and compute their fields."""
        for name, values in (("ids", ids), ("start_qpos", qpos), ("start_qvel", qvel)):
            self._arrays[name][: len(ids)] = values
        self._bridge.ask({"do": "place", "count": len(ids)})

    def read(self, ids: Tensor | None = None) -> dict[str, Tensor]:
        """Copies of qpos (n, nq), qvel (n, nv) and the derived fields, of all worlds or of `ids`."""
        if ids is None:
            return {name: self._arrays[name].clone() for name in self._fields}
        return {name: self._arrays[name][ids] for name in self._fields}

    def qpos(self, world: int) -> np.ndarray:
        """One world's qpos (nq,), float64."""
        return np.array(self._bridge.ask({"do": "qpos", "world": world})["qpos"])

    def state(self) -> Tensor:
        """Every world's whole state (worlds, size), float64, as the engine understands it."""
        self._bridge.ask({"do": "state"})
        return self._arrays["state"].clone()

    def load(self, state: Tensor) -> None:
        """Continue from `state()` of the same engine, model and number of worlds."""
        self._arrays["state"].copy_(state)
        self._bridge.ask({"do": "load"})


def _read_shapes(model: mujoco.MjModel, fields: Sequence[str]) -> dict[str, list[int]]:
    """Name -> shape of one world's field, as MuJoCo has it."""
    data = mujoco.MjData(model)
    return {name: list(np.shape(getattr(data, name))) for name in fields}


def _end(process: subprocess.Popen[bytes], channel: transport.Channel) -> None:
    """Close the connection and end the worker."""
    channel.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(LEAVE_SECONDS)
        return
    with contextlib.suppress(PermissionError):  # in a locked process
        process.kill()
        process.wait()
