"""The hidden half of a task that its `task.py` describes by functions alone, without a class.

How it starts and is driven comes from the model: the keyframe `home`, or its zero pose, with a little noise, and
actions that span each actuator's range.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import mujoco
import torch
from torch import Tensor

from simulation import bodies
from simulation.catalog import TaskInfo
from simulation.worlds import Worlds

START_NOISE = 0.01
"""rad, m, rad/s and m/s, at most, of every joint but a free or a ball joint."""


def make_task(info: TaskInfo, model: mujoco.MjModel) -> Any:
    """The `Task` of the task's folder, or a `DescribedTask` of its functions."""
    module = importlib.import_module(f"simulation.tasks.{info.folder}.task")
    return module.Task(model) if hasattr(module, "Task") else DescribedTask(info, model, module)


class DescribedTask:
    """A task of these functions: `terminated(env)`, `metric(env, ended)` and, in observations.py,
    `compute_observations(env)`; `begin(env)`, `FIELDS`, `start(qpos, qvel, noise)` and `COLUMNS` where the task needs
    them.

    Before `compute_observations` it sets `env.root_states` (n, 13) where the model's first joint is free, and
    `env.dof_pos` and `env.dof_vel` of the other joints, in the model's order.
    """

    def __init__(self, info: TaskInfo, model: mujoco.MjModel, module: ModuleType) -> None:
        self.terminated, self.metric = module.terminated, module.metric
        self.fields: tuple[str, ...] = tuple(getattr(module, "FIELDS", ()))
        self.constants: dict[str, Any] = {}
        self._compute = importlib.import_module(f"simulation.tasks.{info.folder}.observations").compute_observations
        self._begin = getattr(module, "begin", None)
        self._move_start = getattr(module, "start", None)
        home = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home")
        self._start_qpos = torch.from_numpy(model.qpos0 if home < 0 else model.key_qpos[home]).float()
        self._loose_qpos, self._loose_qvel = _find_loose(model)
        self._loose = len(self._loose_qpos) + len(self._loose_qvel)
        self.noise_size = self._loose + int(getattr(module, "COLUMNS", 0))
        self._free = bool(model.njnt and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE)
        self._nv = model.nv
        self._lower, self._upper = _find_control_range(model)

    def start(self, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Initial qpos (n, nq) and qvel (n, nv) from uniform noise (n, noise_size); the task's own `start` has its last
        columns.
        """
        moved = START_NOISE * (2.0 * noise[:, : self._loose] - 1.0)
        count = len(self._loose_qpos)
        qpos = self._start_qpos.repeat(len(noise), 1)
        qpos = qpos.index_add(1, self._loose_qpos, moved[:, :count])
        qvel = noise.new_zeros(len(noise), self._nv).index_add(1, self._loose_qvel, moved[:, count:])
        if self._move_start is not None:
            qpos, qvel = self._move_start(qpos, qvel, noise[:, self._loose :])
        return qpos, qvel

    def begin(self, env: Worlds) -> None:
        """What the task's own `begin` sets."""
        if self._begin is not None:
            self._begin(env)

    def control(self, env: Worlds) -> Tensor:
        """Each action from -1 to 1 spans its actuator's range (n, nu)."""
        return self._lower + 0.5 * (env.actions + 1.0) * (self._upper - self._lower)

    def observe(self, env: Worlds) -> None:
        """Variables and observations of the state reached."""
        if self._free:
            env.root_states = bodies.root_states(env.qpos, env.qvel)
        env.dof_pos = env.qpos[:, 7:] if self._free else env.qpos
        env.dof_vel = env.qvel[:, 6:] if self._free else env.qvel
        self._compute(env)


def _find_loose(model: mujoco.MjModel) -> tuple[Tensor, Tensor]:
    """The indices in qpos and in qvel of the joints that slide or turn about one axis."""
    loose = (model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE) | (model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE)
    return torch.from_numpy(model.jnt_qposadr[loose]).long(), torch.from_numpy(model.jnt_dofadr[loose]).long()


def _find_control_range(model: mujoco.MjModel) -> tuple[Tensor, Tensor]:
    """The controls that actions of -1 and 1 mean (nu,); -1 and 1 for an actuator without a range."""
    ranges = torch.from_numpy(model.actuator_ctrlrange).float()
    limited = torch.from_numpy(model.actuator_ctrllimited).bool()
    lower = torch.where(limited, ranges[:, 0], -torch.ones_like(ranges[:, 0]))
    return lower, torch.where(limited, ranges[:, 1], torch.ones_like(ranges[:, 1]))
