"""From a source text to the one function in it, if it is allowed. Nothing is executed.

A source is parsed and stripped of what is harmless and habitual (allowed imports, `@torch.jit.script`, annotations,
docstrings). Then every node of its tree must be on a list, see `walk`: what is not known to be safe is refused.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Iterable, Iterator

from simulation import catalog
from simulation.rewards import allowed
from simulation.rewards.body_check import join_dotted, list_body_problems, name_construct
from simulation.rewards.verdict import shorten

FUNCTION_NAME = "compute_reward"
MAX_PROBLEMS = 5


class Refused(ValueError):
    """A source that is no reward function. `stage` is parse or allow-list; the message says what to change."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(reason)
        self.stage = stage
        self.reason = reason


def parse(source: str, task: str) -> ast.FunctionDef:
    """The allowed function of this source: without imports, decorator, docstring and annotations inside.

    Its arguments are reward inputs of the task. Raises Refused with every problem found (five at most), by line.
    """
    tree = _parse_tree(source)
    function = _find_only_function(tree)
    inputs = catalog.get_task(task).inputs
    problems = [*_list_signature_problems(function, inputs)]
    arguments = {argument.arg for argument in function.args.args}
    function.body = [s for s in map(_simplify, _drop_docstrings(function.body)) if not _is_import(s)]
    problems += list_body_problems(function, arguments)
    if problems:
        raise Refused("allow-list", _list_problems(problems, source))
    return function


def list_statements_without_effect(function: ast.FunctionDef, source: str) -> tuple[str, ...]:
    """Each expression whose value is not used, with its line, five at most: a lone name, or a term added to nothing.

    Of all calls that a reward may make only `append` changes something.
    """
    alone = [node for node in ast.walk(function) if isinstance(node, ast.Expr) and not _is_text_or_append(node.value)]
    return tuple(_list_problems([(node.lineno, "this statement has no effect") for node in alone], source).splitlines())


def _is_text_or_append(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and value.func.attr == "append"
    return isinstance(value, ast.Constant)


def _parse_tree(source: str) -> ast.Module:
    if len(source) > allowed.MAX_SOURCE:
        raise Refused("parse", f"the source has {len(source)} characters; {allowed.MAX_SOURCE} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise Refused("parse", f"line {error.lineno}: {error.msg}" + (f": {line[:120]}" if line else "")) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused("parse", f"this is not Python code: {error or type(error).__name__}") from None
    _bound_tree(tree)
    return tree


def _bound_tree(tree: ast.Module) -> None:
    """Refuse trees so large or deep that walking them recursively could fail."""
    nodes, depth = 0, 0
    level: list[ast.AST] = [tree]
    while level:
        nodes, depth = nodes + len(level), depth + 1
        if nodes > allowed.MAX_NODES or depth > allowed.MAX_DEPTH:
            raise Refused("allow-list", "the code is too long or too deeply nested: simplify it")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _find_only_function(tree: ast.Module) -> ast.FunctionDef:
    body = [s for s in _drop_docstrings(tree.body) if not _is_import(s)]
    functions = [s for s in body if isinstance(s, ast.FunctionDef)]
    named = [f for f in functions if f.name == FUNCTION_NAME]
    if not named:
        raise Refused("parse", f"no function {FUNCTION_NAME}(...) was found: define exactly one function of that name")
    if len(body) > 1:
        other = next(s for s in body if s is not named[0])
        raise Refused("allow-list", f"line {other.lineno}: {_describe_outside(other)}")
    return named[0]


def _describe_outside(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return f"this import is not allowed: only torch and math are available [{ast.unparse(statement)[:120]}]"
    what = f"the function {statement.name}" if isinstance(statement, ast.FunctionDef) else name_construct(statement)
    return f"only one function, {FUNCTION_NAME}, is allowed, found {what}: move what it does into {FUNCTION_NAME}"


def _is_import(statement: ast.stmt) -> bool:
    """Whether this is an import line that may be dropped."""
    if isinstance(statement, ast.Import):
        return all(alias.name in allowed.IMPORTS and _is_known_alias(alias) for alias in statement.names)
    return isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module in allowed.IMPORTS


def _is_known_alias(alias: ast.alias) -> bool:
    return alias.asname in (None, "np") or allowed.MODULE_ALIASES.get(alias.asname) == alias.name


def _drop_docstrings(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements without bare texts (docstrings, comments written as texts)."""
    return [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))] or [ast.Pass()]


def _simplify(statement: ast.stmt) -> ast.stmt:
    """`x: Tensor = value` as `x = value`, `np.pi` as `math.pi`, at any depth. Annotations are never evaluated."""
    changed: ast.stmt = _Simplify().visit(statement)
    return ast.fix_missing_locations(changed)


class _Simplify(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        if (
            isinstance(node.value, ast.Name)
            and node.value.id in ("np", "numpy")
            and node.attr in allowed.MATH_CONSTANTS
        ):
            node.value.id = "math"
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        self.generic_visit(node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


def _list_signature_problems(function: ast.FunctionDef, inputs: Iterable[str]) -> Iterator[tuple[int, str]]:
    names, line = list(inputs), function.lineno
    arguments = function.args
    for decorator in function.decorator_list:
        if join_dotted(decorator) not in ("torch.jit.script", "torch.jit.export"):
            yield line, "decorators are not allowed"
    if arguments.defaults or arguments.kw_defaults:
        yield line, "arguments with default values are not allowed: define the number inside the function"
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
        yield line, "only plain arguments are allowed (no *, /, *args or **kwargs)"
    for argument in arguments.args:
        if argument.arg == "self":
            yield line, "'self' is not available: name the environment attributes as arguments"
        elif argument.arg not in names:
            close = difflib.get_close_matches(argument.arg, names, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            available = f"{hint}available: {', '.join(names)}"
            yield line, f"argument {argument.arg!r} is not a variable of this task; {available}"
    if not arguments.args:
        yield line, f"the function has no arguments; it can use: {', '.join(names)}"


def _list_problems(problems: list[tuple[int, str]], source: str) -> str:
    """One line per problem, each with the offending line of the source."""
    lines = source.splitlines()
    unique = list(dict.fromkeys(sorted(problems, key=lambda problem: problem[0])))
    listed = [f"line {n}: {shorten(text)} [{lines[n - 1].strip()[:120]}]" for n, text in unique]
    more = [f"and {len(listed) - MAX_PROBLEMS} more"] if len(listed) > MAX_PROBLEMS else []
    return "\n".join(listed[:MAX_PROBLEMS] + more)
