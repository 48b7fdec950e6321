"""Train one reward again with other seeds: how much of its score was luck. No model writes, and no judge is asked."""

from __future__ import annotations

import math
import random

from llm.errors import MethodError
from llm.method import Method, Option
from llm.records import Candidate, Outcome, Problem, Train
from llm.steps import Steps, by_id


def retrain(problem: Problem, rng: random.Random, k: int = 5, n: int = 1, reward: str = "") -> Steps:
    """Train the reward K times at once, each time with another seed.

    Returns the id of the policy with the highest task score; of the first one where the task has no metric.
    """
    if not reward:
        raise MethodError("there is no reward to train again: begin on the page of a finished experiment")
    outcomes = yield Train(1, tuple(Candidate(f"1-{index}", reward) for index in range(1, k + 1)), own_seeds=True)
    return max(by_id(1, outcomes).values(), key=score).candidate.id


def score(outcome: Outcome) -> float:
    """The task score; the lowest where the task has no metric."""
    return -math.inf if outcome.rts is None else outcome.rts


METHODS = (
    Method(
        "retrain",
        "Retraining",
        "The reward of a finished experiment's winner, trained again with other seeds.",
        retrain,
        k=5,
        least_k=1,
        n=1,
        options=(Option("reward", "", "The reward function."),),
        rounds=lambda k, options: 1,
        writes=False,
        uses_metric=True,
        films_all=True,
        offered=False,
    ),
)
