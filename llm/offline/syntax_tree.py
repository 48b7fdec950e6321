"""A reward function as a syntax tree: its components, the sum that makes the total, and edits of both.

Works on programs of any author. An edit returns whether it could be made; a program that hides its structure, for
example behind a loop, still allows new components and moved constants.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from llm import extract, syntax
from llm.offline import layout
from llm.offline.drafting import Component, choose_annotation, round_digits


class Program:
    """One reward function. Edits change it in place."""

    def __init__(self, function: ast.FunctionDef, end: ast.Return) -> None:
        self.function, self.end = function, end
        self._reads: dict[str, frozenset[str]] = {}
        """What `reads` returned; `add` and `drop` empty it, and edits of numbers change no input."""

    @classmethod
    def parse(cls, source: str) -> Program | None:
        """None unless the text is a function compute_reward that ends in `return total, components`."""
        tree = extract.parse(source)
        function = tree.body[0] if tree and len(tree.body) == 1 else None
        if not isinstance(function, ast.FunctionDef) or function.name != extract.FUNCTION:
            return None
        end, others = function.body[-1], (function.args.kwonlyargs, function.args.posonlyargs, function.args.defaults)
        if any(others) or not isinstance(end, ast.Return):
            return None
        if not isinstance(end.value, ast.Tuple) or len(end.value.elts) != 2:
            return None
        return cls(function, end)

    @property
    def source(self) -> str:
        """The program as text, as edited so far."""
        return layout.format_function(self.function)

    @property
    def _returned(self) -> list[ast.expr]:
        assert isinstance(self.end.value, ast.Tuple)
        return self.end.value.elts

    # --- reading ----------------------------------------------------------------------------------------------

    def assignment(self, name: str) -> ast.Assign | None:
        """The last plain assignment to this variable in the function's own body."""
        for node in reversed(self.function.body):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return node
        return None

    def dictionary(self) -> ast.Dict | None:
        """The component dictionary, where it is written as one literal."""
        value: ast.expr | None = self._returned[1]
        if isinstance(value, ast.Name):
            found = self.assignment(value.id)
            value = found.value if found else None
        return value if isinstance(value, ast.Dict) else None

    def components(self) -> dict[str, ast.expr]:
        """Component name -> the expression in the dictionary."""
        found = self.dictionary()
        if found is None:
            return {}
        pairs = zip(found.keys, found.values, strict=True)
        return {str(k.value): v for k, v in pairs if isinstance(k, ast.Constant)}

    def find_involved(self, component: str) -> set[str]:
        """The local variables that the component is computed from."""
        value = self.components().get(component)
        seen: set[str] = set()
        waiting = _list_names(value) if value is not None else set()
        while waiting:
            name = waiting.pop()
            found = self.assignment(name)
            if name not in seen and found is not None:
                seen.add(name)
                waiting |= _list_names(found.value)
        return seen

    def reads(self, component: str) -> frozenset[str]:
        """The component's inputs, as code: "root_states[:, 7]", "actions"."""
        if component not in self._reads:
            self._reads[component] = self._find_reads(component)
        return self._reads[component]

    def _find_reads(self, component: str) -> frozenset[str]:
        value, involved = self.components().get(component), self.find_involved(component)
        statements = [
            value,
            *(s.value for s in self.function.body if isinstance(s, ast.Assign) and _writes_any(s, involved)),
        ]
        return frozenset().union(*(list_accesses(node) for node in statements if node is not None)) - involved

    # --- constants --------------------------------------------------------------------------------------------

    def constants(self) -> Iterator[tuple[str, ast.Constant]]:
        """(variable assigned, number) for every float that is a weight, a temperature or a target.

        Exponents, thresholds, indices and keyword arguments stay, and the 1.0 and 2.0 inside a formula are part of it.
        """
        for statement in self.function.body:
            name = _find_target(statement) or ""
            leading = set(_list_factors(statement.value)) if isinstance(statement, ast.Assign) else set()
            for node in _list_movable(statement):
                plain = isinstance(node, ast.Constant) and isinstance(node.value, float) and abs(node.value) > 1e-4
                if isinstance(node, ast.Constant) and plain and (node in leading or node.value not in (1.0, 2.0)):
                    yield name, node

    def temperatures(self, component: str) -> list[ast.Constant]:
        """The numbers that set how sharply the component responds."""
        involved = self.find_involved(component)
        return [c for name, c in self.constants() if name in involved and "temp" in name]

    def weight(self, component: str) -> float:
        """The size of the number that the whole component is multiplied with; 1 where there is none."""
        value = self.components().get(component)
        found = self.assignment(value.id) if isinstance(value, ast.Name) else None
        number = _read_number(_find_leftmost(found.value)) if found is not None else None
        return abs(number) if number else 1.0

    # --- edits ------------------------------------------------------------------------------------------------

    def scale(self, component: str, factor: float) -> bool:
        """Multiply one component, in the dictionary and in the total."""
        value = self.components().get(component)
        found = self.assignment(value.id) if isinstance(value, ast.Name) else None
        if found is None:
            return False
        found.value = scale_node(found.value, factor)
        return True

    def drop(self, component: str) -> bool:
        """Take one component out of dictionary and total, with the variables that only it needed."""
        value, listed = self.components().get(component), self.dictionary()
        if not isinstance(value, ast.Name) or listed is None or len(listed.keys) < 2:
            return False
        total = self._total()
        if total is None:
            return False
        left = [(sign, term) for sign, term in list_terms(total) if not _mentions(term, value.id)]
        if not left or len(left) == len(list_terms(total)):
            return False
        self._reads.clear()
        self._set_total(join_terms(left))
        keep = [
            i for i, key in enumerate(listed.keys) if not (isinstance(key, ast.Constant) and key.value == component)
        ]
        listed.keys, listed.values = [listed.keys[i] for i in keep], [listed.values[i] for i in keep]
        self.tidy()
        return True

    def add(self, part: Component, inputs: Mapping[str, str]) -> bool:
        """Add a component before the return. False when its name is taken or the dictionary is out of reach."""
        listed = self.dictionary()
        taken = {n.id for n in ast.walk(self.function) if isinstance(n, ast.Name)} | {a.arg for a in self._arguments}
        if listed is None or part.name in taken or (part.quantity.name in taken and not self._holds_quantity(part)):
            return False
        self._reads.clear()
        lines = part.lines()[1:] if part.quantity.name in taken else part.lines()
        total, place = self._total(), self._place_for_new(listed)
        self.function.body[place:place] = syntax.parse_module("\n".join(lines)).body
        term = ast.Name(part.name, ast.Load())
        self._set_total(ast.BinOp(total if total is not None else self._returned[0], ast.Add(), term))
        listed.keys.append(ast.Constant(part.name))
        listed.values.append(ast.Name(part.name, ast.Load()))
        present = {a.arg for a in self._arguments}
        for name in inputs:
            if name in part.quantity.inputs and name not in present:
                kind = syntax.parse_expression(choose_annotation(inputs[name]))
                self._arguments.append(ast.arg(name, kind))
        return True

    def tidy(self) -> None:
        """Remove assignments that nothing reads, then arguments that nothing reads."""
        while True:
            read = {n.id for n in ast.walk(self.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            idle = [s for s in self.function.body if _find_target(s) not in read | {None}]
            if not idle:
                break
            self.function.body = [s for s in self.function.body if s not in idle]
        self._arguments[:] = [a for a in self._arguments if a.arg in read]

    # --- the total --------------------------------------------------------------------------------------------

    @property
    def _arguments(self) -> list[ast.arg]:
        return self.function.args.args

    def _place_for_new(self, listed: ast.Dict) -> int:
        """Before the statements that make the total and the dictionary, and the return at the latest."""
        makers: list[ast.stmt] = [self.end]
        for value in self._returned:
            found = self.assignment(value.id) if isinstance(value, ast.Name) else None
            if found is not None and (
                found.value is listed or value is self._returned[0] and self._total() is not None
            ):
                makers.append(found)
        return min(self.function.body.index(node) for node in makers)

    def _holds_quantity(self, part: Component) -> bool:
        """Whether the quantity's variable already holds the quantity."""
        found = self.assignment(part.quantity.name)
        wanted = syntax.parse_expression(part.quantity.expression)
        return found is not None and ast.dump(found.value) == ast.dump(wanted)

    def _total_assignment(self) -> ast.Assign:
        total = self._returned[0]
        found = self.assignment(total.id) if isinstance(total, ast.Name) else None
        assert found is not None
        return found

    def _total(self) -> ast.expr | None:
        """The expression of the total, when it is one expression that does not build on an earlier value of itself."""
        total = self._returned[0]
        if not isinstance(total, ast.Name):
            return total
        writes = [s for s in ast.walk(self.function) if _writes(s, total.id)]
        found = self.assignment(total.id)
        return found.value if found is not None and len(writes) == 1 else None

    def _set_total(self, value: ast.expr) -> None:
        if self._total() is not None and isinstance(self._returned[0], ast.Name):
            self._total_assignment().value = value
        else:
            self._returned[0] = value


def list_accesses(node: ast.AST) -> frozenset[str]:
    """The variables that an expression reads, with their index where it is plain: "up_vec[:, 2]", "actions"."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return frozenset({ast.unparse(node)})
    if isinstance(node, ast.Name):
        return frozenset({node.id}) - {"torch", "math"}
    return frozenset().union(*(list_accesses(child) for child in ast.iter_child_nodes(node)))


def list_terms(node: ast.expr, sign: int = 1) -> list[tuple[int, ast.expr]]:
    """The terms of a sum, with their signs."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        right = sign if isinstance(node.op, ast.Add) else -sign
        return list_terms(node.left, sign) + list_terms(node.right, right)
    return [(sign, node)]


def join_terms(parts: list[tuple[int, ast.expr]]) -> ast.expr:
    """Inverse of terms."""
    sign, total = parts[0]
    total = total if sign > 0 else ast.UnaryOp(ast.USub(), total)
    for sign, term in parts[1:]:
        total = ast.BinOp(total, ast.Add() if sign > 0 else ast.Sub(), term)
    return total


def scale_node(node: ast.expr, factor: float) -> ast.expr:
    """The node times `factor`, merged into a leading number where there is one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        left, value = node.left, _read_number(node.left)
        if value is not None:
            return ast.BinOp(_make_literal(value * factor), node.op, node.right)
        if isinstance(left, ast.BinOp) and _read_number(_find_leftmost(left)) is not None:
            return ast.BinOp(scale_node(left, factor), node.op, node.right)
    return ast.BinOp(_make_literal(factor), ast.Mult(), node)


def _find_leftmost(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        node = node.left
    return node


def _read_number(node: ast.expr) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _read_number(node.operand)
        return None if value is None else -value
    return float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


def _make_literal(value: float) -> ast.expr:
    number = ast.Constant(round_digits(abs(value)))
    return number if value >= 0 else ast.UnaryOp(ast.USub(), number)


def _list_names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _mentions(node: ast.AST, name: str) -> bool:
    return name in _list_names(node)


def _writes(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return any(isinstance(t, ast.Name) and t.id == name for t in targets)


def _writes_any(node: ast.AST, names: set[str]) -> bool:
    return any(_writes(node, name) for name in names)


def _find_target(node: ast.stmt) -> str | None:
    """The variable of `name = value`; None for every other statement."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _list_factors(node: ast.expr) -> Iterator[ast.AST]:
    """The factors and divisors that the whole value is multiplied with."""
    if isinstance(node, ast.UnaryOp):
        yield from _list_factors(node.operand)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        yield from _list_factors(node.left)
        yield from _list_factors(node.right)
    else:
        yield node


def _list_movable(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below, except under indices, exponents, comparisons and keyword arguments."""
    yield node
    for child in ast.iter_child_nodes(node):
        exponent = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and child is node.right
        index = isinstance(node, ast.Subscript) and child is node.slice
        if not (exponent or index or isinstance(child, ast.keyword | ast.Compare)):
            yield from _list_movable(child)
