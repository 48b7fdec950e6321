"""Pieces of prompts that several methods share. Nothing here reads a metric or a score."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llm import extract
from llm.prompts import render
from llm.records import Candidate, Message, Outcome, Problem


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


def context_text(problem: Problem) -> str:
    """Task, observation code and inputs, for those who only read reward functions."""
    return render(
        "context",
        description=problem.description.strip(),
        observation_source=problem.observation_source.strip(),
        inputs=inputs_text(problem),
    )


def first_prompt(problem: Problem) -> tuple[Message, ...]:
    """The prompt before there is any feedback."""
    return chat(render("first", problem=problem_text(problem)))


ANSWER_TOKENS = 2000
"""Kept free for the answer."""
LETTERS_PER_TOKEN = 3
"""Of code and numbers; prose has more, so that prompts are taken for longer than they are."""
TOKENS_PER_IMAGE = 500
_EARLIER = re.compile(r"^## Best of iteration \d+\n.*?(?=^#|\Z)", re.MULTILINE | re.DOTALL)


def token_estimate(messages: Sequence[Message]) -> int:
    """About how many tokens these messages are; rather too many."""
    letters = images = 0
    for message in messages:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        letters += sum(len(part["text"]) for part in parts if part["type"] == "text")
        images += sum(part["type"] != "text" for part in parts)
    return letters // LETTERS_PER_TOKEN + images * TOKENS_PER_IMAGE


def fitted(messages: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The messages, without the oldest entries of their history where they would not fit into `room` tokens (0: all).

    The prompt says how many were left out. What is too long without any history stays so: the endpoint will refuse it.
    """
    talk, dropped = list(messages), 0
    while room and sum(len(m["content"]) for m in talk) > (room - ANSWER_TOKENS) * LETTERS_PER_TOKEN:
        place = next((i for i, m in enumerate(talk) if _EARLIER.search(m["content"])), None)
        if place is None:
            break
        dropped += 1
        note = f"(The oldest {dropped} left out: too long for this model.)\n\n"
        shorter = _EARLIER.sub(
            note, re.sub(r"^\(The oldest \d+ left out.*\n\n", "", talk[place]["content"], flags=re.M), 1
        )
        talk[place] = {**talk[place], "content": shorter}
    return tuple(talk)


def answer_text(candidate: Candidate) -> str:
    """A candidate as a prompt shows it."""
    return f"```python\n{candidate.source.strip()}\n```"


def example_text(outcome: Outcome) -> str:
    """A candidate with what trying it showed: its reward trace, or why it could not be trained."""
    if not outcome.ok:
        return f"{answer_text(outcome.candidate)}\n\nIt could not be trained: {outcome.reason}"
    return f"{answer_text(outcome.candidate)}\n\nReward trace:\n{trace_text(outcome.trace)}"


def gist(candidate: Candidate) -> str:
    """What a vote counts: the final answer. A reward function's is the set of inputs that it rewards or punishes."""
    return f"Rewards what it reads from: {', '.join(sorted(extract.arguments(candidate.source)))}"


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


PLACE = ("x", "y")
"""Where a free body is. How far and fast it went is the hidden metric of the locomotion tasks, so no prompt says it."""


def states_text(states: Mapping[str, Any]) -> str:
    """What a robot does in its film (Outcome.states), one line a coordinate; empty where nothing is known.

    Height, tilt, joints and falls; not the place of the body.
    """
    if not states:
        return ""
    seconds, falls = number(states["seconds"]), states["falls"]
    lines = [f"The film lasts {seconds} s; after failing, the episode began anew {falls} times in it."]
    for row in (row for row in states["coordinates"] if row["name"] not in PLACE):
        values = ", ".join(f"{key} {number(value)}" for key, value in row.items() if key != "name")
        lines.append(f"- {row['name']}: {values}")
    return "\n".join(lines)
