"""How many pairwise comparisons a judge was asked for, as the ICPL paper counts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from webapp.experiments.kinds import JUDGED_KINDS, KINDS
from webapp.experiments.models import Experiment, Request

ANSWER_FIELDS = ("kind", "payload", "result")


def filter_judged() -> QuerySet[Request]:
    return Request.objects.filter(kind__in=JUDGED_KINDS, status=Request.Status.DONE)


def count_queries(experiment: Experiment) -> int:
    """Those of an experiment."""
    asked = filter_judged().filter(experiment=experiment).values_list(*ANSWER_FIELDS)
    return sum(count_pairs(*judged) for judged in asked)


def count_pairs(kind: str, payload: Mapping[str, Any], result: Any) -> int:
    """Best of m, then worst of the rest, are 2m - 3; a choice among m, or of the best alone, is m - 1. A lost result
    counts as none.
    """
    judgement = KINDS[kind].judgement
    return judgement.count_pairs(payload, result) if judgement and result is not None else 0
