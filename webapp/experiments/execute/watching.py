"""What a job says while a model writes, and how it gives the answers up when somebody pauses or cancels."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from django.db.models import Avg

from llm.asking import Underway
from llm.client import OnReply, Reply
from webapp.experiments.leases import Lease
from webapp.experiments.models import ModelCall, Request

REMEMBERED_CALLS = 20
SILENT_SECONDS = 2.0
"""A model that answers sooner is not reported on."""


class Watching:
    """Turns what is heard of the answers into the job's progress; its two methods may be called from any thread."""

    def __init__(self, lease: Lease, stop_check: Callable[[], None], request: Request, count: int) -> None:
        """`count` answers are wanted at first; repairs and replacements add to them."""
        self.lease, self.stop_check, self.count = lease, stop_check, count
        self.usual = usual_tokens(request)
        self.begun = time.monotonic()
        self.arrived, self.written = 0, 0
        self.under: dict[int, Underway] = {}

    def saving(self, save: OnReply) -> OnReply:
        """`save`, and the book of what has arrived."""

        def on_reply(reply: Reply) -> None:
            save(reply)
            self.arrived += 1
            self.written += reply.usage.output_tokens if reply.usage else 0

        return on_reply

    def __call__(self, under: Underway) -> None:
        """A llm.asking.Watch: raises leases.Stopped when the answers are not wanted any more."""
        self.stop_check()
        self.under[threading.get_ident()] = under
        took = time.monotonic() - self.begun
        if took >= SILENT_SECONDS:
            self.lease.progress = self.progress(took)

    def progress(self, took: float) -> dict[str, float | int | str]:
        """As a Job row keeps it. Time left only where earlier answers say how long one usually is."""
        unfinished = sum(under.tokens for under in self.under.values())
        tokens = self.written + unfinished
        said: dict[str, float | int | str] = {"tokens": tokens, "text": self.text(unfinished)}
        expected = self.usual * max(self.count, self.arrived) if self.usual else 0.0
        if tokens and tokens < expected:
            said["fraction"] = tokens / expected
            said["seconds_left"] = (expected - tokens) * took / tokens
        return said

    def text(self, unfinished: int) -> str:
        answers = f"{self.arrived} of {self.count} answers" if self.arrived <= self.count else f"{self.arrived} answers"
        if not unfinished and any(under.held for under in self.under.values()):
            return f"{answers}; the others wait for the endpoint's limits"
        return f"{answers}, about {self.written + unfinished:,} tokens so far"


def usual_tokens(request: Request) -> float | None:
    """How long an answer to such a request was on average, in tokens; None before there was one."""
    model = request.experiment.model_id
    calls = ModelCall.objects.filter(request__kind=request.kind, request__experiment__model=model)
    newest = list(calls.exclude(completion_tokens=None).order_by("-id").values_list("pk", flat=True)[:REMEMBERED_CALLS])
    mean: float | None = ModelCall.objects.filter(pk__in=newest).aggregate(mean=Avg("completion_tokens"))["mean"]
    return mean
