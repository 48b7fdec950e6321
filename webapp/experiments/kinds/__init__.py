"""The registry of kinds of requests. A new kind is a class in llm/records.py, a file here, a line below, and a function
in webapp/experiments/execute/ if no existing one can answer it.
"""

from __future__ import annotations

from webapp.experiments.kind import Judgement, Kind
from webapp.experiments.kinds import ask, choose, compare, judge, look, perform, rate, run, train, write
from webapp.experiments.models import Job, LanguageModel, Request

KINDS: dict[str, Kind] = {
    module.KIND.name: module.KIND for module in (write, train, run, judge, ask, look, compare, choose, perform, rate)
}
"""By the name that rows keep."""
JUDGED_KINDS = tuple(kind.name for kind in KINDS.values() if kind.judgement)
"""Kinds that the experiment's judge answers."""
MODEL_KINDS = tuple(kind.name for kind in KINDS.values() if kind.asks_model)
"""Kinds that a language model may answer."""
WORST_KINDS = tuple(kind.name for kind in KINDS.values() if kind.judgement and kind.judgement.asks_worst)
"""Judgements of best and worst, which people know as rounds."""


def name_work(job: Job) -> str:
    """What pages call this job. Jobs of one kind train rewards or test answers, which their request knows."""
    return KINDS[job.request.kind].phase if job.request and job.info.trains else job.info.title


def get_judgement(request: Request) -> Judgement:
    """The judgement of a request. Raises ValueError if no judge answers its kind."""
    judgement = KINDS[request.kind].judgement
    if judgement is None:
        raise ValueError(f"a person does not answer a {request.kind} request")
    return judgement


def find_asked_model(request: Request) -> LanguageModel | None:
    """The language model that answers a request; None if no model does, or the offline writer."""
    role = KINDS[request.kind].find_role(request.experiment, request.payload)
    return request.experiment.get_model(role) if role else None
