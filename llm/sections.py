"""Texts of prompts with marked optional parts, which a writer leaves out where a prompt is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from llm.prompts import get_template
from llm.records import Message, Span

REMARK, EXAMPLE = 0, 1
"""Ranks of optional parts: earlier words about a candidate are left out before whole candidates."""


@dataclass(frozen=True)
class Part:
    """An optional part of a text. The lowest rank goes first, and within a rank the part that stands first."""

    rank: int
    start: int
    end: int

    def move(self, offset: int) -> Part:
        """The same part in a text that begins `offset` characters later."""
        return replace(self, start=self.start + offset, end=self.end + offset)


@dataclass(frozen=True)
class Text:
    """A text and its optional parts."""

    text: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Prompt:
    """The parts of a Write: the messages, and the optional parts of the last one, the first to go first."""

    messages: tuple[Message, ...]
    optional: tuple[Span, ...] = ()


def mark_optional(text: str | Text, rank: int = EXAMPLE) -> Text:
    """The text as a part that can be left out as a whole."""
    inner = _as_text(text)
    return Text(inner.text, (*inner.parts, Part(rank, 0, len(inner.text))))


def join_texts(separator: str, texts: Iterable[str | Text]) -> Text:
    """Join like str.join, and keep the optional parts."""
    whole, parts, first = "", list[Part](), True
    for text in map(_as_text, texts):
        whole += "" if first else separator
        parts += [part.move(len(whole)) for part in text.parts]
        whole, first = whole + text.text, False
    return Text(whole, tuple(parts))


def fill_prompt(name: str, /, **values: str | Text) -> Text:
    """As llm.prompts.render, keeping the optional parts of the values. Raises PromptError as that does."""
    wanted = get_template(name, values)
    pieces, place = list[str | Text](), 0
    for found in wanted.pattern.finditer(wanted.template):
        variable = found["named"] or found["braced"]
        pieces += [wanted.template[place : found.start()], values[variable] if variable else "$"]
        place = found.end()
    return _strip(join_texts("", [*pieces, wanted.template[place:]]))


def make_prompt(chat: Callable[[str], tuple[Message, ...]], text: Text) -> Prompt:
    """The messages that `chat` makes of the text, which must be the whole of the last one."""
    in_order = sorted(text.parts, key=lambda part: (part.rank, part.start))
    return Prompt(chat(text.text), tuple((part.start, part.end) for part in in_order))


def move_spans(spans: Sequence[Sequence[int]], text: str, change: Callable[[str], str]) -> list[list[int]]:
    """Where the spans of `text` are after `change`, which replaces words within a span or outside all of them."""
    return [[len(change(text[:place])) for place in span] for span in spans]


def _as_text(text: str | Text) -> Text:
    return Text(text) if isinstance(text, str) else text


def _strip(text: Text) -> Text:
    before = len(text.text) - len(text.text.lstrip())
    return Text(text.text.strip(), tuple(part.move(-before) for part in text.parts))
