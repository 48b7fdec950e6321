"""The work behind the double's calls: MuJoCo, one world after the other. Not part of the real package."""

from __future__ import annotations

import mujoco
import numpy as np
import torch


def prepare(sim, properties):
    """Simulate as the actors' properties say."""
    model = sim.asset.model
    model.opt.timestep, model.opt.gravity[2] = sim.parameters.dt, sim.parameters.gravity.z
    model.jnt_stiffness[:] = 0.0
    model.actuator_gainprm[:], model.actuator_biasprm[:] = 0.0, 0.0
    dofs = model.jnt_dofadr[sim.asset.dofs]
    model.dof_damping[dofs], model.dof_armature[dofs] = properties["damping"], properties["armature"]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    sim.prepared = True
    for world in sim.worlds:
        mujoco.mj_forward(model, world)
    names = [name for name in READ if name != "sensors" or sim.asset.sensors]
    sim.tensors = {name: READ[name](sim) for name in names}


def simulate(sim):
    """Take over what was written, and advance by a step."""
    model = sim.asset.model
    qpos, qvel = model.jnt_qposadr[sim.asset.dofs], model.jnt_dofadr[sim.asset.dofs]
    for name, (rows, actors) in sim.pending.items():
        for world in actors:
            data, row = sim.worlds[world], rows[world].double().numpy()
            if name == "dofs":
                data.qpos[qpos], data.qvel[qvel] = row.reshape(-1, 2).T
            elif len(sim.asset.dofs) < model.njnt:
                data.qpos[:3], data.qpos[3:7] = row[:3], np.roll(row[3:7], 1)
                data.qvel[:3], data.qvel[3:6] = row[7:10], _matrix(data.qpos[3:7]).T @ row[10:13]
    effort = sim.pending["effort"][0].double().numpy()
    sim.pending = {}
    for data, forces in zip(sim.worlds, effort, strict=True):
        data.qfrc_applied[qvel] = forces
        mujoco.mj_step(model, data)


def _matrix(quaternion):
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def _all(read):
    return lambda sim: torch.tensor(np.array([read(sim, data) for data in sim.worlds]), dtype=torch.float32)


def _root(sim, data):
    if len(sim.asset.dofs) == sim.asset.model.njnt:
        return np.concatenate((np.zeros(6), [1.0], np.zeros(6)))
    spin = _matrix(data.qpos[3:7]) @ data.qvel[3:6]
    return np.concatenate((data.qpos[:3], np.roll(data.qpos[3:7], -1), data.qvel[:3], spin))


def _dofs(sim, data):
    model, dofs = sim.asset.model, sim.asset.dofs
    return np.stack((data.qpos[model.jnt_qposadr[dofs]], data.qvel[model.jnt_dofadr[dofs]]), axis=1)


def _bodies(sim, data):
    still = np.zeros((len(data.xpos) - 1, 6))
    return np.concatenate((data.xpos[1:], np.roll(data.xquat[1:], -1, axis=1), still), axis=1)


def _wrenches(sim, data):
    """Force on, and torque about the origin of, every body (nbody, 6)."""
    model, found = sim.asset.model, np.zeros((sim.asset.model.nbody, 6))
    for index, contact in enumerate(data.contact):
        wrench = np.empty(6)
        mujoco.mj_contactForce(model, data, index, wrench)
        frame = contact.frame.reshape(3, 3)
        for sign, geom in ((-1, contact.geom[0]), (1, contact.geom[1])):
            body = model.geom_bodyid[geom]
            force = sign * (frame.T @ wrench[:3])
            torque = sign * (frame.T @ wrench[3:]) + np.cross(contact.pos - data.xpos[body], force)
            found[body] += np.concatenate((force, torque))
    return found


READ = {
    "root": _all(_root),
    "dofs": _all(_dofs),
    "bodies": _all(_bodies),
    "contacts": _all(lambda sim, data: _wrenches(sim, data)[1:, :3]),
    "sensors": _all(lambda sim, data: _wrenches(sim, data)[sim.asset.sensors]),
}
