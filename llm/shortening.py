"""Shortening of prompts that are too long for a model: what is left out, and what the prompt says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from llm.records import Message, Span

ANSWER_TOKENS = 2000
"""Kept free for the answer."""
LETTERS_PER_TOKEN = 3
"""Letters of a token in code and numbers; prose has more, so that the estimate is rather too high."""
TOKENS_PER_IMAGE = 500
PARTS_LEFT_OUT = "(The oldest {} left out: too long for this model.)\n\n"
ATTEMPTS_LEFT_OUT = "(Earlier attempts are left out: too long for this model.)\n\n"


def estimate_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens these messages are; rather too many."""
    letters = images = 0
    for message in messages:
        content = message["content"]
        parts: list[Any] = content if isinstance(content, list) else [{"type": "text", "text": content}]
        letters += sum(len(part["text"]) for part in parts if part["type"] == "text")
        images += sum(part["type"] != "text" for part in parts)
    return letters // LETTERS_PER_TOKEN + images * TOKENS_PER_IMAGE


@dataclass(frozen=True)
class Attempt:
    """An answer that was refused, and the message that says why."""

    answer: Message
    verdict: Message


@dataclass(frozen=True)
class Conversation:
    """A prompt, the refused attempts at an answer, and how much of both is left out of its messages."""

    prompt: tuple[Message, ...]
    optional: tuple[Span, ...] = ()
    """Parts of the prompt's last message that can be left out, the first to go first."""
    attempts: tuple[Attempt, ...] = ()
    parts_left_out: int = 0
    attempts_left_out: int = 0

    @property
    def left_out(self) -> int:
        """The number of pieces that are left out."""
        return self.parts_left_out + self.attempts_left_out

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages to send."""
        *before, last = self.prompt
        content = leave_out(last["content"], self.optional[: self.parts_left_out]) if self.parts_left_out else None
        talk = [*before, last if content is None else {**last, "content": content}]
        for place, attempt in enumerate(self.attempts[self.attempts_left_out :]):
            noted = ATTEMPTS_LEFT_OUT if self.attempts_left_out and not place else ""
            talk += [attempt.answer, {**attempt.verdict, "content": noted + attempt.verdict["content"]}]
        return tuple(talk)

    def add_attempt(self, attempt: Attempt) -> Conversation:
        """The conversation after one more refused answer."""
        return replace(self, attempts=(*self.attempts, attempt))

    def leave_out_next(self) -> Conversation | None:
        """Leave out one more piece: the oldest attempt while there is a later one, then the next optional part."""
        if len(self.attempts) - self.attempts_left_out > 1:
            return replace(self, attempts_left_out=self.attempts_left_out + 1)
        if self.parts_left_out < len(self.optional):
            return replace(self, parts_left_out=self.parts_left_out + 1)
        return None


def shorten(conversation: Conversation, room: int, images: int = 0) -> Conversation:
    """The conversation without what goes first where it would not fit into `room` tokens beside this many images.

    A room of 0 means no limit. What is too long even without its optional parts stays too long, and the endpoint
    refuses it.
    """
    most = (room - ANSWER_TOKENS - images * TOKENS_PER_IMAGE) * LETTERS_PER_TOKEN
    while room and sum(len(message["content"]) for message in conversation.messages) > most:
        shorter = conversation.leave_out_next()
        if shorter is None:
            break
        conversation = shorter
    return conversation


def leave_out(text: str, spans: Sequence[Span]) -> str:
    """The text without these spans and the white space behind each, with their number where the last of them stood."""
    kept, place = "", 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        kept += text[place:start]  # empty within a span that is left out already
        kept += PARTS_LEFT_OUT.format(len(spans)) if (start, end) == tuple(spans[-1]) else ""
        place = max(place, len(text) - len(text[end:].lstrip()))
    return kept + text[place:]
