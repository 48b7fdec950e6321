"""Reward programs as their authors published them, from a folder or a file that is not part of Prefine.

A folder: .../METHOD/TASK.py or .../METHOD/TASK-MODEL.py, each a file that defines compute_reward, with whatever else
stands in it (RF-Agent's public copy has the whole environment of IsaacGym there). A file: Markdown in which a heading
"METHOD, TASK" or "METHOD, TASK, MODEL" stands above each program in a fenced block, for programs copied from a paper.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from llm.extract import find_fenced_blocks
from llm.offline.reading import split_sections
from simulation import catalog
from simulation.names import match_name

METHODS = ("Eureka", "Revolve", "RF-Agent", "ICPL")
FUNCTION = "compute_reward"
NEAR = 0.85
"""How alike a misspelt task's name must be to one that is known."""


@dataclass(frozen=True)
class Program:
    """One program as it was published."""

    method: str
    named: str
    """The task as its authors spell it."""
    model: str
    """The language model that wrote it; empty where that is not said."""
    text: str
    """All that stands there."""
    where: str

    @property
    def task(self) -> str | None:
        """The task here that is meant; None where there is none."""
        known = catalog.list_tasks()
        near = get_close_matches(self.named.casefold(), {name.casefold() for name in known}, 1, NEAR)
        return match_name(self.named, known) or (match_name(near[0], known) if near else None)

    @property
    def source(self) -> str:
        """The reward function alone. Raises ValueError where it cannot be taken out as it is."""
        try:
            tree = ast.parse(self.text)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"not Python code: {error}") from None
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION]
        if not functions:
            raise ValueError(f"no function {FUNCTION} stands in it")
        found = functions[-1]
        _require_inputs_by_name(tree, [argument.arg for argument in found.args.args])
        source = ast.get_source_segment(self.text, found)
        assert source is not None
        return source


def _require_inputs_by_name(tree: ast.Module, arguments: list[str]) -> None:
    """Where the environment calls it, each argument must be given the attribute of its own name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == FUNCTION:
            for argument, given in zip(arguments, map(ast.unparse, node.args), strict=False):
                if given.startswith("self.") and given != f"self.{argument}":
                    raise ValueError(f"its argument {argument} is given {given}: inputs are read by their names here")


def read_programs(path: Path) -> list[Program]:
    """All programs there, in the order of their places. Raises ValueError where there is none."""
    found = list(_read_file(path) if path.is_file() else _read_folder(path))
    if not found:
        raise ValueError(f"{path} holds no program: {(__doc__ or '').split(chr(10), 2)[2].strip()}")
    return found


def _read_folder(folder: Path) -> Iterator[Program]:
    for file in sorted(folder.rglob("*.py")):
        method = match_name(file.parent.name, METHODS)
        text = file.read_text(errors="replace")
        if method and f"def {FUNCTION}" in text:
            named, _, model = file.stem.partition("-")
            yield Program(method, named, model, text, str(file.relative_to(folder)))


def _read_file(file: Path) -> Iterator[Program]:
    for title, body in split_sections(file.read_text(errors="replace")):
        parts = [part.strip() for part in re.split(",", title)]
        method = match_name(parts[0], METHODS)
        blocks = find_fenced_blocks(body)
        if method and len(parts) in (2, 3) and blocks:
            yield Program(method, parts[1], parts[2] if len(parts) == 3 else "", blocks[0], title)
