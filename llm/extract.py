"""Find the reward function in a model's answer, and repair what needs no further question."""

from __future__ import annotations

import ast
import re
import textwrap
from functools import lru_cache

from llm import syntax

FUNCTION = "compute_reward"
KEPT = 1024
"""Programs whose repaired text and normal form stay in memory: searches read the same ones in prompt after prompt."""
MAX_DEPTH = 150
"""Levels of a syntax tree. The check of rewards allows 100; Python's own functions fail on some hundreds."""
_DEFINES = re.compile(rf"^[ \t]*def[ \t]+{FUNCTION}\b", re.MULTILINE)
_FENCE = re.compile(r"^[ \t>]*+(`{3,}+|~{3,}+)[ \t]*+([\w+.-]*+)[ \t]*+$")
_THINKING = re.compile(r"<(/?)think(?:ing)?>")


def find_source(text: str) -> str | None:
    """The last code in `text` that defines compute_reward, repaired; None when there is none.

    Accepts fences that are indented, never closed or missing, and drops the thoughts of a reasoning model.
    """
    answer = strip_thinking(text)
    blocks = [b for b in find_fenced_blocks(answer) if _DEFINES.search(b)]
    if blocks:
        return mend(blocks[-1])
    start = _find_last_definition(answer)
    return None if start is None else mend(answer[start:])


def find_thought(text: str) -> str:
    """What an answer says before the code that `find_source` takes from it; the whole answer where there is none."""
    answer = strip_thinking(text)
    starts = [m.start() for m in _DEFINES.finditer(answer)]
    before = answer[: starts[-1]] if starts else answer
    lines = before.splitlines()
    fences = [i for i, line in enumerate(lines) if _FENCE.match(line)]
    if len(fences) % 2:  # the one that the code stands in
        lines = lines[: fences[-1]]
    return "\n".join(lines).strip()


def strip_thinking(text: str) -> str:
    """Without <think>...</think>; an unclosed one reaches to the end, a closing tag alone from the beginning."""
    kept, place, inside = list[str](), 0, False
    for tag in _THINKING.finditer(text):
        if tag[1]:
            if not inside:
                kept.clear()
            place, inside = tag.end(), False
        elif not inside:
            kept.append(text[place : tag.start()])
            inside = True
    return "".join(kept) if inside else "".join(kept) + text[place:]


def find_fenced_blocks(text: str) -> list[str]:
    """The contents of all fenced blocks, in order; the last may be unclosed."""
    blocks: list[list[str]] = []
    fence = ""
    for line in text.splitlines():
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
            blocks.append([])
        elif match and match[1].startswith(fence) and not match[2]:
            fence = ""
        elif fence:
            blocks[-1].append(line)
    return ["\n".join(block) for block in blocks]


def _find_last_definition(text: str) -> int | None:
    starts = [m.start() for m in _DEFINES.finditer(text)]
    return starts[-1] if starts else None


@lru_cache(KEPT)
def mend(code: str) -> str:
    """Dedented, without prose after the function, imports and @torch.jit.script.

    The types of the signature are not touched here: the reward contract rewrites them.
    """
    lines = textwrap.dedent(code.expandtabs(4)).strip("\n").splitlines()
    if parse("\n".join(lines)) is None:
        lines = lines[: _find_end(lines)]
    tree = parse("\n".join(lines))
    dropped = _find_needless_lines(tree) if tree else set()
    return "\n".join(line for i, line in enumerate(lines, 1) if i not in dropped).strip() + "\n"


def _find_end(lines: list[str]) -> int:
    """The index after the last line of compute_reward: where a line at the left margin follows its indented body."""
    start = next(i for i, line in enumerate(lines) if _DEFINES.match(line))
    indented = False
    for i, line in enumerate(lines[start + 1 :], start + 1):
        if indented and re.match(r"[^\s)\]}#]", line):
            return i
        indented = line.startswith(" ") if line.strip() else indented
    return len(lines)


def _find_needless_lines(tree: ast.Module) -> set[int]:
    """Numbers of the lines that hold imports and @torch.jit.script."""
    dropped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            dropped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.FunctionDef):
            dropped.update(d.lineno for d in node.decorator_list if ast.unparse(d) == "torch.jit.script")
    return dropped


def parse(code: str) -> ast.Module | None:
    """The syntax tree, or None for what is not Python, and for a tree that is too deep to be walked recursively."""
    try:
        tree = syntax.parse_module(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if _is_shallow(tree) else None


def _is_shallow(tree: ast.Module) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False


@lru_cache(KEPT)
def normalize_program(code: str) -> str:
    """The program without comments, docstring and formatting: equal for programs that do exactly the same."""
    tree = parse(code)
    if tree is None:
        return code.strip()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and len(node.body) > 1 and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def list_arguments(code: str) -> tuple[str, ...]:
    """The names of compute_reward's arguments: the inputs that it reads."""
    tree = parse(code)
    found = (
        [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == FUNCTION] if tree else []
    )
    return tuple(argument.arg for node in found[-1:] for argument in node.args.args)
