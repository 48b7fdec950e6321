"""Pieces of prompts that several methods share. Nothing here reads a metric or a score."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
_HISTORY = re.compile(
    r"## Best of iteration \d+|## Parent \d+|# Reward function on the path \d+"
    r"|# (?:Elite reward function|Reward function of another branch) \d+"
)
"""Headings of what a prompt can do without: ICPL's earlier bests, the first candidates that one more is to differ from,
and the nodes of RF-Agent's tree beside the parent. Within a prompt they stand from the oldest on."""
_JUDGED = r"Judged (?:best|worst|neither best nor worst) of itself and \d+ others in round \d+\."
_EARLIER_WORDS = re.compile(rf"{_JUDGED}(?:(?!\n# ).)*?(?={_JUDGED})", re.DOTALL)
"""What RF-Agent's judge said of a node, but for the last time."""
_NOTE = re.compile(r"^\(The oldest (\d+) left out: too long for this model\.\)\n\n", re.MULTILINE)
_ATTEMPTS = "(Earlier attempts are left out: too long for this model.)\n\n"
_LINE = re.compile(r"^.*$", re.MULTILINE)


def token_estimate(messages: Sequence[Message]) -> int:
    """About how many tokens these messages are; rather too many."""
    letters = images = 0
    for message in messages:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        letters += sum(len(part["text"]) for part in parts if part["type"] == "text")
        images += sum(part["type"] != "text" for part in parts)
    return letters // LETTERS_PER_TOKEN + images * TOKENS_PER_IMAGE


@dataclass(frozen=True)
class Fitted:
    """Messages that fit into a model's context, and how many pieces of their history were left out for that."""

    messages: tuple[Message, ...]
    left_out: int = 0


def fitted(messages: Sequence[Message], room: int, images: int = 0) -> Fitted:
    """The messages, without the oldest pieces of their history where they, with so many images, would not fit into
    `room` tokens (0: all).

    Of a program that is repaired for the second time the first attempt goes first; then what judges said before, then
    earlier programs. The prompt says that attempts were left out, and how many of the others. What is too long without
    any history stays so: the endpoint will refuse it.
    """
    talk, left_out = list(messages), 0
    most = (room - ANSWER_TOKENS - images * TOKENS_PER_IMAGE) * LETTERS_PER_TOKEN
    while room and sum(len(m["content"]) for m in talk) > most:
        place = next((i for i, m in enumerate(talk) if _oldest(m["content"])), None)
        attempts = [i for i, m in enumerate(talk) if m["role"] == "assistant"]
        if len(attempts) > 1:
            del talk[attempts[0] : attempts[0] + 2]  # the answer, and what was wrong about it
            place = attempts[1] - 1  # what was wrong about the next
            talk[place] = {**talk[place], "content": _ATTEMPTS + talk[place]["content"]}
        elif place is not None:
            talk[place] = {**talk[place], "content": _shorter(talk[place]["content"])}
        else:
            break
        left_out += 1
    return Fitted(tuple(talk), left_out)


def _shorter(text: str) -> str:
    """Without its oldest piece of history, and with a note of how many are gone in its place."""
    gone = 1 + sum(int(note[1]) for note in _NOTE.finditer(text))
    text = _NOTE.sub("", text)
    span = _oldest(text)
    assert span is not None
    line = text.rfind("\n", 0, span[0]) + 1
    note = f"(The oldest {gone} left out: too long for this model.)\n\n"
    return text[:line] + note + text[line : span[0]] + text[span[1] :]


def _oldest(text: str) -> tuple[int, int] | None:
    """Where the piece of history stands that can go first; None where there is none."""
    if words := _EARLIER_WORDS.search(text):
        return words.span()
    headings, fenced = [], False
    for line in _LINE.finditer(text):
        fenced ^= line[0].startswith("```")  # a line of code may begin with #, too
        if line[0].startswith("#") and not fenced:
            headings.append(line)
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return next(((h.start(), end) for h, end in zip(headings, ends, strict=False) if _HISTORY.fullmatch(h[0])), None)


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


def values_text(components: Mapping[str, Sequence[float]]) -> str:
    """One line a component: "- name: a, b, ...", its values at some moments."""
    return "\n".join(f"- {name}: {', '.join(map(number, values))}" for name, values in components.items())


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
