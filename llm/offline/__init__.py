"""The offline writer: rules that answer as a model would, from the same messages. It is not a language model.

With inputs and a task it drafts a program; with a preferred program it refines that one; with two programs it describes
their difference. The same messages and seed always give the same answer.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from llm.backend import OnReply, Reply, Underway, Watch, hash_images, hash_request
from llm.gate import Gate, Slots, enter_gate
from llm.offline import choosing, designing, searching
from llm.offline.describing import describe
from llm.offline.drafting import draft, write_source
from llm.offline.quantities import Quantity, derive
from llm.offline.reading import Reading, holds_pictures, read, read_text
from llm.offline.refining import refine
from llm.prices import Usage
from llm.records import Message, format_canonical
from llm.shortening import estimate_tokens

MODEL = "offline-writer"
NOTICE = "This is Prefine's offline writer: a set of rules, not a language model."
BLIND = "It looks at no pictures: those in the question were ignored."


class OfflineWriter:
    """A ChatBackend that needs no key, no network and no GPU."""

    model = MODEL
    endpoint = "offline"

    def __init__(self) -> None:
        self.gate: Gate = Slots(8)

    def complete(
        self,
        messages: Sequence[Message],
        count: int,
        seed: int,
        on_reply: OnReply | None = None,
        tokens: int = 0,
        watch: Watch | None = None,
    ) -> list[Reply]:
        """See ChatBackend. It answers at once, so `watch` hears only of waiting."""
        replies: list[Reply] = []
        told = partial(watch, Underway(0, 0, count, held=True)) if watch else lambda: None
        for number in range(seed, seed + count):
            with enter_gate(self.gate, estimate_tokens(messages) + tokens, told):
                replies.append(self._write_one(messages, number, tokens))
                if on_reply:
                    on_reply(replies[-1])
        return replies

    def _write_one(self, messages: Sequence[Message], seed: int, limit: int) -> Reply:
        started = time.monotonic()
        text, finish = cut(answer(messages, seed), limit)
        request = {"endpoint": self.endpoint, "model": MODEL, "messages": hash_images(messages), "seed": seed}
        return Reply(
            text=text,
            finish_reason=finish,
            usage=Usage(sum(count_tokens(read_text(m)) for m in messages), count_tokens(text)),
            cost=0.0,
            latency=time.monotonic() - started,
            model=MODEL,
            fingerprint="",
            request=request,
            request_hash=hash_request(request),
            seed=seed,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def count_tokens(text: str) -> int:
    """Words and punctuation marks, the rules' measure of length in place of a tokenizer's."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def cut(text: str, limit: int) -> tuple[str, str]:
    """The first `limit` tokens (0: all) and the finish reason."""
    ends = [m.end() for m in re.finditer(r"\w+|[^\w\s]", text)]
    return (text[: ends[limit - 1]], "length") if limit and len(ends) > limit else (text, "stop")


def answer(messages: Sequence[Message], seed: int) -> str:
    """The reply to these messages."""
    said = _answer(messages, seed)
    return said.replace(NOTICE, f"{NOTICE} {BLIND}", 1) if any(map(holds_pictures, messages)) else said


def _answer(messages: Sequence[Message], seed: int) -> str:
    reading = read(messages)
    digest = hashlib.sha256(f"{seed}:{format_canonical(list(messages))}".encode()).digest()
    rng = random.Random(digest)
    for speciality in (searching, designing, choosing):
        if said := speciality.answer(messages, reading, seed, rng):
            return f"{NOTICE}\n\n{said}"
    if reading.earlier and reading.later:
        return f"{NOTICE} {describe(reading.earlier, reading.later)}"
    if not reading.inputs:
        return f"{NOTICE} It only writes reward functions from documented inputs and compares two of them."
    quantities = derive(reading)
    if not quantities:
        return f"{NOTICE} Its rules know none of these inputs: {', '.join(reading.inputs)}."
    code, done = _write_program(reading, seed, rng, quantities)
    return f"{NOTICE} {done}\n\n```python\n{code}```\n"


def _write_program(reading: Reading, seed: int, rng: random.Random, quantities: list[Quantity]) -> tuple[str, str]:
    refined = None if is_stuck(reading) and seed % 2 else refine(reading, seed, rng, quantities)
    if refined is not None:
        return refined[0], f"Starting from the preferred program: {refined[1]}."
    parts = draft(rng, seed, quantities)
    listed = ", ".join(f"{p.quantity.name} ({p.form})" for p in parts)
    return write_source(parts, reading.inputs), f"A first program from {listed}."


def is_stuck(reading: Reading) -> bool:
    """Whether the prompt shows a task score that never rose in training: then every other answer is a new draft."""
    row = reading.preferred.trace.get("task_score") if reading.preferred else None
    return row is not None and len(row.samples) > 1 and max(row.samples[1:]) <= row.samples[0]
