"""The language model of an experiment, and the book of its answers."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from django.conf import settings
from django.db import connection

from llm.backend import LOST, ChatBackend, Reply, reply_from_json, reply_to_json
from llm.local import LocalWriter
from llm.offline import OfflineWriter
from llm.prices import Price, Usage, known_prices
from webapp.base.database import retry_while_away
from webapp.endpoints.gate import EndpointGate
from webapp.experiments import events
from webapp.experiments.execute.budget_gate import BudgetGate
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment, LanguageModel, ModelCall, Request
from webapp.experiments.models.loop_settings import LEAST_CONTEXT, MOST_CONTEXT


def open_backend(model: LanguageModel | None) -> ChatBackend:
    """Who answers: the offline writer unless the experiment names an endpoint, or a local model makes its choices."""
    if model is None or model.kind == LanguageModel.Kind.OFFLINE:
        if model is None or not model.model.endswith(".gguf"):  # webapp.experiments.defaults
            return OfflineWriter()
        return LocalWriter(Path(settings.LOCAL_MODEL).parent / Path(model.model).name)
    from llm.client import OpenAIBackend  # not above: its library is slow to import, and few processes ask endpoints

    gate = EndpointGate(model.base_url, model.concurrency, model.timeout)
    return OpenAIBackend(model.base_url, model.key, model.model, find_prices(model), model.timeout, gate)


def find_prices(model: LanguageModel | None) -> Sequence[Price]:
    """Those of its row, else the published ones; empty where none are known."""
    if model is None or model.kind == LanguageModel.Kind.OFFLINE:
        return ()
    if model.price_input is None or model.price_output is None:
        return known_prices(model.model)
    return [Price(model.price_date or date.min, model.price_input, model.price_output)]


def open_budgeted_backend(
    lease: Lease, model: LanguageModel | None, watching: WritingProgress | None = None
) -> ChatBackend:
    """Who answers, as long as the experiment's budget lasts, which may be set or raised meanwhile."""
    backend = open_backend(model)
    backend.gate = budget_gate = BudgetGate(lease, backend.gate, find_prices(model))
    if watching:
        watching.budget_gate = budget_gate
    return backend


def read_saved_replies(request: Request) -> list[Reply]:
    """Answers that an earlier attempt at this request paid for."""
    return [reply_from_json(call.data) for call in request.calls.all()]


def build_saver(lease: Lease) -> Callable[[Reply], None]:
    """Saves each answer as it arrives, from whichever thread it arrives in, while the lease is ours: what was asked
    under a lost one may hold words that are to be forgotten (webapp.archive.redaction). What came of one that ended in
    the middle is saved too, since it counts, and never stands in an answer's place.
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
    """In the log: of each answer that ended in the middle, and once that an endpoint does not count."""
    if lost:
        said = f"An answer of {model} ended in the middle: about {usage.input_tokens:,} tokens read and "
        events.emit(experiment, "broken off", f"{said}{usage.output_tokens:,} written are counted, an estimate.")
    elif not experiment.events.filter(kind="uncounted").exists():
        said = f"{model} does not say how many tokens its answers take: they are estimated from the letters."
        events.emit(experiment, "uncounted", said)


def report_left_out(experiment: Experiment, iteration: int, model: LanguageModel | None, count: int) -> None:
    """In the log, where a prompt had to lose some of its history."""
    if count and model:
        lost = "the oldest piece of the history was" if count == 1 else f"the oldest {count} pieces of the history were"
        said = f"Round {iteration}: {lost} left out, as {model} has room for {get_context_tokens(model):,} tokens."
        events.emit(experiment, "left out", said)


def note_context(lease: Lease, model: LanguageModel | None, room: int) -> bool:
    """Note the context that a refusal named, where none is known. Whether asking again, for shorter, is of use now.

    One that no row may have is not believed.
    """
    if not LEAST_CONTEXT <= room < MOST_CONTEXT or model is None or model.context_tokens:
        return False
    with lease.confirm() as ours:
        if ours and LanguageModel.objects.filter(pk=model.pk, context_tokens=None).update(context_tokens=room):
            said = f"{model} has room for {room:,} tokens, as its endpoint says: noted as its context."
            events.emit(lease.job.experiment, "context", said)
    model.refresh_from_db(fields=["context_tokens"])
    return True


def get_context_tokens(model: LanguageModel | None) -> int:
    """The model's context in tokens; 0 where it is not known."""
    return (model.context_tokens or 0) if model else 0
