"""Buy replies of a model within a budget, and use each that was paid for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as counting
from itertools import islice
from threading import Lock
from typing import Any

from llm.backend import LOST, ChatBackend, OnReply, Reply, Watch, hash_images
from llm.records import Message, format_canonical
from llm.shortening import Conversation, shorten

StopCheck = Callable[[], None]
"""Raises the caller's exception when no more answers may be bought."""


class OutOfBudget(Exception):
    """The request has used up its budget of replies."""


@dataclass
class ReplyBuyer:
    """The replies of one request: new ones, and those saved by an earlier, interrupted run, which are used first."""

    backend: ChatBackend
    seed: int
    budget: int
    saved: Mapping[str, dict[int, Reply]]
    """Unused saved replies, by their question, then by seed."""
    on_call: OnReply | None
    stop_check: StopCheck | None = None
    tokens: int = 0
    watch: Watch | None = None
    room: int = 0
    left_out: int = 0
    calls: list[Reply] = field(default_factory=list)
    used: int = 0
    """Seeds that were used."""
    borrowed: set[int] = field(default_factory=set)
    """Seeds of saved replies that stood in for others: they are not asked again."""
    asked: int = 0
    """Replies asked for, which the budget limits; saved ones are free."""
    lock: Lock = field(default_factory=Lock)

    def take_seeds(self, count: int) -> list[int]:
        """The next unused seeds, at most as many as the budget allows. Raises OutOfBudget when it allows none."""
        count = min(count, self.budget - self.asked)
        if count <= 0:
            raise OutOfBudget
        free = (seed for seed in counting(self.seed + self.used) if seed not in self.borrowed)
        given = list(islice(free, count))
        self.used = given[-1] + 1 - self.seed
        return given

    def shorten(self, conversation: Conversation, images: Sequence[str] = (), wanted: int = 1) -> Conversation:
        """The conversation, shortened to the model's room beside these images; unchanged where all wanted answers are
        saved.
        """
        if len(self.find_unused_replies(attach_images(conversation.messages, images))) >= wanted:
            return conversation
        shorter = shorten(conversation, self.room, len(images))
        self.left_out = max(self.left_out, shorter.left_out)
        return shorter

    def get_replies(self, messages: Sequence[Message], seeds: Sequence[int]) -> list[Reply]:
        """One reply a seed, asked concurrently; fewer when some failed. Raises ModelError when asking again is
        useless.
        """
        saved = self.use_saved([self.find_unused_replies(messages)] * len(seeds), seeds)
        new = [seed for seed, reply in zip(seeds, saved, strict=True) if reply is None]
        found = [reply for reply in saved if reply is not None]
        return sorted([*found, *self.buy(messages, new)], key=lambda r: r.seed)

    def find_unused_replies(self, messages: Sequence[Message]) -> dict[int, Reply]:
        """The saved replies to these messages that have not been used."""
        return self.saved.get(format_canonical(hash_images(messages)), {})

    def use_saved(self, pools: Sequence[dict[int, Reply]], seeds: Sequence[int]) -> list[Reply | None]:
        """The reply to use from each pool of unused replies; None where one has to be bought.

        It is the reply of the same seed. Where that one never came, and an earlier run went on without it, it is
        another of the pool: there is none where nothing failed.
        """
        found = [pool.pop(seed, None) for pool, seed in zip(pools, seeds, strict=True)]
        for place, pool in enumerate(pools):
            if found[place] is None and pool:
                found[place] = other = pool.pop(min(pool))
                self.borrowed.add(other.seed)
        self.calls.extend(reply for reply in found if reply is not None)
        return found

    def buy(self, messages: Sequence[Message], seeds: Sequence[int]) -> list[Reply]:
        """New replies, asked concurrently; fewer when some failed. Raises ModelError when that is hopeless."""
        if seeds and self.stop_check:
            self.stop_check()
        with self.lock:
            self.asked += len(seeds)
        found: list[Reply] = []
        for first, count in _split_runs(seeds):
            more: dict[str, Any] = {"tokens": self.tokens, "watch": self.watch}
            set_here = {name: value for name, value in more.items() if value}
            found.extend(self.backend.complete(messages, count, first, self._note_reply, **set_here))
        return found

    def _note_reply(self, reply: Reply) -> None:
        with self.lock:
            if reply.finish_reason != LOST:
                self.calls.append(reply)
            if self.on_call:
                self.on_call(reply)


def _split_runs(seeds: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of consecutive seeds as (first, count)."""
    runs: list[tuple[int, int]] = []
    for seed in seeds:
        if runs and sum(runs[-1]) == seed:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((seed, 1))
    return runs


def group_replies(saved: Sequence[Reply]) -> dict[str, dict[int, Reply]]:
    """Whole replies by their question, then by seed: of any model and parameters, because they are paid for."""
    found: dict[str, dict[int, Reply]] = {}
    for reply in saved:
        if reply.finish_reason != LOST:
            found.setdefault(format_canonical(hash_images(reply.request["messages"])), {})[reply.seed] = reply
    return found


def attach_images(messages: Sequence[Message], images: Sequence[str]) -> tuple[Message, ...]:
    """The messages with these images (data URLs) behind the text of the last one, as OpenAI's format has it."""
    if not images:
        return tuple(messages)
    *before, last = messages
    parts = [{"type": "text", "text": last["content"]}]
    parts += [{"type": "image_url", "image_url": {"url": url}} for url in images]
    return (*before, {**last, "content": parts})
