"""Removes a person's words from an experiment that other people keep, wherever a method carried them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from django.db.models import JSONField, Model, Q, QuerySet, TextField

from llm.records import hash_payload
from llm.sections import move_spans
from webapp.archive.models import Redaction
from webapp.base.on_commit import run_after_commit
from webapp.experiments import leases, run_folder
from webapp.experiments.kinds import train
from webapp.experiments.models import Candidate, Event, Experiment, Iteration, Job, ModelCall, Request
from webapp.votes.models import Pair

REPLACEMENT = "[deleted]"
SHORTEST = 3
"""Shorter reasons stay: they are words that other people use too."""


def redact(experiment: Experiment, reasons: Collection[str], labels: Collection[str]) -> None:
    """Replace reasons as they were typed, and labels as whole words, in every text of the experiment. The caller
    holds its lock.

    Requests get new fingerprints, so that the other people can go on: a method that is told the replaced reason asks
    with the replaced prompt. Calls to a model that are under way begin again.
    """
    leases.restart_model_jobs(experiment)  # first: answers saved before are replaced below, later ones are not saved
    swap = _build_replacer(reasons, labels)
    tables: list[QuerySet[Any]] = [
        Experiment.objects.filter(pk=experiment.pk),
        Iteration.objects.filter(experiment=experiment),
        Candidate.objects.filter(iteration__experiment=experiment),
        Request.objects.filter(experiment=experiment).select_related("experiment"),
        ModelCall.objects.filter(request__experiment=experiment),
        Job.objects.filter(experiment=experiment),
        Event.objects.filter(experiment=experiment),
    ]
    for rows in tables:
        for row in rows.iterator(200):
            _redact_row(row, swap)
    redact_copies(experiment, reasons, labels)
    todo = Redaction.objects.create(experiment=experiment, reasons=sorted(reasons), labels=sorted(labels))
    run_after_commit(redact_files, todo)


def redact_copies(experiment: Experiment, reasons: Collection[str], labels: Collection[str]) -> None:
    """Replace the same words in retrainings of its rewards and in the copies of A/B votes, which outlive it."""
    for copy in Experiment.objects.select_for_update(no_key=True).filter(retrains__iteration__experiment=experiment):
        redact(copy, reasons, labels)
    public_id, swap = str(experiment.public_id), _build_replacer(reasons, labels)
    for pair in Pair.objects.filter(Q(origin__first__experiment=public_id) | Q(origin__second__experiment=public_id)):
        _redact_row(pair, swap)


def redact_files(todo: Redaction) -> None:
    """Replace the same words in the experiment's files, once the rows are changed: a reward may quote a reason in a
    comment, and a run goes on only while its folder equals its row.
    """
    swap = _build_replacer(todo.reasons, todo.labels)
    for request in train.find_requests(todo.experiment):
        run_folder.rewrite(request, swap)
    todo.delete()


def finish_redactions(experiment: Experiment, **_: Any) -> None:
    """Finish what a killed process left undone, before a worker reads the files."""
    for todo in Redaction.objects.filter(experiment=experiment):
        redact_files(todo)


def _redact_row(row: Model, swap: Any) -> None:
    changed = {}
    for field in row._meta.concrete_fields:
        if isinstance(field, TextField | JSONField) or field.name == "name":
            value = getattr(row, field.attname)
            new = _replace_words(value, swap)
            if new != value:
                changed[field.name] = new
    if isinstance(row, Request) and "payload" in changed:
        if optional := row.payload.get("optional"):
            changed["payload"]["optional"] = move_spans(optional, row.payload["messages"][-1]["content"], swap)
        changed["fingerprint"] = hash_payload(row.kind, changed["payload"], row.experiment.options)
    if changed:
        type(row)._default_manager.filter(pk=row.pk).update(**changed)


def _replace_words(value: Any, swap: Any) -> Any:
    if isinstance(value, str):
        return swap(value)
    if isinstance(value, dict):
        return {key: _replace_words(item, swap) for key, item in value.items()}
    return [_replace_words(item, swap) for item in value] if isinstance(value, list) else value


def _build_replacer(reasons: Collection[str], labels: Collection[str]) -> Any:
    """A function that replaces these texts. Prompts may hold a reason as it was typed or as JSON encodes it."""
    texts = {reason for reason in reasons if len(reason) >= SHORTEST}
    texts |= {json.dumps(t)[1:-1] for t in texts} | {json.dumps(t, ensure_ascii=False)[1:-1] for t in texts}
    parts = [re.escape(text) for text in sorted(texts, key=len, reverse=True)]
    parts += [rf"(?<!\w){re.escape(label)}(?!\w)" for label in sorted(labels, key=len, reverse=True)]
    pattern = re.compile("|".join(parts) or r"(?!)")
    return lambda text: pattern.sub(REPLACEMENT, text)
