"""Pieces of prompts that several methods share. Nothing here reads a metric or a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm.prompts import render
from llm.records import Message, Problem


def chat(user: str) -> tuple[Message, ...]:
    """The two messages of every first request: who the model is, and what it is asked."""
    return ({"role": "system", "content": render("system")}, {"role": "user", "content": user})


def inputs_text(problem: Problem) -> str:
    """The reward inputs as a list, one "- `name`: type" a line."""
    return "\n".join(f"- `{name}`: {shape}" for name, shape in problem.inputs.items())


def problem_text(problem: Problem) -> str:
    """Task, observation code, inputs and writing tips."""
    return render(
        "problem",
        description=problem.description.strip(),
        observation_source=problem.observation_source.strip(),
        inputs=inputs_text(problem),
        tips=render("tips"),
    )


def first_prompt(problem: Problem) -> tuple[Message, ...]:
    """The prompt before there is any feedback."""
    return chat(render("first", problem=problem_text(problem)))


def number(value: float | None) -> str:
    """Four significant digits; "nan" where training gave none."""
    return "nan" if value is None else f"{value:.4g}"


def trace_text(trace: Mapping[str, Mapping[str, Any]]) -> str:
    """One line a component: "- name: [a, b, ...], max m, mean m, min m"."""
    lines = []
    for name, row in trace.items():
        samples = ", ".join(number(v) for v in row["samples"])
        ends = ", ".join(f"{key} {number(row[key])}" for key in ("max", "mean", "min"))
        lines.append(f"- {name}: [{samples}], {ends}")
    return "\n".join(lines) or "(no trace was recorded)"
