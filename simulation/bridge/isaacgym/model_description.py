"""A MuJoCo model in plain names and numbers, for an engine without MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

CONTACT_DATA = {
    "force": int(mujoco.mjtConDataField.mjCONDATA_FORCE),
    "torque": int(mujoco.mjtConDataField.mjCONDATA_TORQUE),
    "pos": int(mujoco.mjtConDataField.mjCONDATA_POS),
}
"""Bits of a contact sensor's data, in the order in which the sensor reads them."""
NETFORCE = 3
"""A contact sensor's reduce="netforce"."""
UNLIMITED = 1e30


def describe(model: mujoco.MjModel, asset: Path) -> dict[str, Any]:
    """The model as IsaacGym's host reads it; `asset` is the file that IsaacGym loads the robot from.

    joints      name, kind (mjtJoint's name), first index in qpos and in qvel, in MuJoCo's order; of hinges and slides
                damping, armature, stiffness and the position at which the spring is at rest
    actuators   joint, gear, gain, bias and the limits of control and force: force = gain * ctrl +
                bias . (1, length, velocity)
    sites       body and position in it in m
    contacts    of each sensor of the world's net force on some bodies, in order: the bodies, and the fields of
                CONTACT_DATA that it reads, three numbers each
    other_sensors   names of all sensors of another kind
    self_collision  whether parts of what moves can touch each other
    trees       number of separate kinematic trees that move; a robot is one
    """
    contacts = {index: _describe_contact(model, index) for index in range(model.nsensor)}
    return {
        "asset": str(asset),
        "timestep": model.opt.timestep,
        "gravity": model.opt.gravity.tolist(),
        "qpos0": model.qpos0.tolist(),
        "joints": [_describe_joint(model, index) for index in range(model.njnt)],
        "actuators": [_describe_actuator(model, index) for index in range(model.nu)],
        "sites": [
            {"body": model.body(body).name, "position": position.tolist()}
            for body, position in zip(model.site_bodyid, model.site_pos, strict=True)
        ],
        "contacts": [contact for contact in contacts.values() if contact],
        "other_sensors": [model.sensor(index).name for index, contact in contacts.items() if not contact],
        "self_collision": _collides_with_itself(model),
        "trees": model.ntree,
    }


def _describe_joint(model: mujoco.MjModel, index: int) -> dict[str, Any]:
    joint = model.joint(index)
    kind = mujoco.mjtJoint(int(model.jnt_type[index])).name.removeprefix("mjJNT_").lower()
    qpos, qvel = int(joint.qposadr[0]), int(joint.dofadr[0])
    return {
        **{"name": joint.name, "kind": kind, "qpos": qpos, "qvel": qvel},
        "damping": float(model.dof_damping[qvel]),
        "armature": float(model.dof_armature[qvel]),
        "stiffness": float(model.jnt_stiffness[index]),
        "rest": float(model.qpos_spring[qpos]),
    }


def _describe_actuator(model: mujoco.MjModel, index: int) -> dict[str, Any]:
    on_joint = model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT
    control, force = model.actuator_ctrlrange[index], model.actuator_forcerange[index]
    return {
        "joint": model.joint(model.actuator_trnid[index, 0]).name if on_joint else None,
        "gear": float(model.actuator_gear[index, 0]),
        "gain": float(model.actuator_gainprm[index, 0]),
        "bias": model.actuator_biasprm[index, :3].tolist(),
        "control_range": control.tolist() if model.actuator_ctrllimited[index] else [-UNLIMITED, UNLIMITED],
        "force_range": force.tolist() if model.actuator_forcelimited[index] else [-UNLIMITED, UNLIMITED],
    }


def _describe_contact(model: mujoco.MjModel, index: int) -> dict[str, Any] | None:
    """What a sensor reads, if it is <contact reduce="netforce"/> of the world with a geom, a body or a subtree."""
    if model.sensor_type[index] != mujoco.mjtSensor.mjSENS_CONTACT:
        return None
    wanted, reduce, count = model.sensor_intprm[index]
    read = [name for name, bit in CONTACT_DATA.items() if wanted & 1 << bit]
    known = sum(1 << CONTACT_DATA[name] for name in read) == wanted
    of_world = _list_bodies(model, model.sensor_objtype[index], model.sensor_objid[index])[:1] == [0]
    if not known or not of_world or reduce != NETFORCE or count != 1:
        return None
    bodies = _list_bodies(model, model.sensor_reftype[index], model.sensor_refid[index])
    return {"bodies": [model.body(body).name for body in bodies], "data": read}


def _list_bodies(model: mujoco.MjModel, kind: int, index: int) -> list[int]:
    """The bodies that a contact sensor's geom (whose others may not touch anything), body or subtree stands for."""
    if kind == mujoco.mjtObj.mjOBJ_GEOM:
        return [int(model.geom_bodyid[index])]
    if kind == mujoco.mjtObj.mjOBJ_BODY:
        return [int(index)]
    inside = {int(index)}
    for body in range(index + 1, model.nbody):  # parents come before their children
        if model.body_parentid[body] in inside:
            inside.add(body)
    return sorted(inside)


def _collides_with_itself(model: mujoco.MjModel) -> bool:
    moving = np.flatnonzero(model.body_weldid[model.geom_bodyid] != 0)
    kinds, masks, bodies = model.geom_contype[moving], model.geom_conaffinity[moving], model.geom_bodyid[moving]
    touching = (kinds[:, None] & masks[None, :]) != 0
    return bool((touching & (bodies[:, None] != bodies[None, :])).any())
