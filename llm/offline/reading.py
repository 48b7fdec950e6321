"""What the offline writer reads from a chat: exactly the messages that a language model gets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llm import extract
from llm.records import Message

GOOD = frozenset({"preferred", "best", "good", "positive"})
BAD = frozenset({"rejected", "worst", "bad", "negative"})
_HEADING = re.compile(r"^#{1,4}\s+(.*)$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_EARLIER = re.compile(r"^Best of iteration \d+$")
_NAMES = re.compile(r"`(\w+)`")
_INPUT = re.compile(r"^\s*[-*]\s*`(\w+)`\s*:\s*(.+)$")
_TRACE = re.compile(r"^\s*[-*]\s*([^:\n]+?):\s*\[(.*?)\],\s*max ([^,]+), mean ([^,]+), min (\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """The trace of one component."""

    samples: tuple[float, ...]
    max: float
    mean: float
    min: float


@dataclass(frozen=True)
class Example:
    """A reward function shown in a prompt, with its trace."""

    source: str
    trace: Mapping[str, Row]


@dataclass(frozen=True)
class Past:
    """What a prompt tells of the best of an earlier iteration: no program, its trace, what set it apart."""

    trace: Mapping[str, Row]
    added: frozenset[str] = frozenset()
    """Components that it had and the best before it had not, as far as the words name them."""
    dropped: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Reading:
    """A prompt, understood as far as rules go."""

    task: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    observation_source: str = ""
    preferred: Example | None = None
    rejected: Example | None = None
    earlier: Example | None = None
    later: Example | None = None
    said: str = ""
    """The judge's own words."""
    history: tuple[Past, ...] = ()
    """The bests of earlier iterations, oldest first."""
    change: Past = Past({})
    """What set the preferred program apart from the best before it; it has its trace in `preferred`."""


def read(messages: Sequence[Message]) -> Reading:
    """Task, inputs, observation code and examples, found by the headings they stand under."""
    parts = split_sections(read_user_text(messages))
    return Reading(
        task=next((body for title, body in parts if split_words(title) & {"task"}), "").strip(),
        inputs=_read_inputs(parts),
        observation_source=next(
            (_read_code(body) for title, body in parts if split_words(title) & {"observation"}), ""
        ),
        preferred=_find_example(parts, GOOD),
        rejected=_find_example(parts, BAD),
        earlier=_find_example(parts, frozenset({"earlier"})),
        later=_find_example(parts, frozenset({"later"})),
        said=next((body for title, body in parts if split_words(title) & {"said", "reason"}), "").strip(),
        history=tuple(_read_past(body) for title, body in parts if _EARLIER.match(title)),
        change=_read_past(
            next((body for title, body in parts if split_words(title) & GOOD and "def " in body), ""), traced=False
        ),
    )


def read_user_text(messages: Sequence[Message]) -> str:
    """The text of all user messages."""
    return "\n\n".join(read_text(m) for m in messages if m["role"] == "user")


def read_text(message: Message) -> str:
    """The text of a message; of one with pictures, what is written beside them."""
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


def holds_pictures(message: Message) -> bool:
    """Whether the message holds anything but text."""
    content = message["content"]
    return not isinstance(content, str) and any(part["type"] != "text" for part in content)


def split_sections(text: str) -> list[tuple[str, str]]:
    """(title, body) of each Markdown section; lines inside code blocks are never headings."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            parts.append((heading[1], []))
        else:
            parts[-1][1].append(line)
    return [(title, "\n".join(lines)) for title, lines in parts]


def split_words(text: str) -> frozenset[str]:
    """Lower-case words and parts of identifiers."""
    return frozenset(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()))


def _read_inputs(parts: Sequence[tuple[str, str]]) -> dict[str, str]:
    body = next((body for title, body in parts if split_words(title) & {"inputs"}), "")
    return {m[1]: m[2] for line in body.splitlines() if (m := _INPUT.match(line))}


def _read_code(body: str) -> str:
    return "\n\n".join(extract.find_fenced_blocks(body))


def _find_example(parts: Sequence[tuple[str, str]], names: frozenset[str]) -> Example | None:
    """The last section so titled that holds a reward function."""
    found = [
        (body, extract.find_source(body)) for title, body in parts if split_words(title) & names and "def " in body
    ]
    return next((Example(code, read_trace(body)) for body, code in reversed(found) if code), None)


def _read_past(body: str, traced: bool = True) -> Past:
    """An earlier best, from the words that llm.offline.describing uses, which other describers often use too."""
    named = {
        verb: frozenset(name for found in re.findall(rf"\b{verb}s? ([^.\n]*)", body) for name in _NAMES.findall(found))
        for verb in ("add", "drop")
    }
    return Past(read_trace(body) if traced else {}, named["add"], named["drop"])


def read_trace(text: str) -> dict[str, Row]:
    """The reward trace in `text`, by component; rows that hold no numbers are left out."""
    rows = {}
    for name, samples, *ends in _TRACE.findall(text):
        try:
            values = tuple(float(v) for v in samples.split(",") if v.strip())
            rows[name.strip("` ")] = Row(values, *(float(v) for v in ends))
        except ValueError:
            continue
    return rows
