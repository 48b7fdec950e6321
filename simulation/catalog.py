"""Names, texts and presets of every task, without importing torch or mujoco.

A task is a folder whose `info.py` defines `INFO`, in `simulation/tasks/` or in a folder that PREFINE_TASKS names.
Nothing else registers it.
"""

from __future__ import annotations

import ast
import importlib
import logging
import traceback
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from simulation import names
from simulation.tasks import OWN_FOLDERS

log = logging.getLogger(__name__)
TASKS_FOLDER = Path(__file__).parent / "tasks"
OWN_FILES = ("observations.py", "task.py", "reference.py")
"""What a task outside this repository has beside its info.py and its model."""
PRESETS = {
    "quick": "Quick: PPO, two CPU cores",
    "long": "Long: PPO, minutes for each policy",
    "paper": "Paper: PPO, the published settings",
    "quick-sac": "Quick with SAC: small tasks",
    "paper-sac": "Paper with SAC: settings of RDA",
}
"""Every preset's name and title; not every task has every one."""
ALGORITHMS = ("ppo", "sac")
SUCCESS = "share of episodes"
"""How the metric of a task with a success test begins."""
KINDS = ("Locomotion", "Balance and flight", "Hands", "Two hands", "Humanoid at work", "Arm at a table or cabinet")
"""The groups of Prefine's own tasks, in the order in which forms list them."""


@dataclass(frozen=True)
class _Amounts:
    """What both algorithms share. All counts are per candidate."""

    worlds: int
    """Parallel worlds of one candidate (M)."""
    horizon: int
    """Control steps collected per world and iteration."""
    iterations: int

    @property
    def samples(self) -> int:
        """Environment steps one candidate is trained on."""
        return self.worlds * self.horizon * self.iterations

    @property
    def states(self) -> int:
        """States of a horizon, for which a reward is called at once."""
        return self.worlds * self.horizon


@dataclass(frozen=True)
class Preset(_Amounts):
    """PPO settings of a task."""

    algorithm: ClassVar[str] = "ppo"
    epochs: int
    minibatches: int
    hidden: tuple[int, ...]
    activation: str = "elu"
    learning_rate: float = 3e-4
    kl_target: float = 0.008
    reward_scale: float = 1.0
    initial_std: float = 1.0
    entropy_weight: float = 0.0
    """It falls to nothing over the last fifth, so that what needs a steady hand can be learned in the end."""
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    bounds_weight: float = 1e-4


@dataclass(frozen=True)
class SacPreset(_Amounts):
    """Settings of soft actor-critic with SimbaV2's networks for a task."""

    algorithm: ClassVar[str] = "sac"
    updates: int
    """Steps of all optimisers per iteration."""
    batch: int = 256
    """Samples of such a step."""
    replay: int = 1_000_000
    """Newest samples that are learned from."""
    learning_starts: int = 5000
    """Samples to have before the first step."""
    actor_width: int = 128
    actor_blocks: int = 1
    critic_width: int = 512
    critic_blocks: int = 2
    learning_rate: float = 1e-4
    """At the beginning; it falls linearly to a tenth."""
    gamma: float = 0.99
    target_rate: float = 0.005
    """What the target critics take over of the critics in each step."""
    initial_temperature: float = 0.01


AnyPreset = Preset | SacPreset

SAC_TABLETOP = SacPreset(
    worlds=2048, horizon=4, iterations=6104, updates=41, batch=4096, learning_rate=3e-4, gamma=0.95
)
"""RDA's numbers for tabletop tasks, here for all that do not walk: 50 million steps, 2 048 worlds, 250 000 updates."""
SAC_HUMANOIDS = SacPreset(worlds=16, horizon=16, iterations=39_063, updates=16, gamma=0.98)
"""RDA's numbers for humanoids, here for all that walk: 10 million steps in 16 worlds, 625 000 updates."""


QUICK_LEGGED = Preset(
    worlds=64,
    horizon=32,
    iterations=1000,
    epochs=5,
    minibatches=2,
    hidden=(128, 128),
    activation="silu",
    kl_target=0.02,
    reward_scale=0.1,
    initial_std=0.5,
    gamma=0.98,
)
"""Quick PPO for ant and humanoid; each task has iterations of its own."""
LONG_LEGGED = replace(QUICK_LEGGED, worlds=128, iterations=1500, minibatches=4, kl_target=0.015, gamma=0.99)
"""Longer PPO for ant and humanoid, where more minutes are worth it."""


@dataclass(frozen=True)
class TaskInfo:
    """Everything about a task that can be said without simulating it."""

    name: str
    """The name in the papers: Cartpole, Ant, Humanoid, HumanoidJump."""
    folder: str
    """The name of its folder."""
    sentence: str
    """What the robot should do, in plain words, for participants: "The robot should run forward as fast as it can."."""
    question: str
    """What an evaluator of two robots is asked: "Which robot runs forward faster?"."""
    description: str
    """The task text that a language model is shown."""
    num_obs: int
    num_actions: int
    control_dt: float
    """Seconds per control step."""
    substeps: int
    """Physics steps per control step."""
    episode_steps: int
    inputs: dict[str, str]
    """Reward inputs, in order: name -> "Tensor (num_envs, 13)" or "float"."""
    metric: str | None
    """What the hidden metric measures, with its unit; None where people decide alone."""
    presets: dict[str, AnyPreset] = field(default_factory=dict)
    """By name: quick, long where minutes more are worth it, and paper (PPO); quick-sac and paper-sac."""
    clip_seconds: float = 10.0
    reasons_best: tuple[str, ...] = ()
    """Reasons for the best that a page offers as buttons; a study may have its own. Empty: general ones."""
    reasons_worst: tuple[str, ...] = ()
    """Reasons for the worst, likewise."""
    metric_row: str = ""
    """The row of the reward trace that is the hidden metric itself, number for number ("episode_length" where episodes
    are to last); outcomes are without it, so that no prompt shows it. Empty where there is none."""
    final_metric: bool = False
    """The metric is known only where an episode ends. A share of episodes, and `metric_row`, say so by themselves."""
    average_over_worlds: bool = False
    """The metric of an interval is the mean of all worlds' last episodes. For a task whose successes end an episode
    early: of the episodes that end within a short interval nearly all would be successes."""
    model_file: str = "model.xml"
    """The file of its folder that MuJoCo reads."""
    kind: str = "Your own"
    """The group under which forms list it."""
    revision: int = 1
    """Raised when physics, starts, metric or a variable that was there change: scores before and after are told
    apart."""

    @property
    def metric_at_end(self) -> bool:
        """Whether the metric is known only where an episode ends."""
        return self.final_metric or bool(self.metric_row) or (self.metric or "").startswith(SUCCESS)


@cache
def list_tasks() -> dict[str, TaskInfo]:
    """Every task by name: Prefine's in the order of their folders, then those of PREFINE_TASKS.

    A task of one's own that cannot be read is left out, and the log says why: the others go on.
    """
    folders = sorted(p.parent.name for p in TASKS_FOLDER.glob("*/info.py"))
    infos = (importlib.import_module(f"simulation.tasks.{folder}.info").INFO for folder in folders)
    known = {info.name: info for info in infos}
    for folder in list_own_folders():
        try:
            info = read_own_info(folder, known)
        except ValueError as error:
            log.error("A task of PREFINE_TASKS is left out: %s", error)
        else:
            known[info.name] = info
    return known


def group_tasks() -> dict[str, list[str]]:
    """The names of all tasks by kind; those of PREFINE_TASKS come last."""
    groups: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name, info in list_tasks().items():
        groups.setdefault(info.kind, []).append(name)
    return {kind: names for kind, names in groups.items() if names}


def list_own_folders() -> list[Path]:
    """The folders of tasks outside this repository."""
    return [path.parent for own in OWN_FOLDERS for path in sorted(own.glob("*/info.py"))]


def read_own_info(folder: Path, known: Collection[str]) -> TaskInfo:
    """What the `info.py` of such a folder says. Raises ValueError with the reason where it cannot be used."""
    if not folder.name.isidentifier() or (TASKS_FOLDER / folder.name).exists():
        raise ValueError(f"{folder}: name the folder with letters, digits and _, and unlike Prefine's own tasks")
    try:
        info = importlib.import_module(f"simulation.tasks.{folder.name}.info").INFO
    except Exception as error:  # whatever a file of somebody else's raises
        raise ValueError(describe_failure(folder / "info.py", error)) from error
    if not isinstance(info, TaskInfo) or info.folder != folder.name:
        raise ValueError(f"{folder / 'info.py'}: INFO must be a TaskInfo whose folder is {folder.name!r}")
    if "quick" not in info.presets:
        raise ValueError(f"{folder / 'info.py'}: presets needs one named quick")
    for name in (info.model_file, *OWN_FILES):
        if not (folder / name).is_file():
            raise ValueError(f"{folder} lacks {name}")
    if info.name.casefold() in (name.casefold() for name in known):
        raise ValueError(f"{folder / 'info.py'}: there is a task {info.name!r} already; choose another name")
    return info


def import_own_modules(name: str) -> None:
    """Import what a task outside this repository needs, for a process that cannot import it later."""
    info = get_task(name)
    if find_folder(name).parent != TASKS_FOLDER:
        for part in ("task", "observations"):
            importlib.import_module(f"simulation.tasks.{info.folder}.{part}")


def describe_failure(file: Path, error: Exception) -> str:
    """What a task's file raised, and in which of its lines."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return f"{file}{f', line {line}' if line else ''}: {type(error).__name__}: {error}"


def find_folder(name: str) -> Path:
    """The task's folder. Raises ValueError on an unknown task."""
    folder = get_task(name).folder
    return next(path for path in (TASKS_FOLDER / folder, *(own / folder for own in OWN_FOLDERS)) if path.is_dir())


def get_task(name: str) -> TaskInfo:
    """The task of this name. Raises ValueError naming the known ones."""
    if name not in list_tasks():
        raise ValueError(names.describe_unknown("task", name, list_tasks()))
    return list_tasks()[name]


def find_task_name(text: str) -> str:
    """The task's name that a person typed in any case. Raises ValueError naming the known ones."""
    return names.find_name("task", text, list_tasks())


def get_preset(task_name: str, preset_name: str) -> AnyPreset:
    """A task's preset. Raises ValueError naming the known ones."""
    presets = get_task(task_name).presets
    if preset_name not in presets:
        raise ValueError(names.describe_unknown("preset", preset_name, presets, task_name))
    return presets[preset_name]


def find_preset_name(task_name: str, text: str, algorithm: str) -> str:
    """The name of a task's preset that a person typed in any case: quick with sac is quick-sac. Raises ValueError."""
    name = text if algorithm == "ppo" or text.lower().endswith(algorithm) else f"{text}-{algorithm}"
    return names.find_name("preset", name, get_task(task_name).presets, task_name)


def match_preset(task_name: str, preset_name: str, algorithm: str) -> str:
    """The task's preset of this algorithm that goes with another: quick-sac with quick. That other if there is none,
    or if any algorithm will do ("").
    """
    own = f"{preset_name}-{algorithm}"
    return own if own in get_task(task_name).presets else preset_name


def describe_presets() -> str:
    """Every task with its presets, a line each, for the help of commands."""
    lines = [f"  {name:<20} {', '.join(info.presets)}" for name, info in list_tasks().items()]
    return "\n".join(["tasks and their presets:", *lines])


def find_upright_policy(name: str, preset: str) -> Path | None:
    """The task's policy that stays up and does nothing else, if it has one that fits this preset's networks."""
    path = find_folder(name) / "upright.pt"
    wanted, trained_with = get_task(name).presets.get(preset), get_task(name).presets.get("quick")
    if not (path.exists() and isinstance(wanted, Preset) and isinstance(trained_with, Preset)):
        return None
    same = (wanted.hidden, wanted.activation) == (trained_with.hidden, trained_with.activation)
    return path if same else None


def list_upright_tasks() -> list[str]:
    """The tasks that have a policy that stays up."""
    return [name for name in list_tasks() if find_upright_policy(name, "quick")]


def read_observation_source(name: str) -> str:
    """The text of the task's observations.py: what a language model is shown, and nothing more."""
    return (find_folder(name) / "observations.py").read_text()


def read_success_source(name: str) -> str:
    """The code of the task's success test, with all of the task that it calls and the constants that these read; empty
    where its metric is no success.
    """
    if not (get_task(name).metric or "").startswith(SUCCESS):
        return ""
    body = _read_statements(find_folder(name) / "task.py")
    methods = {node.name: node for part in body for node in ast.walk(part) if isinstance(node, ast.FunctionDef)}
    test = methods.get("succeeded") or methods.get("metric")
    if test is None:
        return ""
    shown = [test]
    for part in shown:  # it grows meanwhile
        named = (getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(part))
        shown += [methods[one] for one in dict.fromkeys(named) if one in methods and methods[one] not in shown]
    read = {node.id for part in shown for node in ast.walk(part) if isinstance(node, ast.Name)}
    constants = [node for node in body if isinstance(node, ast.Assign | ast.AnnAssign) and read & _list_names(node)]
    return "\n".join(dict.fromkeys(map(ast.unparse, [*constants, *shown])))


def _read_statements(file: Path) -> list[ast.stmt]:
    """The statements of a task's file, those of a task that it builds on first."""
    found: list[ast.stmt] = []
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("simulation.tasks."):
            other = file.parent.parent / node.module.split(".")[2] / "task.py"
            found += _read_statements(other) if node.module.endswith(".task") and other.is_file() else []
        found.append(node)
    return found


def _list_names(node: ast.Assign | ast.AnnAssign) -> set[str]:
    """The names that a statement assigns to."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def read_reference_reward(name: str) -> str:
    """The human-written reward of the task, as a candidate's source."""
    return (find_folder(name) / "reference.py").read_text()


def read_sparse_reward(name: str) -> str:
    """A reward of 1 in the states in which the task is solved, else 0; empty where the task has none."""
    file = find_folder(name) / "sparse.py"
    return file.read_text() if file.exists() else ""
