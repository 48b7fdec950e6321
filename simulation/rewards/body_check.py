"""The allow-list, node by node: everything in a reward function's body that is not allowed (see `allowed`)."""

from __future__ import annotations

import ast
import difflib
import re

from simulation.rewards import allowed

RANDOM = re.compile(r"(rand|bernoulli|multinomial|normal_|^normal$|dropout|manual_seed|shuffle|poisson)")
EINSUM = re.compile(r"([a-zA-Z])[a-zA-Z]*(,\1[a-zA-Z]*)*->\1[a-zA-Z]*")

PLAIN_NODES = (
    *(ast.Module, ast.Return, ast.If, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.UnaryOp, ast.IfExp),
    *(ast.Compare, ast.Slice, ast.Tuple, ast.List, ast.Load, ast.Store, ast.expr_context, ast.boolop, ast.cmpop),
    *(ast.UAdd, ast.USub, ast.Not, ast.Invert, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.BinOp, ast.MatMult, ast.BitAnd, ast.BitOr, ast.BitXor),
)
"""Nodes without a check of their own; their children are checked."""


def join_dotted(node: ast.AST) -> str | None:
    """`torch.linalg.norm` of an attribute chain that starts at a module's name, else None."""
    if isinstance(node, ast.Name):
        return allowed.MODULE_ALIASES.get(node.id)
    if isinstance(node, ast.Attribute):
        base = join_dotted(node.value)
        return f"{base}.{node.attr}" if base else None
    return None


def name_construct(node: ast.AST) -> str:
    """The usual name of this construct."""
    names = {
        "While": "a while loop", "Try": "try", "With": "with", "Lambda": "a lambda", "Import": "an import",
        "ImportFrom": "an import", "Global": "global", "Nonlocal": "nonlocal", "JoinedStr": "an f-string",
        "FunctionDef": "a nested function", "ClassDef": "a class", "Raise": "raise", "Assert": "assert",
        "NamedExpr": "an assignment expression", "Delete": "del", "Starred": "a starred expression", "Yield": "yield",
        "Assign": "an assignment", "Expr": "an expression",
        "SetComp": "a set comprehension", "Await": "await", "LShift": "a bit shift", "RShift": "a bit shift",
    }  # fmt: skip
    return names.get(type(node).__name__, type(node).__name__)


def list_body_problems(function: ast.FunctionDef, arguments: set[str]) -> list[tuple[int, str]]:
    """Everything in the body that is not allowed, as (line, what to change)."""
    return _Checker(function, arguments).list_problems()


class _Checker:
    """Walks the body of one function and collects (line, problem). A node without a rule is refused."""

    def __init__(self, function: ast.FunctionDef, arguments: set[str]) -> None:
        self.body = function.body
        self.arguments = arguments
        nodes = [node for statement in self.body for node in ast.walk(statement)]
        assigned = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.names = arguments | assigned
        self.found: list[tuple[int, str]] = []
        self.line = function.lineno
        self.loops = 0
        self.returns = False

    def list_problems(self) -> list[tuple[int, str]]:
        for statement in self.body:
            self.visit(statement)
        if not self.returns:
            self.refuse("the function never returns: end with `return total, components`")
        return self.found

    def refuse(self, problem: str) -> None:
        self.found.append((self.line, problem))

    def visit(self, node: ast.AST) -> None:
        """Check one node and, where it is allowed, its children."""
        line, self.line = self.line, getattr(node, "lineno", self.line)
        handler = getattr(self, f"visit_{type(node).__name__}", None)
        if handler is not None:
            handler(node)
        elif isinstance(node, PLAIN_NODES):
            self.visit_children(node)
        else:
            self.refuse(f"{name_construct(node)} is not allowed")
        self.line = line

    def visit_children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def visit_Return(self, node: ast.Return) -> None:
        self.returns = True
        if node.value is None or isinstance(node.value, ast.Constant):
            self.refuse("return a pair: the total reward and the dictionary of components")
        self.visit_children(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Subscript) and len(node.targets) == 1:
                self.check_element(target)
            else:
                self.check_target(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.op)
        self.visit(node.value)
        if isinstance(node.target, ast.Subscript):
            self.check_element(node.target)
        else:
            self.check_target(node.target)

    def check_target(self, node: ast.expr) -> None:
        """Check an assignment's target: a name or a tuple of names."""
        if isinstance(node, ast.Name):
            self.visit(node)
        elif isinstance(node, ast.Tuple | ast.List):
            for element in node.elts:
                self.check_target(element)
        else:
            self.refuse("only names, and elements of local variables one at a time, can be assigned")

    def check_element(self, node: ast.Subscript) -> None:
        """`x[i]` as the only target of an assignment (contract rewrites it to act on a copy)."""
        if not isinstance(node.value, ast.Name):
            self.refuse("only elements of a local variable can be assigned")
        elif node.value.id in self.arguments:
            self.refuse(f"{node.value.id!r} is an input and must not be changed: work on {node.value.id}.clone()")
        self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        name = node.id
        if name.startswith("__") or not name.isascii():
            self.refuse(f"the name {name!r} is not allowed")
        elif isinstance(node.ctx, ast.Store):
            if name in allowed.MODULE_ALIASES or name in allowed.BUILTINS:
                self.refuse(f"{name!r} must not be redefined: choose another name")
        elif _is_numpy(node):
            self.refuse("numpy is not available: use torch")
        elif name in allowed.MODULE_ALIASES:
            self.refuse(f"{name} can only be used as {name}.<function>(...)")
        elif name not in self.names and name not in ("float", "int", "bool"):
            self.refuse(self.describe_unknown_name(name))

    def describe_unknown_name(self, name: str) -> str:
        if name in allowed.BUILTINS or name in allowed.HELPERS:
            return f"{name} can only be called"
        close = difflib.get_close_matches(name, self.names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "; only arguments and variables assigned here exist"
        return f"{name!r} is not defined or not allowed{hint}"

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = join_dotted(node)
        if chain is not None:
            module, _, rest = chain.partition(".")
            constants = allowed.TORCH_CONSTANTS if module == "torch" else allowed.MATH_CONSTANTS
            if rest not in constants:
                self.refuse(self.describe_unknown_function(chain))
        elif node.attr not in allowed.ATTRIBUTES and not _is_numpy(node.value):
            called = "; call it" if node.attr in allowed.METHODS else ""
            self.refuse(f"attribute .{node.attr} is not allowed{called}")
        else:
            self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            self.refuse("attributes cannot be assigned")

    def describe_unknown_function(self, chain: str) -> str:
        module, _, rest = chain.partition(".")
        functions = allowed.TORCH_FUNCTIONS if module == "torch" else allowed.MATH_FUNCTIONS
        if RANDOM.search(rest):
            return f"{chain} is random: a reward must be deterministic"
        if rest in functions:
            return f"{chain} must be called"
        close = difflib.get_close_matches(rest, functions, n=1)
        return f"{chain} is not allowed" + (f"; did you mean {module}.{close[0]}?" if close else "")

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        chain = join_dotted(function)
        if chain is not None and chain not in ("torch", "math"):
            module, _, rest = chain.partition(".")
            if rest not in (allowed.TORCH_FUNCTIONS if module == "torch" else allowed.MATH_FUNCTIONS):
                self.refuse(self.describe_unknown_function(chain))
            elif len(node.args) > allowed.POSITIONAL.get(rest, len(node.args)):
                self.refuse(f"{chain} takes {allowed.POSITIONAL[rest]} arguments here")
        elif isinstance(function, ast.Attribute):
            self.check_method(function)
        elif not isinstance(function, ast.Name):
            self.refuse("only named functions and methods can be called")
        elif function.id not in allowed.BUILTINS and function.id not in allowed.HELPERS or function.id in self.names:
            self.refuse(self.describe_unknown_call(function.id))
        self.check_arguments(node, chain)

    def describe_unknown_call(self, name: str) -> str:
        if RANDOM.search(name):
            return f"{name}(...) is random: a reward must be deterministic"
        close = difflib.get_close_matches(name, allowed.HELPERS, n=1, cutoff=0.75)
        return f"{name}(...) is not an allowed function" + (f"; did you mean {close[0]}?" if close else "")

    def check_method(self, function: ast.Attribute) -> None:
        name = function.attr
        if name not in allowed.METHODS and not _is_numpy(function.value):
            close = difflib.get_close_matches(name, allowed.METHODS, n=1, cutoff=0.75)
            if RANDOM.search(name):
                self.refuse(f"method .{name}() is random: a reward must be deterministic")
            elif name.endswith("_") and name[:-1] in allowed.METHODS:
                self.refuse(f"method .{name}() changes a tensor in place: use .{name[:-1]}()")
            else:
                self.refuse(f"method .{name}() is not allowed" + (f"; did you mean .{close[0]}()?" if close else ""))
        self.visit(function.value)

    def check_arguments(self, node: ast.Call, chain: str | None) -> None:
        for index, argument in enumerate(node.args):
            text = _read_text(argument)
            if index == 0 and chain == "torch.einsum" and text is not None:
                if not EINSUM.fullmatch(text.replace(" ", "")):
                    self.refuse("einsum: every operand and the result must start with the same letter, the world")
            else:
                self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse("**arguments are not allowed")
            elif keyword.arg not in allowed.KEYWORDS:
                self.refuse(f"argument {keyword.arg}= is not allowed")
            else:
                self.check_keyword(keyword.arg, keyword.value)

    def check_keyword(self, name: str, value: ast.expr) -> None:
        text = _read_text(value)
        if text is None:
            self.visit(value)
        elif text not in allowed.TEXT_VALUES.get(name, ()):
            example = next(iter(sorted(self.arguments)), "x")
            hint = f": use the device of an input, {example}.device" if name == "device" else ""
            self.refuse(f"{name}={text[:40]!r} is not allowed{hint}")

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, str):
            self.refuse("texts are only allowed as names of components")
        elif isinstance(value, int) and abs(value) > allowed.MAX_INT:
            self.refuse(f"an integer above {allowed.MAX_INT} is too large")
        elif not isinstance(value, int | float | None | type(...)):
            self.refuse(f"{type(value).__name__} constants are not allowed")

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.refuse("** in a dictionary is not allowed")
            else:
                self.check_name(key)
            self.visit(value)

    def check_name(self, node: ast.expr) -> None:
        """A component's name."""
        text = _read_text(node)
        if text is None:
            self.refuse("names of components must be plain texts in quotes")
        elif not allowed.COMPONENT_NAME.fullmatch(text):
            self.refuse("names of components are 1 to 64 letters, digits and underscores")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        if _read_text(node.slice) is not None:
            self.check_name(node.slice)
        else:
            self.visit(node.slice)
        if isinstance(node.ctx, ast.Del):
            self.refuse("del is not allowed")

    def visit_For(self, node: ast.For) -> None:
        self.check_target(node.target)
        self.visit_loop(node.iter, [*node.body, *node.orelse])

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> None:
        if len(node.generators) > 1 or node.generators[0].is_async:
            self.refuse("a comprehension can have one for only")
        generator = node.generators[0]
        self.check_target(generator.target)
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.visit_loop(generator.iter, [*generator.ifs, *results])

    visit_GeneratorExp = visit_DictComp = visit_ListComp

    def visit_loop(self, iterated: ast.expr, body: list[ast.AST]) -> None:
        self.visit(iterated)
        self.loops += 1
        if self.loops > allowed.MAX_LOOP_NESTING:
            self.refuse(f"loops can be nested {allowed.MAX_LOOP_NESTING} deep at most: use batched tensor operations")
        for node in body:
            self.visit(node)
        self.loops -= 1


def _is_numpy(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("np", "numpy")


def _read_text(node: ast.AST) -> str | None:
    """The text of a constant; None for everything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
