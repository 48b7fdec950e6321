"""What a report adds to the results of a comparison, and pages that ask every few seconds do without."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import mean

from llm import diversity
from llm.records import TRIED, Outcome, result_from_json
from webapp.comparisons.experiment_results import Result
from webapp.experiments.models import Job, Request
from webapp.problems.lookup import is_problem

SEPARATOR = "; "
UNKNOWN = "?"
"""One of several machines or versions that was not written down."""
Measure = Callable[[Sequence[Outcome]], float | None]


def detailed(results: Sequence[Result]) -> list[Result]:
    """Rows here with who tried their candidates, and how unlike these were; those of elsewhere have both already."""
    here = [result.public_id for result in results if not result.folder]
    makers, rounds = _makers(here), _rounds([r.public_id for r in results if not r.folder and not is_problem(r.task)])
    return [r if r.folder else _with(r, makers[r.public_id], rounds[r.public_id]) for r in results]


def _with(result: Result, makers: Sequence[dict[str, str]], rounds: Sequence[Sequence[Outcome]]) -> Result:
    return replace(
        result,
        version=_listed(maker.get("version", "") for maker in makers),
        machine=_listed(maker.get("machine", "") for maker in makers),
        code_diversity=_mean(diversity.by_code, rounds),
        film_diversity=_mean(diversity.by_behaviour, rounds),
    )


def _makers(experiments: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[dict[str, str]]]:
    """Who did the jobs in which candidates were tried, in their order; {} where that was not written down."""
    done = Job.objects.filter(experiment__public_id__in=experiments, kind=Job.Kind.TRAIN, status=Job.Status.DONE)
    found = defaultdict(list)
    for number, maker in done.order_by("pk").values_list("experiment__public_id", "progress__made_by"):
        found[number].append(maker or {})
    return found


def _listed(names: Iterable[str]) -> str:
    """Each once; empty where none is known."""
    each = list(dict.fromkeys(names))
    return SEPARATOR.join(name or UNKNOWN for name in each) if any(each) else ""


def _rounds(experiments: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[Sequence[Outcome]]]:
    """What was tried together."""
    tried = Request.objects.filter(experiment__public_id__in=experiments, kind__in=TRIED, status=Request.Status.DONE)
    found = defaultdict(list)
    for number, kind, result in tried.values_list("experiment__public_id", "kind", "result").iterator():
        found[number].append(result_from_json(kind, result))
    return found


def _mean(measure: Measure, rounds: Sequence[Sequence[Outcome]]) -> float | None:
    known = [value for outcomes in rounds if (value := measure(outcomes)) is not None]
    return mean(known) if known else None
