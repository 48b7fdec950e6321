"""Train one reward again with other seeds: how much of its score was luck. No model writes, and no judge is asked."""

from __future__ import annotations

import math
import random

from llm.errors import MethodError
from llm.method import Method, Option
from llm.records import Candidate, Outcome, Problem, Train
from llm.steps import Steps, by_id

EPISODES = 100
"""Over which each policy is evaluated with its mean actions, where the retraining asks for that."""


def retrain(
    problem: Problem,
    rng: random.Random,
    k: int = 5,
    n: int = 1,
    reward: str = "",
    by_metric: bool = False,
    episodes: int = 0,
    films: bool = True,
) -> Steps:
    """Train the reward, or by the metric, K times at once, each time with another seed, and evaluate the policies.

    Returns the id of the policy with the highest task score; of the first one where the task has no metric.
    """
    if not reward and not by_metric:
        raise MethodError("there is no reward to train again: begin on the page of a finished experiment")
    candidates = tuple(Candidate(f"1-{index}", reward) for index in range(1, k + 1))
    outcomes = yield Train(1, candidates, own_seeds=True, by_metric=by_metric, episodes=episodes)
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
        options=(
            Option("reward", "", "The reward function."),
            Option("by_metric", False, "The hidden metric itself is the reward."),
            Option("films", True, "Film every policy, not the best alone."),
            Option("episodes", 0, "Episodes over which each final policy's mean actions are evaluated.", low=0),
        ),
        rounds=lambda k, options: 1,
        writes=False,
        uses_metric=True,
        films_all=lambda options: bool(options.get("films", True)),
        offered=False,
    ),
)
