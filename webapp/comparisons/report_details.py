"""Details that a report adds to results: who tried the candidates, and their diversity. They are slow to compute."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import mean
from typing import Any

from llm import diversity
from llm.records import TRIED, Outcome, result_from_json
from webapp.comparisons.experiment_results import Result
from webapp.experiments.job_kinds import TRAINING_KINDS
from webapp.experiments.models import Experiment, Job, Request
from webapp.problems.media import get_medium

SEPARATOR = "; "
UNKNOWN = "?"
"""Stands for a machine or version that was not recorded."""
Measure = Callable[[Sequence[Outcome]], float | None]


_finished: dict[tuple[uuid.UUID, datetime | None], dict[str, Any]] = {}
"""Details of finished experiments by id and end, kept because they do not change and reports are written often."""


def add_details(results: Sequence[Result]) -> list[Result]:
    """Add details to the results of rows here; results from elsewhere have them already."""
    own = [result for result in results if not result.folder]
    ended = Experiment.objects.filter(public_id__in=[r.public_id for r in own], finished_at__isnull=False)
    ends = dict(ended.values_list("public_id", "finished_at"))
    new = [r for r in own if (r.public_id, ends.get(r.public_id)) not in _finished]
    makers = _read_makers([result.public_id for result in new])
    rounds = _read_rounds([result.public_id for result in new if get_medium(result.task).filmed])
    found = {r.public_id: _build_details(makers[r.public_id], rounds[r.public_id]) for r in new}
    _finished.update({(r.public_id, ends[r.public_id]): found[r.public_id] for r in new if r.public_id in ends})
    known = {public_id: _finished[public_id, end] for public_id, end in ends.items()} | found
    return [r if r.folder else replace(r, **known[r.public_id]) for r in results]


def _build_details(makers: Sequence[dict[str, str]], rounds: Sequence[Sequence[Outcome]]) -> dict[str, Any]:
    return dict(
        version=_join_once(maker.get("version", "") for maker in makers),
        machine=_join_once(maker.get("machine", "") for maker in makers),
        code_diversity=_average_measure(diversity.measure_code_distance, rounds),
        film_diversity=_average_measure(diversity.measure_behaviour_distance, rounds),
    )


def _read_makers(experiments: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[dict[str, str]]]:
    """By experiment, version and machine of each job that tried candidates, in order; {} where not recorded."""
    done = Job.objects.filter(experiment__public_id__in=experiments, kind__in=TRAINING_KINDS, status=Job.Status.DONE)
    found = defaultdict(list)
    for number, maker in done.order_by("pk").values_list("experiment__public_id", "progress__made_by"):
        found[number].append(maker or {})
    return found


def _join_once(names: Iterable[str]) -> str:
    """Each name once, joined; empty where none is known."""
    each = list(dict.fromkeys(names))
    return SEPARATOR.join(name or UNKNOWN for name in each) if any(each) else ""


def _read_rounds(experiments: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[Sequence[Outcome]]]:
    """By experiment, the candidates that were tried together."""
    tried = Request.objects.filter(experiment__public_id__in=experiments, kind__in=TRIED, status=Request.Status.DONE)
    found = defaultdict(list)
    for number, kind, result in tried.values_list("experiment__public_id", "kind", "result").iterator():
        found[number].append(result_from_json(kind, result))
    return found


def _average_measure(measure: Measure, rounds: Sequence[Sequence[Outcome]]) -> float | None:
    known = [value for outcomes in rounds if (value := measure(outcomes)) is not None]
    return mean(known) if known else None
