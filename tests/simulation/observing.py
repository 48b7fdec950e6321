"""A legged robot's variables in a state worked out by hand."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import mujoco
import torch

from simulation import catalog, mujoco_models
from simulation.worlds import Worlds

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
STILL = (0.0, 0.0, 0.0)


def compute_variables(
    task: str,
    position: Sequence[float],
    quat: Sequence[float] = UPRIGHT,
    linear: Sequence[float] = STILL,
    angular: Sequence[float] = STILL,
    dof_pos: Sequence[float] | float = 0.0,
    dof_vel: Sequence[float] | float = 0.0,
    ctrl: Sequence[float] | float = 0.0,
) -> Worlds:
    """One world's variables in this state of MuJoCo's: quaternion wxyz, angular velocity in the body's frame."""
    model = mujoco_models.build_physics_model(task)
    data = mujoco.MjData(model)
    data.qpos[:3], data.qpos[3:7], data.qpos[7:] = position, quat, dof_pos
    data.qvel[:3], data.qvel[3:6], data.qvel[6:] = linear, angular, dof_vel
    data.ctrl[:] = ctrl
    mujoco.mj_forward(model, data)
    definition = importlib.import_module(f"simulation.tasks.{catalog.get_task(task).folder}.task").Task(model)
    env = Worlds(1, definition.constants)
    for name in ("qpos", "qvel", *definition.fields):
        setattr(env, name, torch.tensor(getattr(data, name))[None].float())
    env.actions = torch.tensor(data.ctrl)[None].float()
    env.start_qpos = torch.from_numpy(model.qpos0)[None].float()
    definition.begin(env)
    definition.observe(env)
    return env
