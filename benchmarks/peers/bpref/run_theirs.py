"""Train with the public code of B-Pref or SURF on gymnasium's HalfCheetah, from a checkout that stays as it is.

    python run_theirs.py CHECKOUT OUT [--program train_PEBBLE] [NAME=VALUE ...]

Run it with the interpreter of an environment of its own (README.md beside this file says what to install). Their code
was written for hydra 0.11, dm_control, Meta-World and a GPU: what is missing is stood in for, and one environment and
the device are replaced. `NAME=VALUE` are their own settings, as their scripts give them.

OUT gets their train.csv and eval.csv, and cost.json: processor seconds without evaluations, and those of evaluations.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import gymnasium
import torch
import torch._dynamo  # before modules are stood in for: it looks for some of them
from omegaconf import OmegaConf

STOOD_IN = (
    "gym",
    "gym.wrappers",
    "gym.wrappers.time_limit",
    "dmc2gym",
    "metaworld",
    "metaworld.envs",
    "metaworld.envs.mujoco",
    "metaworld.envs.mujoco.env_dict",
    "rlkit",
    "rlkit.envs",
    "rlkit.envs.wrappers",
    "skimage",
    "skimage.util",
    "skimage.util.shape",
    "scipy",
    "scipy.stats",
    "tqdm",
    "termcolor",
    "torch.utils.tensorboard",
)
"""What they import and a run here does not need."""
TASK = "HalfCheetah-v5"
REWARD_MODELS = ("reward_model", "reward_model_semi_dataaug")


class Cheetah:
    """Gymnasium's environment with the calls of an earlier gym."""

    def __init__(self, seed: int) -> None:
        self._env = gymnasium.make(TASK)
        self._seed: int | None = seed
        self.observation_space, self.action_space = self._env.observation_space, self._env.action_space
        self.action_space.seed(seed)
        assert self._env.spec is not None
        self._max_episode_steps = self._env.spec.max_episode_steps

    def reset(self) -> Any:
        """The first observation of an episode."""
        observation, _ = self._env.reset(seed=self._seed)
        self._seed = None
        return observation

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Observation, reward, whether the episode is over, and more."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        return observation, float(reward), terminated or truncated, info


def stand_in() -> None:
    """Put modules in the place of those that a run does not need, and a small one in that of hydra."""
    for name in STOOD_IN:
        sys.modules[name] = MagicMock()
    sys.modules["termcolor"].colored = lambda text, _: text
    hydra, utils = ModuleType("hydra"), ModuleType("hydra.utils")
    utils.instantiate = instantiate
    hydra.utils, hydra.main = utils, lambda **_: lambda function: function
    sys.modules |= {"hydra": hydra, "hydra.utils": utils}


def instantiate(settings: Any) -> Any:
    """The object that hydra 0.11 makes of `class` and `params`."""
    module, _, name = settings["class"].rpartition(".")
    return getattr(importlib.import_module(module), name)(**settings.params)


def read_settings(checkout: Path, program: str, changed: list[str]) -> Any:
    """Their settings, with these changed."""
    parts = (checkout / "config" / f"{program}.yaml", checkout / "config/agent/sac.yaml")
    settings = OmegaConf.merge(*(OmegaConf.load(part) for part in parts), OmegaConf.from_dotlist(changed))
    settings.num_train_steps = int(settings.num_train_steps)
    settings.device, settings.log_save_tb = "cpu", False
    return settings


class Meter:
    """What a run has cost, written down after each evaluation: a run that is stopped has a cost, too."""

    def __init__(self, workspace: Any) -> None:
        self._workspace, self._evaluate = workspace, workspace.evaluate
        self._began, self._wall, self._evaluating = time.process_time(), time.monotonic(), 0.0
        workspace.evaluate = self.evaluate

    def evaluate(self) -> None:
        """Replaces their evaluation."""
        began = time.process_time()
        self._evaluate()
        self._evaluating += time.process_time() - began
        self.write()

    def write(self) -> None:
        """Replace cost.json."""
        cost = {
            "steps": self._workspace.step,
            "labels": self._workspace.labeled_feedback,
            "processor_seconds": time.process_time() - self._began - self._evaluating,
            "evaluation_processor_seconds": self._evaluating,
            "wall_seconds": time.monotonic() - self._wall,
        }
        Path("cost.json").write_text(json.dumps(cost, indent=1))


def main() -> None:
    """Train, and write down what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--program", default="train_PEBBLE", help="train_PEBBLE, or SURF's train_PEBBLE_semi_dataaug")
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    options = parser.parse_intermixed_args()
    checkout = options.checkout.resolve()
    sys.path.insert(0, str(checkout))
    options.out.mkdir(parents=True, exist_ok=True)
    os.chdir(options.out)
    torch.set_num_threads(1)
    stand_in()
    settings = read_settings(checkout, options.program, options.settings)
    for name in REWARD_MODELS:
        if (checkout / f"{name}.py").exists():
            importlib.import_module(name).device = "cpu"
    importlib.import_module("utils").make_env = lambda settings: Cheetah(settings.seed)
    program = importlib.import_module(options.program)
    workspace = program.Workspace(settings)
    meter = Meter(workspace)
    workspace.run()
    meter.write()


if __name__ == "__main__":
    main()
