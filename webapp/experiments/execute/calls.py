"""The language model of an experiment, and the book of its answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import Sum

from llm.client import ChatBackend, OpenAIBackend, Reply, reply_from_json, reply_to_json
from llm.errors import BudgetSpent
from llm.local import LocalWriter
from llm.offline import OfflineWriter
from llm.prices import Price
from webapp.endpoints.gate import EndpointGate
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment, LanguageModel, ModelCall, Request


def backend_of(model: LanguageModel | None) -> ChatBackend:
    """Who answers: the offline writer unless the experiment names an endpoint, or a local model makes its choices."""
    if model is None or model.kind == LanguageModel.Kind.OFFLINE:
        if model is None or not model.model.endswith(".gguf"):  # webapp.experiments.defaults
            return OfflineWriter()
        return LocalWriter(Path(settings.LOCAL_MODEL).parent / Path(model.model).name)
    prices = None
    if model.price_input is not None and model.price_output is not None:
        prices = [Price(model.price_date or date.min, model.price_input, model.price_output)]
    gate = EndpointGate(model.base_url, model.concurrency)
    return OpenAIBackend(model.base_url, model.key, model.model, prices, gate=gate)


def saved_calls(request: Request) -> list[Reply]:
    """Answers that an earlier attempt at this request paid for."""
    return [reply_from_json(call.data) for call in request.calls.all()]


def saver(lease: Lease) -> Callable[[Reply], None]:
    """Saves each answer as it arrives, from whichever thread it arrives in, while the lease is ours: what was asked
    under a lost one may hold words that are to be forgotten (webapp.archive.redaction).
    """
    home, request = threading.get_ident(), lease.job.request
    assert request is not None

    def save(reply: Reply) -> None:
        usage = reply.usage
        call = ModelCall(
            request=request,
            model=reply.model,
            request_hash=reply.request_hash,
            seed=reply.seed,
            data=reply_to_json(reply),
            prompt_tokens=usage.input_tokens if usage else None,
            completion_tokens=usage.output_tokens if usage else None,
            latency=reply.latency,
            cost=reply.cost,
        )
        with lease.kept() as ours:
            if ours:
                ModelCall.objects.bulk_create([call], ignore_conflicts=True)
        if threading.get_ident() != home:
            connection.close()

    return save


_RAISE = "Raise the experiment's budget, then retry."


def within_budget(experiment: Experiment, stop_check: Callable[[], None]) -> Callable[[], None]:
    """`stop_check`, and then a look at what the experiment has spent. Raises BudgetSpent before an answer too many.

    Answers that are asked for at once are looked at together, so that a budget may be exceeded by one round of them.
    """

    def check() -> None:
        stop_check()
        spent, tokens, dollars = spent_by(experiment), experiment.token_budget, experiment.dollar_budget
        if tokens is not None and spent.tokens >= tokens:
            raise BudgetSpent(f"{spent.tokens:,} of {tokens:,} tokens are spent. {_RAISE}")
        if dollars is not None and spent.dollars >= dollars:
            raise BudgetSpent(f"${spent.dollars:.2f} of ${dollars:.2f} are spent. {_RAISE}")

    return check


@dataclass(frozen=True)
class Spent:
    tokens: int
    dollars: float
    """Of the answers whose cost is known."""


def spent_by(experiment: Experiment) -> Spent:
    calls = ModelCall.objects.filter(request__experiment=experiment)
    sums = calls.aggregate(read=Sum("prompt_tokens"), written=Sum("completion_tokens"), cost=Sum("cost"))
    return Spent((sums["read"] or 0) + (sums["written"] or 0), sums["cost"] or 0.0)


def room_of(model: LanguageModel | None) -> int:
    """The model's context in tokens; 0 where it is not known."""
    return (model.context_tokens or 0) if model else 0
