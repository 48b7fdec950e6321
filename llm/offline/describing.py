"""Says in words what one reward function changed against another, from their trees and traces."""

from __future__ import annotations

from collections.abc import Mapping

from llm.offline.reading import Example, Row
from llm.offline.refining import compute_size
from llm.offline.syntax_tree import Program


def describe(earlier: Example, later: Example) -> str:
    """At most five sentences: components added and dropped, numbers moved, and what the traces show."""
    before, after = Program.parse(earlier.source), Program.parse(later.source)
    if before is None or after is None:
        return "The two programs are built too differently to compare them by rules."
    sentences = _describe_structure(before, after) + _describe_traces(earlier.trace, later.trace)
    return " ".join(sentences[:5]) or "The later program is the same as the earlier one."


def _describe_structure(before: Program, after: Program) -> list[str]:
    old, new = before.components(), after.components()
    sentences = []
    if added := [n for n in new if n not in old]:
        sentences.append(f"It adds {_list_names(added)}.")
    if dropped := [n for n in old if n not in new]:
        sentences.append(f"It drops {_list_names(dropped)}.")
    moved = []
    numbers_before, numbers_after = _list_numbers(before), _list_numbers(after)
    for name, values in numbers_after.items():
        was = numbers_before.get(name)
        if was and len(was) == len(values) and was != values:
            moved.append(f"{name} from {_format_numbers(was)} to {_format_numbers(values)}")
    if moved:
        sentences.append(f"It moves the numbers of {'; '.join(moved[:6])}.")
    return sentences


def _list_numbers(program: Program) -> dict[str, list[float]]:
    """Variable -> the numbers in what is assigned to it."""
    found: dict[str, list[float]] = {}
    for name, constant in program.constants():
        if name and isinstance(constant.value, float):
            found.setdefault(name, []).append(constant.value)
    return found


def _describe_traces(before: Mapping[str, Row], after: Mapping[str, Row]) -> list[str]:
    sentences = []
    shared = [n for n in after if n in before and n not in ("total", "episode_length") and compute_size(before[n]) > 0]
    for name in sorted(
        shared, key=lambda n: -abs(compute_size(after[n]) - compute_size(before[n])) / compute_size(before[n])
    )[:1]:
        sentences.append(f"`{name}` goes from {before[name].mean:.3g} to {after[name].mean:.3g} on average.")
    if "episode_length" in before and "episode_length" in after:
        lengths = before["episode_length"].samples[-1:], after["episode_length"].samples[-1:]
        if all(lengths):
            sentences.append(
                f"At the end of training episodes last {lengths[1][0]:.3g} steps, before {lengths[0][0]:.3g}."
            )
    return sentences


def _list_names(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def _format_numbers(values: list[float]) -> str:
    return ", ".join(f"{v:g}" for v in values)
