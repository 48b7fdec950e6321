"""An experiment's budget of tokens and dollars, checked before every call in front of the endpoint's gate."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models import Avg, Sum

from llm import prices
from llm.backend import LOST
from llm.errors import BudgetSpent
from llm.gate import Gate
from webapp.base.claims import ClaimLost
from webapp.base.database import CONNECTION_ERRORS, retry_while_away
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment, Job, ModelCall, Request

HELD_KEY = "held"
"""Key in a job's progress: what its open calls will cost, [tokens, dollars]."""
REMEMBERED_CALLS = 20
UNKNOWN_ANSWER = 1000
"""The assumed tokens of an answer before there was one."""


@dataclass(frozen=True)
class Amount:
    tokens: int = 0
    dollars: float = 0.0
    """0 where prices are unknown."""

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.dollars + other.dollars)


def sum_spent(experiment: Experiment) -> Amount:
    """What the experiment's answers have cost, broken-off ones included; estimated if an endpoint gives no usage."""
    calls = ModelCall.objects.filter(request__experiment=experiment)
    sums = calls.aggregate(read=Sum("prompt_tokens"), written=Sum("completion_tokens"), cost=Sum("cost"))
    return Amount((sums["read"] or 0) + (sums["written"] or 0), sums["cost"] or 0.0)


def sum_held_elsewhere(job: Job) -> Amount:
    """What open calls of the experiment's other jobs will cost."""
    running = Job.objects.filter(experiment=job.experiment_id, status=Job.Status.RUNNING).exclude(pk=job.pk)
    held = [Amount(*row[HELD_KEY]) for row in running.values_list("progress", flat=True) if HELD_KEY in row]
    return sum(held, Amount())


def describe_shortage(experiment: Experiment, spent: Amount, then: Amount, need: Amount) -> str:
    """A sentence about the budget that is too small; empty if it suffices. `then`: spent + open calls + need."""
    tokens, dollars = experiment.token_budget, experiment.dollar_budget
    if tokens is not None and (spent.tokens >= tokens or then.tokens > tokens):
        return f"{spent.tokens:,} of {tokens:,} tokens are spent, and the next answer may take {need.tokens:,}."
    if dollars is not None and (spent.dollars >= dollars or then.dollars > dollars):
        return f"${spent.dollars:.2f} of ${dollars:.2f} are spent, and the next answer may take ${need.dollars:.2f}."
    return ""


def measure_usual_tokens(request: Request) -> float | None:
    """The mean tokens of recent answers to this kind of request; None before there was one."""
    model = request.experiment.model_id
    calls = ModelCall.objects.filter(request__kind=request.kind, request__experiment__model=model)
    counted = calls.exclude(completion_tokens=None).exclude(data__finish_reason=LOST)
    newest = list(counted.order_by("-id").values_list("pk", flat=True)[:REMEMBERED_CALLS])
    mean: float | None = ModelCall.objects.filter(pk__in=newest).aggregate(mean=Avg("completion_tokens"))["mean"]
    return mean


class BudgetGate:
    """A llm.gate.Gate that lets a call in if the budget has enough left for it beside all open calls.

    If only the open calls leave too little, the call waits, since they may cost less. An answer is assumed to have as
    many tokens as the request allows, else the mean of earlier answers.
    """

    def __init__(self, lease: Lease, gate: Gate, price_list: Sequence[prices.Price]) -> None:
        self.lease, self.gate, self.prices = lease, gate, price_list
        request = lease.job.request
        assert request is not None
        self.limit = int(request.payload.get("tokens", 0))
        self.answer = self.limit or round(measure_usual_tokens(request) or UNKNOWN_ANSWER)
        self.held: dict[int, Amount] = {}
        self.numbers = itertools.count()
        self.lock = threading.RLock()
        self.home = threading.get_ident()

    def enter(self, tokens: int) -> tuple[int, Any] | None:
        """A ticket, or None if the call must wait. Raises BudgetSpent, or base.claims.Stopped if the lease is lost.

        Open calls are noted without a budget, too, because one may be set meanwhile.
        """
        need = self.estimate_need(tokens - self.limit)
        try:
            experiment = Experiment.objects.filter(pk=self.lease.job.experiment_id).first()
            if experiment is None:  # deleted meanwhile
                raise ClaimLost
            limited = experiment.token_budget is not None or experiment.dollar_budget is not None
            if limited and not self.can_afford(
                experiment, need
            ):  # checked first, so that a waiting call takes no place at the endpoint
                return None
            inner = self.gate.enter(tokens)
            if inner is None:
                return None
            number = None
            try:
                number = self.reserve(need)
            finally:
                if number is None:
                    self.gate.leave(inner, 0)
            return None if number is None else (number, inner)
        except CONNECTION_ERRORS:
            connection.close()
            return None  # the heartbeat raises if the database stays unreachable
        finally:
            self.close_connection()

    def leave(self, ticket: tuple[int, Any], tokens: int | None) -> None:
        number, inner = ticket
        try:
            self.release(number)
        finally:
            self.gate.leave(inner, tokens)
            self.close_connection()

    def release(self, number: int) -> None:
        """Free the amount, on the job's row at once, because other jobs may wait for it."""
        with self.lock:
            del self.held[number]
            self.set_progress(self.lease.progress)

        def note() -> None:
            with self.lease.confirm() as ours:
                if ours:
                    Job.objects.filter(pk=self.lease.job.pk).update(progress=self.lease.progress)

        retry_while_away(note)

    def rest(self, seconds: float) -> None:
        self.gate.rest(seconds)

    def set_progress(self, progress: Mapping[str, Any]) -> None:
        """Set the job's progress, with what its open calls will cost."""
        with self.lock:
            own = sum(self.held.values(), Amount())
            held = {HELD_KEY: [own.tokens, own.dollars]} if self.held or HELD_KEY in self.lease.progress else {}
            self.lease.progress = {**progress, **held}

    def estimate_need(self, prompt: int) -> Amount:
        """The cost of a call with a prompt of about this many tokens."""
        usage = prices.Usage(prompt, self.answer)
        dollars = prices.compute_cost(usage, self.prices, datetime.now(UTC).date())
        return Amount(prompt + self.answer, dollars or 0.0)

    def can_afford(self, experiment: Experiment, need: Amount) -> bool:
        with self.lock:
            own = sum(self.held.values(), Amount())
        under_way = own + sum_held_elsewhere(self.lease.job)
        spent = sum_spent(experiment)
        short = describe_shortage(experiment, spent, spent + under_way + need, need)
        if short and under_way == Amount():
            raise BudgetSpent(f"{short} Raise the experiment's budget, then retry.")
        return not short

    def reserve(self, need: Amount) -> int | None:
        """Note the amount on the job's row, under the experiment's lock. None if another job was faster."""
        number = next(self.numbers)
        try:
            with self.lease.lock_experiment() as experiment:
                if not self.can_afford(experiment, need):
                    return None
                with self.lock:
                    self.held[number] = need
                    self.set_progress(self.lease.progress)
                Job.objects.filter(pk=self.lease.job.pk).update(progress=self.lease.progress)
        except CONNECTION_ERRORS:
            with self.lock:
                self.held.pop(number, None)
                self.set_progress(self.lease.progress)
            raise
        return number

    def close_connection(self) -> None:
        """Close the database connection, unless this is the job's own thread."""
        if threading.get_ident() != self.home:
            connection.close()
