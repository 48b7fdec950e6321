"""How different candidates are, by what their programs compute and by what their robots do: from 0 to 1."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeVar

from llm import extract
from llm.offline.syntax_tree import list_accesses
from llm.records import Outcome

T = TypeVar("T")
WATCHED = ("mean", "speed")
"""The numbers of each coordinate in Outcome.states that are compared."""
SMALL = 0.05
"""Differences of this size, in metres, radians or per second, are hardly seen."""


def measure_code_distance(outcomes: Sequence[Outcome]) -> float | None:
    """Mean distance of all pairs of programs; None for fewer than two."""
    return _average_pairs([list_features(o.candidate.source) for o in outcomes], jaccard)


def measure_behaviour_distance(outcomes: Sequence[Outcome]) -> float | None:
    """Mean distance of all pairs of films whose states are known; None for fewer than two."""
    return _average_pairs([measure_film(o) for o in outcomes if o.ok and o.states], canberra)


def list_features(source: str) -> frozenset[str]:
    """The inputs that a program reads and the functions that it applies; places and names of variables do not count."""
    tree = extract.parse(source)
    if tree is None:
        return frozenset()
    inputs = set(extract.list_arguments(source))
    read = {access for access in list_accesses(tree) if access.partition("[")[0] in inputs}
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(read | {f"{name}()" for name in called})


def measure_film(outcome: Outcome) -> tuple[float, ...]:
    """The film in numbers: how often the robot fell a second, then mean and speed of each coordinate."""
    states = outcome.states
    falls = states["falls"] / (states["seconds"] or 1.0)
    return (falls, *(float(row[name]) for row in states["coordinates"] for name in WATCHED))


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """1 - |A and B| / |A or B|; 0 for two empty sets."""
    return 1 - len(first & second) / len(first | second) if first | second else 0.0


def canberra(first: Sequence[float], second: Sequence[float]) -> float:
    """Mean of |a - b| / (|a| + |b| + 0.05) over the numbers: differences count in proportion to what differs."""
    shares = [abs(a - b) / (abs(a) + abs(b) + SMALL) for a, b in zip(first, second, strict=True)]
    return sum(shares) / len(shares)


def _average_pairs(items: Sequence[T], distance: Callable[[T, T], float]) -> float | None:
    pairs = [distance(a, b) for a, b in combinations(items, 2)]
    return sum(pairs) / len(pairs) if pairs else None
