"""K groups of M worlds of one task, stepped together."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from simulation import catalog, mujoco_models
from simulation.backends import choice
from simulation.backends.interface import Physics, StartPhysics
from simulation.noise import StepNoise
from simulation.robots.described import make_task
from simulation.worlds import Worlds


@dataclass(frozen=True)
class Step:
    """The result of one control step, each (num_envs,)."""

    terminated: Tensor
    """bool: the task ended the episode (a fall), or the world diverged."""
    truncated: Tensor
    """bool: the episode reached its last step or its goal without being terminated; its value goes on."""
    diverged: Tensor
    """bool: the physics failed; the world stands in the state in which its episode began."""
    metric: Tensor
    """float32: the hidden metric, zeros where the task has none."""
    metric_counts: Tensor
    """bool: the entries over which the metric is averaged."""


class Environment:
    """N = groups x worlds worlds of one task, group-major: group g owns rows g * worlds to (g + 1) * worlds.

    All noise is drawn once per step and seed and repeated for every group of that seed, so a group's history depends
    neither on the groups beside it nor on which worlds reset. It is drawn on the CPU, to be the same on every device.
    `seed` is that of all groups, or one for each.

    `device` is cpu or cuda:<index> (see `backends.choice.resolve_device`); `start` replaces that device's engine by
    another one. What it returns was made in PyTorch's inference mode: clone it before automatic differentiation.
    Raises ValueError on an unknown task.
    """

    def __init__(
        self,
        task: str,
        worlds: int,
        groups: int = 1,
        seed: int | Sequence[int] = 0,
        threads: int = 1,
        device: torch.device | str = "cpu",
        start: StartPhysics | None = None,
    ) -> None:
        self.info = catalog.get_task(task)
        self.model = mujoco_models.build_physics_model(task)
        self.worlds, self.groups = worlds, groups
        self.device = torch.device(device)
        self._context = contextlib.nullcontext() if self.device.type == "cpu" else self.device
        self._threads = threads
        self._start = start or choice.find_engine(str(device))
        self._task = make_task(self.info, self.model)
        _move(self._task, self.device)
        seeds = [seed] * groups if isinstance(seed, int) else seed
        self._source = StepNoise(seeds, worlds, self._task.noise_size)
        self._noise = self._draw()
        self._physics = self._start_physics()
        self._state = Worlds(self.num_envs, self._task.constants)
        self.reset()

    @property
    def num_envs(self) -> int:
        """Worlds of all groups."""
        return self.worlds * self.groups

    @property
    def obs_buf(self) -> Tensor:
        """Observations (num_envs, num_obs) of the current state."""
        return self._state.obs_buf

    @property
    def attributes(self) -> dict[str, Tensor | float]:
        """Every reward input of the task: per-world tensors (num_envs, ...), constant tensors, floats."""
        return {name: getattr(self._state, name) for name in self.info.inputs}

    def inputs(self, group: int) -> dict[str, Tensor | float]:
        """`attributes` with the rows of one group."""
        if self.groups == 1:
            return self.attributes
        rows, constants = slice(group * self.worlds, (group + 1) * self.worlds), self._task.constants
        values: dict[str, Any] = self.attributes
        return {name: value if name in constants else value[rows] for name, value in values.items()}

    @torch.inference_mode()  # without the bookkeeping for gradients, each of its many small operations takes 12% less
    def step(self, actions: Tensor) -> Step:
        """One control step with actions (num_envs, num_actions), clipped to [-1, 1].

        Worlds that ended are not reset: call `reset(terminated | truncated)` after using the final observation.
        """
        state = self._state
        self._noise = self._draw()
        state.noise = self._noise
        state.actions = actions.float().clamp(-1.0, 1.0)
        state.progress_buf = state.progress_buf + 1
        with self.on_device():
            diverged = None
            if not math.isfinite(state.actions.sum().item()):  # one test of all worlds, in the usual case
                diverged = torch.isnan(state.actions).any(1)
                state.actions = state.actions.nan_to_num(0.0)
            lost = self._physics.step(self._task.control(state))
            if lost is not None:
                diverged = torch.zeros(self.num_envs, dtype=torch.bool) if diverged is None else diverged
                diverged[lost] = True
            state.update(self._physics.read())
            self._task.observe(state)
            if diverged is not None:
                self._restart(torch.nonzero(diverged).squeeze(1))
            return self._outcome(diverged)

    @torch.inference_mode()
    def reset(self, mask: Tensor | None = None) -> None:
        """Begin a new episode in the worlds of `mask` (num_envs,) bool, or in all, and observe it."""
        with self.on_device():
            ids = torch.arange(self.num_envs) if mask is None else torch.nonzero(mask).squeeze(1)
            if len(ids) == 0:
                return
            qpos, qvel = self._task.start(self._noise[ids])
            self._begin(ids, qpos, qvel, torch.zeros(len(ids), dtype=torch.int64))

    def keep(self, groups: Sequence[int]) -> None:
        """Keep these groups only, in this order."""
        ids = torch.arange(self.num_envs, device=self.device).view(self.groups, -1)[list(groups)].flatten()
        physics = self._physics.state()[ids]
        self._state, self._noise = self._state.rows(ids), self._noise[ids]
        self._source.keep(groups)
        self.groups = len(groups)
        self._physics = self._start_physics()
        self._physics.load(physics)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue exactly, as tensors and plain values."""
        return {
            "task": self.info.name,
            "worlds": self.worlds,
            "groups": self.groups,
            "engine": self._physics.engine,
            "physics": self._physics.state(),
            "variables": {name: value.clone() for name, value in self._state.variables().items()},
            "noise": self._noise.clone(),
            "source": self._source.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`, with its number of groups, on this environment's device.

        Raises ValueError when task, worlds or engine differ.
        """
        if (state["task"], state["worlds"]) != (self.info.name, self.worlds):
            raise ValueError(
                f"the saved state is {state['worlds']} worlds a group of {state['task']}, this environment "
                f"{self.worlds} of {self.info.name}; build it with the same task and worlds"
            )
        if state["engine"] != self._physics.engine:
            raise ValueError(
                f"the saved state is {state['engine']}'s, this environment is stepped by {self._physics.engine}: "
                f"continue where it was saved, or start a new run"
            )
        self.groups = state["groups"]
        self._physics = self._start_physics()
        self._physics.load(state["physics"])
        variables = {name: value.to(self.device) for name, value in state["variables"].items()}
        self._state = Worlds(self.num_envs, self._task.constants, variables)
        self._noise = state["noise"].to(self.device, copy=True)
        self._source.load_state_dict(state["source"])

    def qpos(self, world: int) -> np.ndarray:
        """One world's generalised position (nq,), float64, in MuJoCo's order: for filming."""
        return self._physics.qpos(world)

    def mocap(self, world: int) -> np.ndarray:
        """Where one world's mocap bodies stand (nmocap, 7), position and quaternion xyzw: for filming."""
        if not hasattr(self._task, "mocap"):
            return np.empty((0, 7), dtype=np.float32)
        with self.on_device():
            poses: np.ndarray = self._task.mocap(self._state.rows(torch.tensor([world])))[0].cpu().numpy()
        return poses

    def poses(self, worlds: Tensor) -> Tensor:
        """Qpos and mocap poses of these worlds (n, nq + 7 nmocap), float32 on this device: for films of many."""
        with self.on_device():
            if not hasattr(self._task, "mocap"):
                return self._state.qpos[worlds]
            shown = self._state.rows(worlds)
            return torch.cat((shown.qpos, self._task.mocap(shown).flatten(1)), dim=1)

    def _start_physics(self) -> Physics:
        self._none_diverged = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        return self._start(self.model, self.num_envs, self.info.substeps, self._task.fields, self._threads)

    def on_device(self) -> contextlib.AbstractContextManager[Any]:
        """A context in which tensors that are made from numbers alone are on this environment's device."""
        return self._context

    def _draw(self) -> Tensor:
        """The noise of one step: uniform in [0, 1), (num_envs, noise_size)."""
        noise = self._source.next()
        if noise.device != self.device:
            noise = noise.to(self.device)  # before it is repeated, so that only one group's noise is moved
        return noise[0] if self.groups == 1 else noise.expand(self.groups, -1, -1).flatten(0, 1)

    def _begin(self, ids: Tensor, qpos: Tensor, qvel: Tensor, progress: Tensor) -> None:
        """Put worlds `ids` at the beginning of an episode and observe them."""
        self._physics.place(ids, qpos, qvel)
        fresh = Worlds(len(ids), self._task.constants, self._physics.read(ids))
        fresh.start_qpos, fresh.start_qvel, fresh.progress_buf = qpos, qvel, progress
        fresh.actions = torch.zeros(len(ids), self.info.num_actions)
        fresh.noise = self._noise[ids]
        self._task.begin(fresh)
        self._task.observe(fresh)
        self._state.replace_rows(ids, fresh)

    def _restart(self, ids: Tensor) -> None:
        """Put diverged worlds back where their episode began."""
        old = self._state.rows(ids)
        self._begin(ids, old.start_qpos, old.start_qvel, old.progress_buf)

    def _outcome(self, diverged: Tensor | None) -> Step:
        """The result of the step; `diverged` is None where no world diverged."""
        state = self._state
        terminated = self._task.terminated(state)
        if diverged is not None:
            terminated = terminated | diverged
        over = state.progress_buf >= self.info.episode_steps - 1
        if hasattr(self._task, "finished"):
            over = over | self._task.finished(state)
        truncated = over > terminated  # over and not terminated
        metric, counts = self._task.metric(state, terminated | truncated)
        if diverged is not None:
            return Step(terminated, truncated, diverged, metric, counts & ~diverged)
        return Step(terminated, truncated, self._none_diverged, metric, counts)


def _move(task: Any, device: torch.device) -> None:
    """Bring the tensors that a task keeps, and its constants, to the device."""
    for name, value in vars(task).items():
        if isinstance(value, Tensor):
            setattr(task, name, value.to(device))
    for name, value in task.constants.items():
        if isinstance(value, Tensor):
            task.constants[name] = value.to(device)
