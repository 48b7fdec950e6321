"""A task's MuJoCo model: as filmed (everything) and as stepped (without what is only there to be looked at).

Geoms of group 2 and mocap bodies (targets, ghosts, arrows) are only there to be looked at.
"""

from __future__ import annotations

import math
from pathlib import Path

import mujoco

from simulation import catalog

VISUAL_GROUP = 2
"""Geoms of this group are decoration: massless, without contacts."""


def model_path(task: str) -> Path:
    """The task's MJCF. Raises ValueError on an unknown task."""
    return catalog.TASKS_FOLDER / catalog.task(task).folder / "model.xml"


def visual_model(task: str) -> mujoco.MjModel:
    """The model with its decoration: for filming. Same qpos as `physics_model`, other ids of bodies and geoms."""
    return mujoco.MjModel.from_xml_path(str(model_path(task)))


def physics_model(task: str) -> mujoco.MjModel:
    """The model without decoration, lights and cameras, whose kinematics would be computed in every step.

    Raises ValueError when the model's time step is not the task's control step over its substeps.
    """
    info = catalog.task(task)
    spec = mujoco.MjSpec.from_file(str(model_path(task)))
    for geom in list(spec.geoms):
        if geom.group == VISUAL_GROUP:
            spec.delete(geom)
    for element in (*(body for body in spec.bodies if body.mocap), *spec.lights, *spec.cameras):
        spec.delete(element)
    model = spec.compile()
    if not math.isclose(model.opt.timestep * info.substeps, info.control_dt, rel_tol=1e-9):
        raise ValueError(
            f"{model_path(task)}: time step {model.opt.timestep} s x {info.substeps} substeps is not the control step "
            f"of {info.control_dt} s in info.py; change one of them"
        )
    return model
