"""Progress of a job while a model writes; stops the answers when the lease must end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from llm.backend import LOST, OnReply, Reply, Underway
from webapp.experiments.execute.budget_gate import BudgetGate, measure_usual_tokens
from webapp.experiments.leases import Lease
from webapp.experiments.models import Request

SILENT_SECONDS = 2.0
"""No progress is reported before this time."""


class WritingProgress:
    """A llm.backend.Watch that writes the job's progress. It may be called from any thread.

    `budget_gate`: adds the cost of open calls to the progress.
    """

    budget_gate: BudgetGate | None = None

    def __init__(self, lease: Lease, stop_check: Callable[[], None], request: Request, count: int) -> None:
        """`count`: answers wanted at first; repairs and replacements come on top."""
        self.lease, self.stop_check, self.count = lease, stop_check, count
        self.usual = measure_usual_tokens(request)
        self.begun = time.monotonic()
        self.arrived, self.written = 0, 0
        self.under_way: dict[int, Underway] = {}

    def wrap_saver(self, save: OnReply) -> OnReply:
        """A function that calls `save` and counts the answers."""

        def on_reply(reply: Reply) -> None:
            save(reply)
            if reply.finish_reason == LOST:
                return
            self.arrived += 1
            self.written += reply.usage.output_tokens if reply.usage else 0

        return on_reply

    def __call__(self, answer: Underway) -> None:
        """Raises base.claims.Stopped when the work must end."""
        self.stop_check()
        self.under_way[threading.get_ident()] = answer
        took = time.monotonic() - self.begun
        if took >= SILENT_SECONDS:
            self.set_progress(self.build_progress(took))

    def set_progress(self, progress: dict[str, float | int | str]) -> None:
        if self.budget_gate:
            self.budget_gate.set_progress(progress)
        else:
            self.lease.progress = progress

    def build_progress(self, took: float) -> dict[str, float | int | str]:
        """The progress for the job's row, with time left if earlier answers say how long one usually is."""
        unfinished = sum(answer.tokens for answer in self.under_way.values())
        tokens = self.written + unfinished
        progress: dict[str, float | int | str] = {"tokens": tokens, "text": self.format_text(unfinished)}
        expected = self.usual * max(self.count, self.arrived) if self.usual else 0.0
        if tokens and tokens < expected:
            progress["fraction"] = tokens / expected
            progress["seconds_left"] = (expected - tokens) * took / tokens
        return progress

    def format_text(self, unfinished: int) -> str:
        answers = f"{self.arrived} of {self.count} answers" if self.arrived <= self.count else f"{self.arrived} answers"
        if not unfinished and any(answer.held for answer in self.under_way.values()):
            return f"{answers}; the others wait for the endpoint's limits"
        return f"{answers}, about {self.written + unfinished:,} tokens so far"
