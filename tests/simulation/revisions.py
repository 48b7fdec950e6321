"""What a task's revision stands for, as numbers: `python -m tests.simulation.revisions TASK ...` saves today's.

Of the model: what a training's physics reads, rounded, without names and looks. Of the code: what it does, without
imports, annotations and docstrings. Of both together: three steps from a fixed start, to be compared with a tolerance.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import inspect
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch

from simulation import catalog, mujoco_models
from simulation.environment import Environment

FILE = Path(__file__).with_name("revisions.json")
MODEL = {
    "bodies": "body: parentid pos quat ipos iquat mass inertia gravcomp",
    "joints": "jnt: type bodyid pos axis stiffness range limited solref solimp margin actfrclimited actfrcrange",
    "degrees of freedom": "dof: armature damping frictionloss solref solimp",
    "contacts": "geom: type bodyid contype conaffinity condim priority size pos quat friction solmix solref solimp "
    "margin gap fluid",
    "drives": "actuator: trntype trnid dyntype dynprm gaintype gainprm biastype biasprm gear ctrllimited ctrlrange "
    "forcelimited forcerange actlimited actrange",
    "constraints": "eq: type obj1id obj2id active0 solref solimp data",
    "tendons": "tendon: limited range solref_lim solimp_lim margin stiffness damping frictionloss lengthspring",
    "paths of tendons": "wrap: type objid prm",
    "meshes": "mesh: vert",
    "pairs": "pair: geom1 geom2 dim solref solimp margin gap friction",
    "sensors": "sensor: type objtype objid reftype refid cutoff",
    "sites": "site: bodyid type size pos quat",
}
"""The model's parts, each with a prefix and the arrays of this prefix."""
OPTIONS = (
    "timestep gravity wind density viscosity integrator solver cone jacobian impratio iterations ls_iterations "
    "tolerance ls_tolerance noslip_iterations disableflags enableflags"
)
DIGITS = 9
"""Decimals that are compared: what processors compute alike."""
WORLDS, STEPS, TOLERANCE = 4, 3, 2e-3
"""Of the steps, and how far their sums may be off, in relation to 1 or to their size."""


def describe(task: str) -> dict[str, Any]:
    """Everything of a task that a higher revision is needed for, as JSON holds it."""
    info, model = catalog.get_task(task), mujoco_models.build_physics_model(task)
    parts = {name: digest(read_arrays(model, fields)) for name, fields in MODEL.items()}
    parts["start"] = digest([model.qpos0, model.qpos_spring, model.key_qpos, model.exclude_signature])
    parts["options"] = digest([getattr(model.opt, name) for name in OPTIONS.split()])
    parts["episode"] = digest([info.control_dt, info.substeps, info.episode_steps])
    parts["code"] = shorten(read_code(info.folder))
    return {"revision": info.revision, "parts": parts, "steps": sum_steps(task)}


def read_arrays(model: mujoco.MjModel, fields: str) -> list[Any]:
    """The model's arrays of these names."""
    prefix, _, names = fields.partition(": ")
    return [getattr(model, f"{prefix}_{name}") for name in names.split()]


def digest(values: Iterable[Any]) -> str:
    """Of arrays and numbers, rounded."""
    rounded = [(np.round(np.asarray(value, dtype=np.float64), DIGITS) + 0.0).tolist() for value in values]
    return shorten(rounded)


def shorten(values: list[Any]) -> str:
    """The beginning of a hash of these."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:8]


class Bare(ast.NodeTransformer):
    """Code without what changes nothing of what it does."""

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        return None

    visit_ImportFrom = visit_Import

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(0)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node


def read_code(folder: str) -> list[str]:
    """The kinds, names and values in the code of the task's hidden half and of what it is derived from."""
    module = importlib.import_module(f"simulation.tasks.{folder}.task")
    bases = inspect.getmro(module.Task) if hasattr(module, "Task") else ()
    others = {base.__module__ for base in bases if base.__module__.startswith("simulation.")} - {module.__name__}
    trees = [ast.parse(inspect.getsource(one)) for one in (module, *(sys.modules[name] for name in sorted(others)))]
    nodes = [node for tree in trees for node in ast.walk(Bare().visit(tree)) if not isinstance(node, ast.expr_context)]
    said = [(type(node).__name__, [v for _, v in ast.iter_fields(node) if not holds_nodes(v)]) for node in nodes]
    return [f"{kind} {values}" for kind, values in said]


def holds_nodes(value: object) -> bool:
    """Whether a field holds parts of the code, or nothing: Python's versions differ in what they leave out."""
    return value is None or isinstance(value, ast.AST | list)


def sum_steps(task: str) -> list[float]:
    """Weighted sums of the observations at the start and after each step, and of the metric."""
    env, sums = Environment(task, worlds=WORLDS), []
    weights = torch.cos(torch.arange(WORLDS * env.info.num_obs, dtype=torch.float64))
    for step in range(STEPS + 1):
        sums.append(float(weights @ env.obs_buf.double().flatten()))
        if step < STEPS:
            actions = torch.sin(1.0 + step + torch.arange(WORLDS * env.info.num_actions)).view(WORLDS, -1)
            outcome = env.step(actions)
            sums.append(float(outcome.metric.sum()))
    return [round(value, 4) for value in sums]


def find_changes(saved: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """In what a task differs from what is saved of it."""
    changed = [name for name, value in now["parts"].items() if saved["parts"].get(name) != value]
    if not np.allclose(saved["steps"], now["steps"], rtol=TOLERANCE, atol=TOLERANCE):
        changed.append("what the first steps give")
    return changed


def read_saved() -> dict[str, Any]:
    """What is saved of every task."""
    saved: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return saved


def main() -> None:
    """Save today's numbers of these tasks."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.revisions", description=main.__doc__)
    parser.add_argument("tasks", nargs="+", choices=list(catalog.list_tasks()), metavar="TASK")
    saved = read_saved() | {task: describe(task) for task in parser.parse_args().tasks}
    lines = [f"{json.dumps(task)}: {json.dumps(saved[task])}" for task in sorted(saved)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
