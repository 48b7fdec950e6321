"""How many pairwise comparisons an experiment of a plan asks for: of its judge, and of the teacher of a policy."""

from __future__ import annotations

from llm.errors import MethodError
from llm.methods import get_method as find_method
from llm.records import make_payload, result_to_json
from llm.repetition_check import list_asked
from webapp.comparisons.arms import Arm
from webapp.comparisons.judged_queries import count_pairs
from webapp.experiments import loop
from webapp.experiments.kinds import train
from webapp.experiments.models import Experiment


def count(task: str, arm: Arm) -> int | None:
    """As the ICPL paper counts them, if every candidate can be tried; None where the method does not say before."""
    method, queries = find_method(arm.method), 0
    if not method.asks_pairs and (method.uses_metric or not method.asks_judge):
        return 0
    try:
        problem = loop.describe_task(Experiment(task=task))
        for request, answer in list_asked(problem, (arm.method, arm.k, arm.n, arm.settings)):
            kind, asked = type(request).__name__, make_payload(request)
            queries += count_pairs(kind, asked, result_to_json(kind, answer)) + train.count_planned_pairs(asked)
    except (MethodError, ValueError):  # it cannot go on with a made-up answer
        return None
    return queries
