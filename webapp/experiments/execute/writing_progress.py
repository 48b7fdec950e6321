"""What a job says while a model writes, and how it gives the answers up when somebody pauses or cancels."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from llm.backend import LOST, OnReply, Reply, Underway
from webapp.experiments.execute.budget_gate import BudgetGate, measure_usual_tokens
from webapp.experiments.leases import Lease
from webapp.experiments.models import Request

SILENT_SECONDS = 2.0
"""A model that answers sooner is not reported on."""


class WritingProgress:
    """Turns what is heard of the answers into the job's progress; its two methods may be called from any thread.

    `budget_gate`: the budget's, whose calls under way are part of the progress.
    """

    budget_gate: BudgetGate | None = None

    def __init__(self, lease: Lease, stop_check: Callable[[], None], request: Request, count: int) -> None:
        """`count` answers are wanted at first; repairs and replacements add to them."""
        self.lease, self.stop_check, self.count = lease, stop_check, count
        self.usual = measure_usual_tokens(request)
        self.begun = time.monotonic()
        self.arrived, self.written = 0, 0
        self.under: dict[int, Underway] = {}

    def wrap_saver(self, save: OnReply) -> OnReply:
        """`save`, and the book of what has arrived."""

        def on_reply(reply: Reply) -> None:
            save(reply)
            if reply.finish_reason == LOST:
                return
            self.arrived += 1
            self.written += reply.usage.output_tokens if reply.usage else 0

        return on_reply

    def __call__(self, under: Underway) -> None:
        """A llm.backend.Watch: raises base.claims.Stopped when the answers are not wanted any more."""
        self.stop_check()
        self.under[threading.get_ident()] = under
        took = time.monotonic() - self.begun
        if took >= SILENT_SECONDS:
            self.set_progress(self.build_progress(took))

    def set_progress(self, progress: dict[str, float | int | str]) -> None:
        if self.budget_gate:
            self.budget_gate.set_progress(progress)
        else:
            self.lease.progress = progress

    def build_progress(self, took: float) -> dict[str, float | int | str]:
        """As a Job row keeps it. Time left only where earlier answers say how long one usually is."""
        unfinished = sum(under.tokens for under in self.under.values())
        tokens = self.written + unfinished
        said: dict[str, float | int | str] = {"tokens": tokens, "text": self.format_text(unfinished)}
        expected = self.usual * max(self.count, self.arrived) if self.usual else 0.0
        if tokens and tokens < expected:
            said["fraction"] = tokens / expected
            said["seconds_left"] = (expected - tokens) * took / tokens
        return said

    def format_text(self, unfinished: int) -> str:
        answers = f"{self.arrived} of {self.count} answers" if self.arrived <= self.count else f"{self.arrived} answers"
        if not unfinished and any(under.held for under in self.under.values()):
            return f"{answers}; the others wait for the endpoint's limits"
        return f"{answers}, about {self.written + unfinished:,} tokens so far"
