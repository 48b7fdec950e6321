"""`./prefine check-task`: what a task of one's own still lacks, its speed, and a film of it."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import ModuleType

import numpy as np
import torch

from simulation import catalog, film, mujoco_models
from simulation.backends import choice
from simulation.catalog import TaskInfo
from simulation.environment import Environment
from simulation.opengl import FilmError
from simulation.renderer import RolloutRenderer
from simulation.rewards import sandbox
from simulation.rollout import write_rollout
from simulation.tasks import OWN_FOLDERS, add_own_folder

FUNCTIONS = {"observations.py": ("compute_observations",), "task.py": ("terminated", "metric")}
"""What a task of functions alone defines."""
WORLDS, STEPS = 64, 200
"""Worlds and steps in which random actions try the task."""
SPEED_WORLDS, ROUNDS, ROUND_STEPS = 256, 5, 20
"""Worlds, rounds, and steps of each, in which the task's speed is measured. Few worlds would measure the overhead of
single calls."""


class Unusable(Exception):
    """The folder holds no task that can be used. The text says what to change."""


def main(arguments: list[str] | None = None) -> int:
    """Check the folder of a task: say what is missing, step it, measure its speed, film it. 0 when it can be used."""
    parser = argparse.ArgumentParser(prog="./prefine check-task", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="info.py, the model, observations.py, task.py, reference.py")
    parser.add_argument("--film", type=Path, metavar="FILE", help="where the film goes (FOLDER/check.mp4)")
    options = parser.parse_args(arguments)
    folder = options.folder.expanduser().resolve()
    try:
        for line in check_task(folder, options.film or folder / "check.mp4"):
            print(line, flush=True)
    except Unusable as error:
        print(f"not yet: {error}", file=sys.stderr)
        return 1
    return 0


def check_task(folder: Path, clip: Path) -> Iterator[str]:
    """What was found, a line each. Raises Unusable at the first fault without which the rest cannot be checked."""
    require_files(folder)
    info = read_info(folder)
    yield f"info.py: {info.name}; {info.num_obs} observations, {info.num_actions} actions, {len(info.inputs)} inputs"
    yield from check_model(info)
    require_functions(info)
    yield from step_task(info)
    yield check_reference(info)
    yield measure_speed(info)
    yield film_task(info, clip)
    yield f"{info.name} can be used. Start the site and every worker with PREFINE_TASKS={folder.parent}"


def require_files(folder: Path) -> None:
    """Raises Unusable naming all files that are not there."""
    if not folder.is_dir():
        raise Unusable(f"there is no folder {folder}")
    missing = [name for name in ("info.py", *catalog.OWN_FILES) if not (folder / name).is_file()]
    if missing:
        raise Unusable(f"{folder} lacks {', '.join(missing)}; docs/add-a-task.md shows a whole task")


def read_info(folder: Path) -> TaskInfo:
    """The task's INFO, read as the site reads it. Raises Unusable."""
    if folder.parent not in OWN_FOLDERS:
        add_own_folder(folder.parent)
    others = [name for name, info in catalog.list_tasks().items() if info.folder != folder.name]
    try:
        info = catalog.read_own_info(folder, others)
    except ValueError as error:
        raise Unusable(str(error)) from error
    if not any("num_envs" in kind for kind in info.inputs.values()):
        raise Unusable('info.py: inputs has no tensor with a row per world, such as "Tensor (num_envs, 3)"')
    return info


def check_model(info: TaskInfo) -> Iterator[str]:
    """The model's size, and what is odd about it. Raises Unusable."""
    try:
        shown = mujoco_models.build_visual_model(info.name)
        physics = mujoco_models.build_physics_model(info.name)
    except mujoco_models.ModelError as error:
        raise Unusable(f"{error}. Geoms of group 2 are decoration, which physics leaves out.") from error
    yield f"{info.model_file}: {physics.nq} positions, {physics.nu} actuators, {physics.ngeom} geoms in the physics"
    lost = float(shown.body_mass.sum() - physics.body_mass.sum())
    if abs(lost) > 1e-6 * float(shown.body_mass.sum()):
        raise Unusable(
            f"{info.model_file}: geoms of group 2 are decoration, which physics leaves out, but they weigh {lost:.3g} "
            f"kg: give their bodies an <inertial>, or the geoms another group"
        )
    if not hasattr(import_part(info, "task.py"), "Task") and physics.nu != info.num_actions:
        raise Unusable(f"{info.model_file} has {physics.nu} actuators, info.py says num_actions={info.num_actions}")


def import_part(info: TaskInfo, name: str) -> ModuleType:
    """A file of the task's folder as a module. Raises Unusable with the line at which it fails."""
    try:
        return importlib.import_module(f"simulation.tasks.{info.folder}.{name.removesuffix('.py')}")
    except Exception as error:  # whatever somebody's file raises
        raise Unusable(catalog.describe_failure(catalog.find_folder(info.name) / name, error)) from error


def require_functions(info: TaskInfo) -> None:
    """Raises Unusable naming the functions that are not there."""
    for name, functions in FUNCTIONS.items():
        module = import_part(info, name)
        missing = [function for function in functions if not callable(getattr(module, function, None))]
        if missing and not hasattr(module, "Task"):
            raise Unusable(f"{name} lacks {' and '.join(missing)}; docs/add-a-task.md says what each returns")


def step_task(info: TaskInfo) -> Iterator[str]:
    """Begin episodes and step them with random actions. Raises Unusable where a function does not keep its word."""
    ends = diverged = 0
    counted = meanwhile = False
    with blame_task_files(info):
        env = Environment(info.name, WORLDS)
        require_inputs(info, env)
        for _ in range(STEPS):
            step = env.step(2 * torch.rand(WORLDS, info.num_actions) - 1)
            require_outcome("terminated", step.terminated, torch.bool)
            require_outcome("metric", step.metric, torch.float32)
            ends, diverged = ends + int(step.terminated.sum()), diverged + int(step.diverged.sum())
            ended = step.terminated | step.truncated
            counted |= bool(step.metric_counts.any())
            meanwhile |= bool((step.metric_counts & ~ended).any())
            env.reset(ended)
    if not torch.isfinite(env.obs_buf).all():
        raise Unusable("observations.py: obs_buf is not finite after random actions")
    if diverged > 0.01 * STEPS * WORLDS:
        raise Unusable(f"{info.model_file}: the physics diverges; use a smaller timestep, or more damping or armature")
    yield f"{STEPS} steps of {WORLDS} worlds with random actions: {ends} falls, {diverged} steps that diverged"
    if counted and info.metric_at_end is meanwhile:
        where = "in steps that end no episode" if meanwhile else "only where an episode ends"
        how = "name no share of episodes as its metric" if meanwhile else "set final_metric=True"
        yield f"task.py: the metric counts {where}, but info.py says otherwise: {how}"


@contextmanager
def blame_task_files(info: TaskInfo) -> Iterator[None]:
    """Turns what the task's own files raise into Unusable, with file and line."""
    try:
        yield
    except Unusable:
        raise
    except Exception as error:  # whatever somebody's files raise
        folder = catalog.find_folder(info.name)
        files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
        own = [file for file in files if file.parent == folder]
        if own:
            raise Unusable(catalog.describe_failure(own[-1], error)) from error
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = catalog.describe_failure(folder, error)
        raise Unusable(f"{said} (at {last.filename}, line {last.lineno}, with what these files return)") from error


def require_inputs(info: TaskInfo, env: Environment) -> None:
    """Raises Unusable where observations or a reward input are not there or have another shape than info.py says."""
    if env.obs_buf.shape != (WORLDS, info.num_obs):
        raise Unusable(f"observations.py: obs_buf is {tuple(env.obs_buf.shape)}, info.py says num_obs={info.num_obs}")
    for name, kind in info.inputs.items():
        value = env.attributes[name]
        shape = kind.removeprefix("Tensor ").replace("num_envs", str(WORLDS))
        if isinstance(value, torch.Tensor) and str(tuple(value.shape)) != shape:
            raise Unusable(f"observations.py: env.{name} is {tuple(value.shape)}, info.py says {kind}")


def require_outcome(function: str, value: torch.Tensor, kind: torch.dtype) -> None:
    """Raises Unusable where the function's tensor has another shape or type than (num_envs,) of `kind`."""
    if value.shape != (WORLDS,) or value.dtype != kind:
        raise Unusable(f"task.py: {function} gives {tuple(value.shape)} {value.dtype}, not ({WORLDS},) {kind}")


def check_reference(info: TaskInfo) -> str:
    """The verdict on the task's own reward."""
    verdict = sandbox.check(info.name, [catalog.read_reference_reward(info.name)])[0]
    if not verdict.ok:
        raise Unusable(f"reference.py ({verdict.stage}): {verdict.reason}")
    return "reference.py: it runs"


def measure_speed(info: TaskInfo) -> str:
    """Control steps in a second of one core beside those of the physics alone: the medians of ROUNDS in turn."""
    env = Environment(info.name, SPEED_WORLDS)
    bare = choice.find_engine("cpu")(env.model, SPEED_WORLDS, info.substeps, (), 1)
    actions, controls = torch.zeros(SPEED_WORLDS, info.num_actions), torch.zeros(SPEED_WORLDS, env.model.nu)
    whole, alone = [], []
    for _ in range(ROUNDS):
        env.reset()
        bare.load(env.state_dict()["physics"])
        whole.append(measure_seconds(lambda: env.step(actions)))
        alone.append(measure_seconds(lambda: bare.step(controls)))
    ratio = median(one / other for one, other in zip(alone, whole, strict=True))
    rate = SPEED_WORLDS * ROUND_STEPS / median(whole)
    return (
        f"{rate:,.0f} control steps in a second of one core, in {SPEED_WORLDS} worlds: {ratio:.0%} of what the physics "
        f"alone does (Prefine's own tasks: 85% or more)"
    )


def measure_seconds(step: Callable[[], object]) -> float:
    """Processor time of ROUND_STEPS calls, which other work on the machine changes little."""
    began = time.process_time()
    for _ in range(ROUND_STEPS):
        step()
    return time.process_time() - began


def film_task(info: TaskInfo, clip: Path) -> str:
    """A clip of the policy that does nothing (actions of 0), from the first start."""
    env, frames = Environment(info.name, 1), round(info.clip_seconds / info.control_dt) + 1
    qpos, mocap, restart = [], [], []
    began = True
    for _ in range(frames):
        qpos.append(env.qpos(0))
        mocap.append(env.mocap(0))
        restart.append(began)
        step = env.step(torch.zeros(1, info.num_actions))
        began = bool((step.terminated | step.truncated).item())
        env.reset(step.terminated | step.truncated)
    with tempfile.TemporaryDirectory() as folder:
        rollout = Path(folder, "rollout.npz")
        write_rollout(rollout, info.name, np.array(qpos), info.control_dt, np.array(restart), np.array(mocap))
        renderers: dict[str, RolloutRenderer] = {}
        try:
            film.film(rollout, clip, renderers)
        except (OSError, FilmError) as error:
            raise Unusable(f"it cannot be filmed to {clip}: {error}") from error
        renderers[info.name].close()
    return f"film: {clip}, {info.clip_seconds:g} s of actions of 0; look whether the robot stays in the picture"


if __name__ == "__main__":
    sys.exit(main())
