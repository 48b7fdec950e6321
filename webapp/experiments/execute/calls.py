"""The language model of an experiment, and the book of its answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date

from django.db import connection

from llm.client import ChatBackend, OpenAIBackend, Reply, reply_from_json, reply_to_json
from llm.offline import OfflineWriter
from llm.prices import Price
from webapp.experiments.models import LanguageModel, ModelCall, Request


def backend_of(model: LanguageModel | None) -> ChatBackend:
    """Who answers: the offline writer unless the experiment names an endpoint."""
    if model is None or model.kind == LanguageModel.Kind.OFFLINE:
        return OfflineWriter()
    prices = None
    if model.price_input is not None and model.price_output is not None:
        prices = [Price(model.price_date or date.min, model.price_input, model.price_output)]
    return OpenAIBackend(model.base_url, model.key, model.model, prices)


def saved_calls(request: Request) -> list[Reply]:
    """Answers that an earlier attempt at this request paid for."""
    return [reply_from_json(call.data) for call in request.calls.all()]


def saver(request: Request) -> Callable[[Reply], None]:
    """Saves each answer as it arrives, from whichever thread it arrives in."""
    home = threading.get_ident()

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
        ModelCall.objects.bulk_create([call], ignore_conflicts=True)
        if threading.get_ident() != home:
            connection.close()

    return save
