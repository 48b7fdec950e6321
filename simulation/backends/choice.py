"""Which engine steps the worlds: MuJoCo on the CPU, MuJoCo Warp on a CUDA device."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import mujoco
import torch

from simulation.backends.cpu import CpuPhysics
from simulation.backends.interface import Physics, StartPhysics

INSTALL = "pip install -r requirements-gpu.txt (docs/gpu.md)"


def device(requested: str = "auto") -> str:
    """The device that `auto`, `cpu`, `cuda` or `cuda:<index>` stands for on this machine.

    `auto` is the first CUDA device where PyTorch sees one and MuJoCo Warp is installed, else the CPU. Raises ValueError
    when what was asked for is not here, or is no device.
    """
    if requested == "cpu":
        return "cpu"
    warp = importlib.util.find_spec("mujoco_warp") is not None
    if requested == "auto":
        return "cuda:0" if warp and torch.cuda.is_available() else "cpu"
    kind, _, index = requested.partition(":")
    if kind != "cuda" or not (index or "0").isdecimal():
        raise ValueError(f"unknown device {requested!r}: use auto, cpu, cuda or cuda:<index>")
    if not torch.cuda.is_available():
        raise ValueError(f"device {requested!r} was asked for, but PyTorch {torch.__version__} finds no CUDA device")
    if int(index or "0") >= torch.cuda.device_count():
        raise ValueError(f"there is no device {requested!r}: this machine has {torch.cuda.device_count()}")
    if not warp:
        raise ValueError(f"device {requested!r} needs MuJoCo Warp, which is not installed: {INSTALL}")
    return f"cuda:{index or 0}"


def engine(on: str) -> StartPhysics:
    """What starts the physics on this device (see `device`)."""
    return start_mujoco if on == "cpu" else warp_on(on)


def start_mujoco(model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int) -> Physics:
    """MuJoCo on the CPU."""
    return CpuPhysics(model, worlds, substeps, fields, threads)


def warp_on(on: str) -> StartPhysics:
    """MuJoCo Warp on a CUDA device, or on Warp's CPU device: slow, for tests.

    Raises ValueError when it is not installed.
    """
    try:
        from simulation.backends.gpu import WarpPhysics
    except ImportError as error:
        raise ValueError(f"MuJoCo Warp is not installed: {INSTALL}") from error

    def start(model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int) -> Physics:
        return WarpPhysics(model, worlds, substeps, fields, on)

    return start
