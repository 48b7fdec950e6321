"""A task's MuJoCo model: for films (everything) and for physics (without what only viewers see).

Only viewers see geoms of group 2 and mocap bodies (targets, ghosts, arrows).
"""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np

from simulation import catalog

VISUAL_GROUP = 2
"""Geoms of this group are decoration: massless, without contacts."""

CAMERA = "track"
CAMERA_DISTANCES, CAMERA_FARTHER = 3.0, 2.0
"""How far a camera of a model without one is away: times the robot's reach, and times that at most."""


class ModelError(ValueError):
    """A task's model.xml cannot be used. The message names the file and its fault."""


def get_model_path(task: str) -> Path:
    """The task's MJCF. Raises ValueError on an unknown task."""
    return catalog.find_folder(task) / catalog.get_task(task).model_file


def build_visual_model(task: str) -> mujoco.MjModel:
    """The model with its decoration: for filming. Same qpos as `build_physics_model`, other ids of bodies and geoms.

    A model without a camera `track` gets one that sees its first body's robot from the side; one without light or sky
    gets those of Prefine's tasks. Raises ModelError where MuJoCo cannot compile it.
    """
    spec = _read_spec(task)
    model = _compile(spec, task)
    lacks_camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, CAMERA) < 0
    lacks_sky = mujoco.mjtTexture.mjTEXTURE_SKYBOX not in model.tex_type
    if lacks_camera:
        _add_camera(spec, model)
    if lacks_sky:
        _add_sky(spec)
    if not model.nlight:
        _add_light(spec)
    return _compile(spec, task) if lacks_camera or lacks_sky or not model.nlight else model


def build_physics_model(task: str) -> mujoco.MjModel:
    """The model without decoration, lights and cameras, whose kinematics would be computed in every step.

    Raises ModelError where MuJoCo cannot compile it, or where its time step is not the task's control step over its
    substeps.
    """
    info, spec = catalog.get_task(task), _read_spec(task)
    shown = [geom for geom in spec.geoms if geom.group == VISUAL_GROUP]
    meshes = {geom.meshname for geom in shown}
    for element in (*shown, *(body for body in spec.bodies if body.mocap), *spec.lights, *spec.cameras):
        spec.delete(element)
    meshes -= {geom.meshname for geom in spec.geoms}
    for mesh in [mesh for mesh in spec.meshes if mesh.name in meshes]:
        spec.delete(mesh)
    model = _compile(spec, task)
    if not math.isclose(model.opt.timestep * info.substeps, info.control_dt, rel_tol=1e-9):
        raise ModelError(
            f"{get_model_path(task)}: time step {model.opt.timestep} s x {info.substeps} substeps is not the control "
            f"step of {info.control_dt} s in info.py; change one of them"
        )
    return model


def _add_camera(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    """A camera that looks at the first body's robot, a little from above: CAMERA_DISTANCES times as far away as its
    reach, or farther, so that other things that move are seen where they begin.
    """
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    robot = model.body_rootid[model.geom_bodyid] == 1
    moves = model.body_weldid[model.geom_bodyid] > 0
    centre = data.subtree_com[1]
    reach = np.linalg.norm(data.geom_xpos - centre, axis=1) + model.geom_rbound
    nearest = float(reach[robot].max(initial=0.1))
    away = min(float(reach[robot | moves].max(initial=nearest)), CAMERA_FARTHER * nearest)
    position = centre + CAMERA_DISTANCES * away * np.array([0.0, -0.95, 0.3])
    body = spec.worldbody.first_body()
    body.name = body.name or "robot"
    body.add_camera(
        name=CAMERA,
        mode=mujoco.mjtCamLight.mjCAMLIGHT_TARGETBODYCOM,
        targetbody=body.name,
        pos=data.xmat[1].reshape(3, 3).T @ (position - data.xpos[1]),
    )


def _add_sky(spec: mujoco.MjSpec) -> None:
    """The sky of simulation/tasks/look.xml."""
    spec.add_texture(
        name="sky of a model without one",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.80, 0.88, 0.95],
        rgb2=[0.97, 0.97, 0.96],
        width=64,
        height=384,
    )


def _add_light(spec: mujoco.MjSpec) -> None:
    """The sun and the headlight of simulation/tasks/look.xml."""
    head = spec.visual.headlight
    head.ambient, head.diffuse, head.specular = [0.42, 0.42, 0.44], [0.26] * 3, [0.0] * 3
    spec.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=[0, 0, 6], dir=[0.35, 0.45, -0.85], diffuse=[0.62, 0.6, 0.56]
    )


def _read_spec(task: str) -> mujoco.MjSpec:
    try:
        return mujoco.MjSpec.from_file(str(get_model_path(task)))
    except ValueError as error:
        raise _make_model_error(task, error) from error


def _compile(spec: mujoco.MjSpec, task: str) -> mujoco.MjModel:
    try:
        return spec.compile()
    except ValueError as error:
        raise _make_model_error(task, error) from error


def _make_model_error(task: str, error: ValueError) -> ModelError:
    words = " ".join(str(error).split())
    return ModelError(f"{get_model_path(task)} is no model that MuJoCo can compile: {words}")
