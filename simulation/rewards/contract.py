"""The contract of a reward function: from a source text to a callable on batched tensors.

    compute_reward(<environment attributes>) -> (total (n,), {component: (n,)})

The source passes the allow-list (`check`), is rewritten so that it cannot change its inputs or grow without bound, and
is compiled with stand-ins for `torch` and `math` that hold only what is allowed (docs/decisions/0003-hostile-code.md).
"""

from __future__ import annotations

import ast
import builtins
import copy
import math
import signal
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from simulation import catalog
from simulation.out_of_memory import is_out_of_memory
from simulation.rewards import allowed, container_guards, guards, helpers
from simulation.rewards.parsing import FUNCTION_NAME, Refused, parse
from simulation.rewards.verdict import shorten

FILENAME = "<reward>"
CALL_SECONDS = 5.0
"""Processor time that one call may take; usual ones take less than a millisecond."""


class RewardFailure(Exception):
    """A reward function broke its contract. The message is the reason, for its writer."""

    def __init__(self, reason: str, stage: str = "contract") -> None:
        super().__init__(shorten(reason))
        self.stage = stage
        """run: it raised an error; limits: it ran out of memory; contract: what it returned is wrong."""


class OutOfMemory(RewardFailure, MemoryError):
    """The call needed more memory than there is; with fewer states at once it may succeed."""


class _TooSlow(BaseException):
    """The timer of a call ran out. Not an Exception, so that no `except Exception` on the way catches it."""


@dataclass(frozen=True)
class RewardFunction:
    """A compiled reward."""

    arguments: tuple[str, ...]
    """The inputs that it reads."""
    world_input: str
    """An input with one row per world, which tells n."""
    lines: tuple[str, ...]
    """The text as it was written, for messages."""
    function: Callable[..., Any]

    def __call__(self, inputs: Mapping[str, Tensor | float]) -> tuple[Tensor, dict[str, Tensor]]:
        """Total reward (n,) and components {name: (n,)}, float32, for every world of `inputs` (see TaskInfo.inputs).

        Results may share memory with the inputs. Raises RewardFailure when the function fails, when a shape, a type or
        a value (non-finite) breaks the contract, and, in the main thread, when it takes more than CALL_SECONDS.
        """
        try:
            result = _call_within_time(self.function, [inputs[name] for name in self.arguments])
            return _validate(result, inputs[self.world_input])  # type: ignore[arg-type]  # always a tensor
        except RewardFailure:
            raise
        except _TooSlow:
            raise RewardFailure(f"one call took more than {CALL_SECONDS:g} s of processor time", "limits") from None
        except Exception as error:  # hostile code may raise any; what escapes here ends the other candidates, too
            if is_out_of_memory(error):
                raise OutOfMemory(self._explain(error), "limits") from None
            raise RewardFailure(self._explain(error), "run") from None

    def _explain(self, error: BaseException) -> str:
        """The error with the line of the source that raised it."""
        numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILENAME]
        where = ""
        if numbers and numbers[-1] is not None and numbers[-1] <= len(self.lines):
            where = f" in line {numbers[-1]}: {self.lines[numbers[-1] - 1].strip()[:160]}"
        try:
            said = str(error).strip()
        except (ValueError, RecursionError, MemoryError):  # of a key that is a number of more than 4 300 digits
            said = ""
        first = (said or "no further message").splitlines()[0][:300]
        return f"{type(error).__name__}: {first}{where}"


def compile_reward(source: str, task: str) -> RewardFunction:
    """Compile a reward source for this task.

    Raises parsing.Refused (a ValueError with `stage` and `reason`) when the source is not allowed or does not compile,
    and ValueError on an unknown task.
    """
    function = parse(source, task)
    module = ast.fix_missing_locations(ast.Module(body=[_Guard().visit(function)], type_ignores=[]))
    scope = _make_scope()
    try:
        exec(compile(module, FILENAME, "exec", dont_inherit=True), scope)  # defines the function, runs nothing of it
    except (SyntaxError, ValueError, RecursionError) as error:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        raise Refused("compile", message) from None
    inputs = catalog.get_task(task).inputs
    return RewardFunction(
        arguments=tuple(argument.arg for argument in function.args.args),
        world_input=next(name for name, kind in inputs.items() if "num_envs" in kind),
        lines=tuple(source.splitlines()),
        function=scope[FUNCTION_NAME],
    )


class _Guard(ast.NodeTransformer):
    """Puts `guards` around operations that the syntax cannot bound, keeps line numbers, and drops annotations."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        arguments = ast.arguments([], [ast.arg(a.arg) for a in node.args.args], None, [], [], None, [])
        body = [self.visit(statement) for statement in node.body]
        return ast.copy_location(ast.FunctionDef(node.name, arguments, body, [], None), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """`x += y` as `x = x + y`: a tensor's `+=` would change every name of it, an input's too."""
        current = copy.deepcopy(node.target)
        current.ctx = ast.Load()
        value = ast.copy_location(ast.BinOp(current, node.op, node.value), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], value), node))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """`x[i] = y` as `x = put(x, i, y)`."""
        self.generic_visit(node)
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return node  # a name, or a tuple of names: the allow-list knows no others
        value = _call("__put", target.value, _convert_index(target.slice), node.value)
        return ast.copy_location(ast.Assign([ast.Name(target.value.id, ast.Store())], value), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        guard = guards.OPERATORS.get(type(node.op).__name__)
        self.generic_visit(node)
        if guard is None or _is_float(node.left) or _is_float(node.right):
            return node
        return ast.copy_location(_call(guard, node.left, node.right), node)

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        self.generic_visit(node)
        node.left, *node.comparators = map(_guard_operand, (node.left, *node.comparators))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """`x[i]` as `item(x, i)`, unless the index is written in numbers."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store) or not any(isinstance(part, ast.Name) for part in ast.walk(node.slice)):
            return node
        return ast.copy_location(_call("__item", node.value, _convert_index(node.slice)), node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.DictComp:
        self.generic_visit(node)
        node.key = ast.copy_location(_call("__key", node.key), node.key)
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = ast.copy_location(_call("__bounded", node.iter), node)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = ast.copy_location(_call("__bounded", node.iter), node.iter)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        guard = guards.CALLS.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None
        if guard is not None:
            call = ast.Call(ast.Name(guard, ast.Load()), [node.func, *node.args], node.keywords)
            return ast.copy_location(call, node)
        return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _guard_operand(node: ast.expr) -> ast.expr:
    return node if isinstance(node, ast.Constant) else ast.copy_location(_call("__comparable", node), node)


def _convert_index(node: ast.expr) -> ast.expr:
    """The index in brackets as an argument: `:` becomes a slice object."""
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([_convert_index(element) for element in node.elts], ast.Load()), node)
    if isinstance(node, ast.Slice):
        none = ast.Constant(None)
        return ast.copy_location(_call("__slice", node.lower or none, node.upper or none, node.step or none), node)
    return node


def _is_float(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _call_within_time(function: Callable[..., Any], arguments: list[Any]) -> Any:
    """Call the function; in the main thread (only it gets signals) raise _TooSlow after CALL_SECONDS."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    _install_timer()
    signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS)
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


@cache
def _install_timer() -> None:
    signal.signal(signal.SIGPROF, _stop_call)


def _stop_call(number: int, frame: FrameType | None) -> None:
    raise _TooSlow


def _make_scope() -> dict[str, Any]:
    """The globals of a compiled reward: stand-ins, guards, helpers and a few builtins."""
    return {
        "__builtins__": {name: getattr(builtins, name) for name in allowed.BUILTINS}
        | container_guards.BUILTINS
        | {"range": guards.short_range, "__import__": _import},
        "torch": guards.TORCH,
        "nn": guards.TORCH.nn,
        "F": guards.TORCH.nn.functional,
        "math": guards.MATH,
        **guards.GUARDS,
        **helpers.HELPERS,
    }


def _import(name: str, *details: Any) -> Any:
    """The import that torch's C code calls in the reward's frame, to load a part of torch late. Sources cannot name
    it.
    """
    if name.partition(".")[0] != "torch":
        raise ImportError(f"{name} is not available")
    return builtins.__import__(name, *details)


def _validate(result: Any, world_input: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise RewardFailure(f"it must return (total, components), a pair; it returned {_describe(result)}")
    total, components = result
    if not isinstance(components, dict):
        raise RewardFailure(f"the components must be a dictionary of tensors, not {_describe(components)}")
    if len(components) > allowed.MAX_COMPONENTS:
        raise RewardFailure(f"{len(components)} components; {allowed.MAX_COMPONENTS} are allowed")
    named = {"total": total}
    for name, value in components.items():
        if not isinstance(name, str) or len(name) > allowed.MAX_NAME or not _is_component_name(name):
            named_so = repr(name[: allowed.MAX_NAME]) if isinstance(name, str) else _describe(name)
            raise RewardFailure(f"a component cannot be named {named_so}: choose another name")
        named[name] = value
    checked = {name: _check_column(name, value, world_input) for name, value in named.items()}
    sum_of_all = torch.stack(tuple(checked.values())).sum().item()  # one test of all, in the usual case
    if not math.isfinite(sum_of_all) and not all(column.isfinite().all() for column in checked.values()):
        raise RewardFailure(_describe_non_finite(checked))
    return checked.pop("total"), checked


@lru_cache
def _is_component_name(name: str) -> bool:
    return allowed.COMPONENT_NAME.fullmatch(name) is not None and name not in allowed.RESERVED_COMPONENTS


def _check_column(name: str, value: Any, world_input: Tensor) -> Tensor:
    """The value as (n,) float32. Raises RewardFailure with the reason where it is not one."""
    worlds = len(world_input)
    what = "the total" if name == "total" else f"component {name!r}"
    if not isinstance(value, Tensor):
        raise RewardFailure(f"{what} is {_describe(value)}, expected a tensor of shape ({worlds},)")
    if value.shape != (worlds,):
        raise RewardFailure(f"{what} has shape {tuple(value.shape)}, expected ({worlds},): one value per world")
    if not value.is_floating_point():
        raise RewardFailure(f"{what} has dtype {value.dtype}, expected a float: use .float()")
    if value.device != world_input.device:
        raise RewardFailure(f"{what} is on the device {value.device}, its inputs on {world_input.device}")
    return value.float()


def _describe_non_finite(columns: dict[str, Tensor]) -> str:
    """Which results hold NaN or infinity, components before the total."""
    bad = [name for name, column in columns.items() if not column.isfinite().all()]
    named = [f"component {name!r}" for name in bad if name != "total"] or ["the total"]
    kind = "NaN" if any(columns[name].isnan().any() for name in bad) else "infinite values"
    return f"{', '.join(named)}: {kind} (guard divisions, roots, logarithms and exp against extreme values)"


def _describe(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"
