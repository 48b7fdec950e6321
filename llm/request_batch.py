"""Several concurrent requests to one endpoint: when each starts, which is repeated, and how all are given up."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import openai

from llm import failures, wire
from llm.backend import Underway, Watch
from llm.gate import Gate
from llm.prices import Usage

log = logging.getLogger(__name__)

TICK_SECONDS = 0.2
"""Seconds between two reports of progress to the caller, who may give the answers up."""


@dataclass
class Turn:
    """One of the requests."""

    seed: int
    tries: int = 0
    not_before: float = 0.0
    started: float | None = None
    heard: list[str] = field(default_factory=list)
    """The pieces of text that the current try has brought, thoughts included."""
    first_heard: float | None = None
    """When the first of them came."""
    ticket: Any = None
    sent: Mapping[str, Any] = field(default_factory=dict)

    def hear(self, piece: str) -> None:
        """Keep a piece of text."""
        if self.first_heard is None:
            self.first_heard = time.monotonic()
        self.heard.append(piece)


@dataclass
class RequestBatch:
    """`body(seed)` is what to send now; `on_end` takes each turn with its answer or its last failure.

    `on_loss` takes a turn whose try ended in the middle, also because it was given up, with what the server says that
    it cost: because it is paid for. `on_refusal` notes a parameter that the endpoint does not take. `size` is about how
    many tokens one request costs.
    """

    gate: Gate
    body: Callable[[int], Mapping[str, Any]]
    on_refusal: Callable[[str], None]
    on_end: Callable[[Turn, wire.Answer | failures.Failure], bool]
    """False when no further requests are to be started."""
    on_loss: Callable[[Turn, Usage | None], None]
    size: int
    most_tries: int
    watch: Watch | None = None
    waiting: list[Turn] = field(default_factory=list)
    running: dict[Future[wire.Answer], Turn] = field(default_factory=dict)
    answered: int = 0

    def run(self, client: openai.AsyncOpenAI, seeds: range) -> None:
        """Run the requests of all seeds to their ends."""
        self.waiting = [Turn(seed) for seed in seeds]
        try:
            while self.waiting or self.running:
                self._start(client)
                if self.watch:
                    self.watch(self._describe_progress(len(seeds)))
                for future in self._wait():
                    self._settle(self.running.pop(future), future)
        except BaseException as reason:
            self._give_up_all(reason)
            raise

    def _give_up_all(self, reason: BaseException) -> None:
        """End the running requests. Every place at the gate is left, also where an answer cannot be saved; such an
        error is noted on the reason for giving up, and does not take its place.
        """
        for future in self.running:
            future.cancel()
        for future, turn in self.running.items():
            try:
                self._give_up(turn, future)
            except Exception as error:  # `on_end` is the caller's and may raise anything; the others are still to end
                kind, trace = type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
                log.error("an answer that was under way could not be saved: %s\n%s", kind, trace)  # without its text
                reason.add_note(f"an answer that was under way could not be saved: {kind}: {error}")

    def _start(self, client: openai.AsyncOpenAI) -> None:
        now = time.monotonic()
        for turn in [turn for turn in self.waiting if turn.not_before <= now]:
            ticket = self.gate.enter(self.size)
            if ticket is None:
                return
            self.waiting.remove(turn)
            turn.ticket, turn.heard, turn.first_heard, turn.sent = ticket, [], None, self.body(turn.seed)
            turn.tries, turn.started = turn.tries + 1, turn.started or now
            asked = wire.ask(client, turn.sent, turn.hear)
            self.running[asyncio.run_coroutine_threadsafe(asked, wire.get_loop())] = turn

    def _wait(self) -> list[Future[wire.Answer]]:
        if not self.running:
            time.sleep(TICK_SECONDS)
            return []
        return list(wait(self.running, TICK_SECONDS, FIRST_COMPLETED).done)

    def _settle(self, turn: Turn, future: Future[wire.Answer]) -> None:
        """The place at the gate is left last: a budget counts what is under way until it is saved."""
        answer = None
        try:
            answer, failure = _get_result(future)
            if failure is not None:
                self._report_loss(turn, failure)
                if self._try_again(turn, failure):
                    self.waiting.append(turn)
                    return
            self.answered += answer is not None
            if not self.on_end(turn, answer or failure):  # type: ignore[arg-type]  # one of them is there
                self.waiting.clear()
        finally:
            self.gate.leave(turn.ticket, _count_tokens(answer))

    def _give_up(self, turn: Turn, future: Future[wire.Answer]) -> None:
        """An answer that was whole before it was given up is paid for, and kept."""
        answer = failure = None
        try:
            if not future.cancelled():
                answer, failure = _get_result(future)
            if answer is None:
                self._report_loss(turn, failure)
            else:
                self.on_end(turn, answer)
        finally:
            self.gate.leave(turn.ticket, _count_tokens(answer))

    def _report_loss(self, turn: Turn, failure: failures.Failure | None) -> None:
        """Report what a lost try cost: the answer so far, and the prompt where the server timed out."""
        usage = failure.usage if isinstance(failure, wire.BrokenOff) else None
        if turn.heard or usage or failures.is_silence(failure):
            self.on_loss(turn, usage)

    def _try_again(self, turn: Turn, failure: failures.Failure) -> bool:
        """Whether this turn is to be tried once more, and from when on."""
        name = failures.find_refused_parameter(failure, turn.sent)
        if name is not None:
            self.on_refusal(name)
            turn.tries -= 1
            return True
        if not failures.may_pass(failure) or turn.tries >= self.most_tries:
            return False
        asked = failures.pause_asked_for(failure)
        if asked is not None and asked > failures.LONGEST_PAUSE:
            return False
        turn.not_before = time.monotonic() + failures.pause_before_next_try(failure, turn.tries)
        if asked:
            self.gate.rest(asked)
        return True

    def _describe_progress(self, asked: int) -> Underway:
        tokens = sum(len(turn.heard) for turn in self.running.values())
        return Underway(tokens, self.answered, asked, bool(self.waiting))


def _get_result(future: Future[wire.Answer]) -> tuple[wire.Answer | None, failures.Failure | None]:
    """The answer or the failure: returned, so that no traceback of it carries a header into a log."""
    try:
        return future.result(), None
    except failures.FAILURES as failure:
        return None, failure


def _count_tokens(answer: wire.Answer | None) -> int | None:
    usage = answer.usage if answer else None
    return usage.input_tokens + usage.output_tokens if usage else None


@contextmanager
def open_client(base_url: str, api_key: str, timeout: float) -> Iterator[openai.AsyncOpenAI]:
    """A client for one call of `complete`; its connections are closed at the end, also running ones."""
    client = wire.make_client(base_url, api_key, timeout)
    try:
        yield client
    finally:
        asyncio.run_coroutine_threadsafe(client.close(), wire.get_loop()).result(timeout=10)
