"""Kinds of requests that methods yield. A new one is a class in llm/records.py, a file here, a line below, and a
function in webapp/experiments/execute/ unless one of those that are there works on it.
"""

from __future__ import annotations

from webapp.experiments.kind import Judgement, Kind
from webapp.experiments.kinds import ask, choose, compare, judge, look, run, train, write
from webapp.experiments.models import Request

KINDS: dict[str, Kind] = {
    module.KIND.name: module.KIND for module in (write, train, run, judge, ask, look, compare, choose)
}
"""By the name that rows keep."""
JUDGED_KINDS = tuple(kind.name for kind in KINDS.values() if kind.judgement)
"""Answered by the experiment's judge, who may be a person."""
MODEL_KINDS = tuple(kind.name for kind in KINDS.values() if kind.asks_model)
"""Those for which a language model may be asked."""
WORST_KINDS = tuple(kind.name for kind in KINDS.values() if kind.judgement and kind.judgement.asks_worst)
"""Judgements of best and worst: what people know as a round."""


def get_judgement(request: Request) -> Judgement:
    """What the request asks the experiment's judge. Raises ValueError where no judge answers it."""
    judgement = KINDS[request.kind].judgement
    if judgement is None:
        raise ValueError(f"a person does not answer a {request.kind} request")
    return judgement
