"""A model as the bridge's worker is told about it: MuJoCo's own file, and in words for engines without MuJoCo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np


def shapes(model: mujoco.MjModel, fields: Sequence[str]) -> dict[str, list[int]]:
    """Name -> shape of one world's field, as MuJoCo has it."""
    data = mujoco.MjData(model)
    return {name: list(np.shape(getattr(data, name))) for name in fields}


def described(model: mujoco.MjModel, folder: Path, asset: Path | None) -> dict[str, Any]:
    """What a worker needs to build the model. Writes MuJoCo's binary model into `folder`, which must stay until then.

    joints      name, kind (mjtJoint's name), first index in qpos and in qvel, in MuJoCo's order
    actuators   joint, gear, gain and bias: force = gain * ctrl + bias . (1, length, velocity)
    sites       body and position in it in m
    contacts    first index in sensordata and body of each <contact data="force torque pos" reduce="netforce"/> sensor
    """
    binary = folder / "model.mjb"
    mujoco.mj_saveModel(model, str(binary))
    return {
        "nq": model.nq,
        "nv": model.nv,
        "nu": model.nu,
        "binary": str(binary),
        "asset": str(asset) if asset else None,
        "timestep": model.opt.timestep,
        "gravity": model.opt.gravity.tolist(),
        "qpos0": model.qpos0.tolist(),
        "joints": [_joint(model, index) for index in range(model.njnt)],
        "actuators": [_actuator(model, index) for index in range(model.nu)],
        "sites": [
            {"body": model.body(body).name, "position": position.tolist()}
            for body, position in zip(model.site_bodyid, model.site_pos, strict=True)
        ],
        "contacts": _contacts(model),
    }


def _joint(model: mujoco.MjModel, index: int) -> dict[str, Any]:
    joint = model.joint(index)
    kind = mujoco.mjtJoint(int(model.jnt_type[index])).name.removeprefix("mjJNT_").lower()
    return {"name": joint.name, "kind": kind, "qpos": int(joint.qposadr[0]), "qvel": int(joint.dofadr[0])}


def _actuator(model: mujoco.MjModel, index: int) -> dict[str, Any]:
    on_joint = model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT
    return {
        "joint": model.joint(model.actuator_trnid[index, 0]).name if on_joint else None,
        "gear": float(model.actuator_gear[index, 0]),
        "gain": float(model.actuator_gainprm[index, 0]),
        "bias": model.actuator_biasprm[index, :3].tolist(),
    }


def _contacts(model: mujoco.MjModel) -> list[dict[str, Any]]:
    found = []
    for index in np.flatnonzero(model.sensor_type == mujoco.mjtSensor.mjSENS_CONTACT):
        geom = model.sensor_refid[index]
        found.append({"sensor": int(model.sensor_adr[index]), "body": model.body(model.geom_bodyid[geom]).name})
    return found
