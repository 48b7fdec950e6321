"""Which engine steps the worlds: MuJoCo on the CPU, MuJoCo Warp on a CUDA device, or one behind the bridge.

`python -m simulation.backends.choice NAME` prints what `resolve_device` answers, and a GPU's name after it; exit status
1 and the reason where it refuses.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import mujoco
import torch

from simulation.backends.cpu import CpuPhysics
from simulation.backends.interface import Physics, StartPhysics
from simulation.bridge.connection import Bridge

BRIDGES = ("bridge:mujoco", "bridge:isaacgym")
INSTALL = "pip install -r requirements-gpu.txt (docs/gpu.md)"


def resolve_device(requested: str = "auto") -> str:
    """The device that `auto`, `cpu`, `cuda`, `cuda:<index>` or a name of BRIDGES means on this machine.

    `auto` is the first CUDA device where PyTorch sees one and MuJoCo Warp is installed, else the CPU. Raises ValueError
    where this machine does not have the device, or it is none.
    """
    if requested == "cpu" or requested in BRIDGES:
        return requested
    warp = importlib.util.find_spec("mujoco_warp") is not None
    if requested == "auto":
        return "cuda:0" if warp and torch.cuda.is_available() else "cpu"
    kind, _, index = requested.partition(":")
    if kind != "cuda" or not (index or "0").isdecimal():
        raise ValueError(f"unknown device {requested!r}: use auto, cpu, cuda, cuda:<index>, {' or '.join(BRIDGES)}")
    if not torch.cuda.is_available():
        raise ValueError(f"device {requested!r} was asked for, but PyTorch {torch.__version__} finds no CUDA device")
    if int(index or "0") >= torch.cuda.device_count():
        raise ValueError(f"there is no device {requested!r}: this machine has {torch.cuda.device_count()}")
    if not warp:
        raise ValueError(f"device {requested!r} needs MuJoCo Warp, which is not installed: {INSTALL}")
    return f"cuda:{index or 0}"


def get_tensor_device(device: str) -> str:
    """The device of this engine's tensors; a bridge's are on the CPU."""
    return "cpu" if device in BRIDGES else device


def find_engine(device: str, folder: str = "") -> StartPhysics:
    """The function that starts the physics on this device (see `resolve_device`). Starts a bridge's worker.

    `folder`: the task's, for an engine that loads its own asset. Raises ValueError when something is not installed or
    not configured, and BridgeError when a worker cannot be started.
    """
    if device == "bridge:mujoco":
        return Bridge("mujoco")
    if device == "bridge:isaacgym":
        return connect_isaacgym(folder)
    return start_mujoco if device == "cpu" else start_warp_on(device)


def connect_isaacgym(folder: str) -> StartPhysics:
    """IsaacGym behind the bridge, as PREFINE_ISAACGYM_PYTHON and PREFINE_ISAACGYM_ASSETS say."""
    python, assets = (os.environ.get(f"PREFINE_ISAACGYM_{name}") for name in ("PYTHON", "ASSETS"))
    if not python or not assets:
        raise ValueError("set PREFINE_ISAACGYM_PYTHON and PREFINE_ISAACGYM_ASSETS to use IsaacGym (docs/gpu.md)")
    files = [path for kind in ("xml", "urdf") if (path := Path(assets, f"{folder}.{kind}")).exists()]
    if not files:
        raise ValueError(f"there is no {folder}.xml or {folder}.urdf in {assets}, where IsaacGym's assets should be")
    return Bridge("isaacgym", python=python, device="cuda:0", asset=files[0])


def read_device_memory(device: str) -> int:
    """Bytes of a CUDA device's memory, which a process maps as its own; 0 for every other device."""
    return torch.cuda.get_device_properties(device).total_memory if device.startswith("cuda") else 0


def read_device_name(device: str) -> str:
    """The name that a CUDA device's driver gives it; empty for every other device."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else ""


def compile_into(device: str, folder: Path) -> None:
    """Have kernels that this process still compiles written into `folder`, as a locked process may write no other."""
    if device.startswith("cuda"):
        from simulation.backends import gpu

        gpu.compile_into(folder)


def start_mujoco(model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int) -> Physics:
    """MuJoCo on the CPU."""
    return CpuPhysics(model, worlds, substeps, fields, threads)


def start_warp_on(device: str) -> StartPhysics:
    """MuJoCo Warp on a CUDA device, or on Warp's CPU device: slow, for tests.

    Raises ValueError when it is not installed.
    """
    try:
        from simulation.backends.gpu import WarpPhysics
    except ImportError as error:
        raise ValueError(f"MuJoCo Warp is not installed: {INSTALL}") from error

    def start(model: mujoco.MjModel, worlds: int, substeps: int, fields: Sequence[str], threads: int) -> Physics:
        return WarpPhysics(model, worlds, substeps, fields, device)

    return start


if __name__ == "__main__":
    try:
        found = resolve_device(sys.argv[1])
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(found, read_device_name(found))
