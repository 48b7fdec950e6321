"""Prints a reward function the same way every time, so that two of them differ only where they do different things."""

from __future__ import annotations

import ast
import json

WIDTH = 100


def format_function(function: ast.FunctionDef) -> str:
    """Source with one argument, one term of a long sum and one component a line."""
    arguments = "".join(f"    {ast.unparse(a)},\n" for a in function.args.args)
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    body = "\n".join(_format_statement(node) for node in function.body)
    return f"def {function.name}(\n{arguments}){returns}:\n{body}\n"


def _format_statement(node: ast.stmt) -> str:
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and isinstance(node.value.elts[-1], ast.Dict):
        first = ", ".join(ast.unparse(e) for e in node.value.elts[:-1])
        return f"    return {first}, {_format_dictionary(node.value.elts[-1])}"
    line = ast.unparse(node)
    if isinstance(node, ast.Assign) and len(line) > WIDTH and _is_sum(node.value):
        left = line.split(" = ", 1)[0]
        return f"    {left} = (\n{_format_sum(node.value)}\n    )"
    return "\n".join(f"    {part}" for part in line.splitlines())


def _format_dictionary(node: ast.Dict) -> str:
    rows = "".join(
        f"        {json.dumps(key.value)}: {ast.unparse(value)},\n"
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    )
    return f"{{\n{rows}    }}"


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _format_sum(node: ast.expr) -> str:
    """The terms of a sum, one a line."""
    lines: list[str] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        right = ast.BinOp(ast.Name("_", ast.Load()), node.op, node.right)
        lines.append(f"        {ast.unparse(right)[2:]}")
        node = node.left
    return "\n".join([f"        {ast.unparse(node)}", *reversed(lines)])
