"""Pieces of prompts that several methods share. Nothing here reads a metric or a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llm.prompts import render
from llm.records import Message, Problem


def make_chat(user: str) -> tuple[Message, ...]:
    """The two messages of every first request: who the model is, and what it is asked."""
    return ({"role": "system", "content": render("system")}, {"role": "user", "content": user})


def format_inputs(problem: Problem) -> str:
    """The reward inputs as a list, one "- `name`: type" a line."""
    return "\n".join(f"- `{name}`: {shape}" for name, shape in problem.inputs.items())


def format_problem(problem: Problem, more_tips: str = "") -> str:
    """Task, observation code, inputs and writing tips; `more_tips` stand before those that all methods give."""
    return render(
        "problem",
        description=problem.description.strip(),
        observation_source=problem.observation_source.strip(),
        inputs=format_inputs(problem),
        tips="\n".join(filter(None, (more_tips, render("tips")))),
    )


def format_context(problem: Problem) -> str:
    """Task, observation code and inputs, for those who only read reward functions."""
    return render(
        "context",
        description=problem.description.strip(),
        observation_source=problem.observation_source.strip(),
        inputs=format_inputs(problem),
    )


def first_prompt(problem: Problem) -> tuple[Message, ...]:
    """The prompt before there is any feedback."""
    return make_chat(render("first", problem=format_problem(problem)))


def format_number(value: float | None) -> str:
    """Four significant digits; "nan" where training gave none."""
    return "nan" if value is None else f"{value:.4g}"


def format_trace(trace: Mapping[str, Mapping[str, Any]]) -> str:
    """One line a component: "- name: [a, b, ...], max m, mean m, min m"."""
    lines = []
    for name, row in trace.items():
        samples = ", ".join(format_number(v) for v in row["samples"])
        ends = ", ".join(f"{key} {format_number(row[key])}" for key in ("max", "mean", "min"))
        lines.append(f"- {name}: [{samples}], {ends}")
    return "\n".join(lines) or "(no trace was recorded)"


def format_components(components: Mapping[str, Sequence[float]]) -> str:
    """One line a component: "- name: a, b, ...", its values at some moments."""
    return "\n".join(f"- {name}: {', '.join(map(format_number, values))}" for name, values in components.items())


PLACE = ("x", "y")
"""The coordinates of a free body's place, which prompts leave out: how far and fast it went is the hidden metric of the
locomotion tasks."""


def format_states(states: Mapping[str, Any]) -> str:
    """What a robot does in its film (Outcome.states), one line a coordinate; empty where nothing is known.

    Height, tilt, joints and falls; not the place of the body.
    """
    if not states:
        return ""
    seconds, falls = format_number(states["seconds"]), states["falls"]
    lines = [f"The film lasts {seconds} s; after failing, the episode restarted {falls} times in it."]
    for row in (row for row in states["coordinates"] if row["name"] not in PLACE):
        values = ", ".join(f"{key} {format_number(value)}" for key, value in row.items() if key != "name")
        lines.append(f"- {row['name']}: {values}")
    return "\n".join(lines)
