"""Backends of an experiment's language models, and the saved answers."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from llm.backend import LOST, ChatBackend, Reply, reply_from_json, reply_to_json
from llm.local import LocalWriter
from llm.method import find_temperature
from llm.offline import OfflineWriter
from llm.prices import Price, Usage, find_list_prices
from webapp.base.database import retry_while_away
from webapp.endpoints.denied import require_allowed
from webapp.endpoints.shared_gate import EndpointGate
from webapp.experiments import events
from webapp.experiments.execute.budget_gate import BudgetGate
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment, LanguageModel, ModelCall, Request
from webapp.experiments.models.loop_settings import LEAST_CONTEXT, MOST_CONTEXT


def open_backend(model: LanguageModel | None, temperature: float | None = None) -> ChatBackend:
    """The backend of a model: an endpoint, a local model, or by default the offline writer, which has no temperature.
    Without one each samples as it does by default.
    """
    heat: dict[str, Any] = {} if temperature is None else {"temperature": temperature}
    if model is None or model.is_offline:
        if model is None or not model.model.endswith(".gguf"):  # webapp.experiments.defaults
            return OfflineWriter()
        return LocalWriter(Path(settings.LOCAL_MODEL).parent / Path(model.model).name, **heat)
    from llm.client import OpenAIBackend  # not above: its library is slow to import, and few processes ask endpoints

    require_allowed(model.base_url)
    gate = EndpointGate(model.base_url, model.concurrency, model.timeout)
    return OpenAIBackend(model.base_url, model.key, model.model, find_prices(model), model.timeout, gate, **heat)


def find_prices(model: LanguageModel | None) -> Sequence[Price]:
    """The prices of the model's row, else the published ones; empty if unknown."""
    if model is None or model.is_offline:
        return ()
    if model.price_input is None or model.price_output is None:
        return find_list_prices(model.model)
    return [Price(model.price_date or date.min, model.price_input, model.price_output)]


def open_budgeted_backend(lease: Lease, role: str, progress: WritingProgress | None = None) -> ChatBackend:
    """The backend of the model in this role (llm.records.ROLES), at the experiment's temperature for it, behind the
    experiment's budget, which is read before every call.
    """
    experiment = lease.job.experiment
    model = experiment.get_model(role)
    backend = open_backend(model, find_temperature(experiment.options, role))
    backend.gate = budget_gate = BudgetGate(lease, backend.gate, find_prices(model))
    if progress:
        progress.budget_gate = budget_gate
    return backend


def read_saved_replies(request: Request) -> list[Reply]:
    """The answers that earlier attempts at this request paid for."""
    return [reply_from_json(call.data) for call in request.calls.all()]


def build_saver(lease: Lease) -> Callable[[Reply], None]:
    """A function that saves each answer as it arrives, in any thread, while the lease holds: an answer under a lost
    lease may quote words that were erased (webapp.archive.redaction). A broken-off answer is saved for its cost.
    """
    home, request = threading.get_ident(), lease.job.request
    assert request is not None

    def save(reply: Reply) -> None:
        usage, lost = reply.usage, reply.finish_reason == LOST
        call = ModelCall(
            request=request,
            model=reply.model,
            request_hash=uuid.uuid4().hex if lost else reply.request_hash,
            seed=reply.seed,
            data=reply_to_json(reply),
            prompt_tokens=usage.input_tokens if usage else None,
            completion_tokens=usage.output_tokens if usage else None,
            estimated=bool(usage and usage.estimated),
            latency=reply.latency,
            cost=reply.cost,
        )

        def write() -> None:
            with lease.confirm() as ours:
                if ours:
                    ModelCall.objects.bulk_create([call], ignore_conflicts=True)
                    if usage and usage.estimated:
                        report_estimate(lease.job.experiment, reply.model, usage, lost)

        retry_while_away(write)
        if threading.get_ident() != home:
            connection.close()

    return save


def report_estimate(experiment: Experiment, model: str, usage: Usage, lost: bool) -> None:
    """Log each broken-off answer, and once that an endpoint gives no usage."""
    if lost:
        text = f"An answer of {model} ended in the middle: about {usage.input_tokens:,} tokens read and "
        events.emit(experiment, "broken off", f"{text}{usage.output_tokens:,} written are counted, an estimate.")
    elif not experiment.events.filter(kind="uncounted").exists():
        text = f"{model} does not say how many tokens its answers take: they are estimated from the letters."
        events.emit(experiment, "uncounted", text)


def report_left_out(experiment: Experiment, iteration: int, model: LanguageModel | None, count: int) -> None:
    """Log that a prompt lost some of its history."""
    if count and model:
        lost = "the oldest piece of the history was" if count == 1 else f"the oldest {count} pieces of the history were"
        text = f"Round {iteration}: {lost} left out, as {model} has room for {get_context_tokens(model):,} tokens."
        events.emit(experiment, "left out", text)


def note_context(lease: Lease, model: LanguageModel | None, room: int) -> bool:
    """Save the context size that a refusal named, if none is known. True if a shorter prompt may now succeed.

    A size that the field does not allow is ignored.
    """
    if not LEAST_CONTEXT <= room < MOST_CONTEXT or model is None or model.context_tokens:
        return False
    with lease.confirm() as ours:
        if ours and LanguageModel.objects.filter(pk=model.pk, context_tokens=None).update(context_tokens=room):
            text = f"{model} has room for {room:,} tokens, as its endpoint says: noted as its context."
            events.emit(lease.job.experiment, "context", text)
    model.refresh_from_db(fields=["context_tokens"])
    return True


def get_context_tokens(model: LanguageModel | None) -> int:
    """The model's context in tokens; 0 if unknown."""
    return (model.context_tokens or 0) if model else 0
