"""PrefPPO, PEBBLE and SURF: a policy learns its reward from answers about pairs of its own segments while it trains. No
language model writes anything. The algorithms are in trainer/preferences/, which a Train request names.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from llm.method import Method, Option
from llm.records import Candidate, Pairs, Problem, Train
from llm.steps import Steps, by_id

OPTIONS = (
    Option(
        "queries",
        49,
        "Answers in all; ICPL asks 49 with K=6 and N=5, its paper's baselines up to 15000.",
        low=1,
        high=1e6,
    ),
    Option("segment", 50, "Control steps of a segment; 0: whole episodes.", low=0),
    Option(
        "truth",
        "reward",
        "What the teacher compares, summed over a segment: the task's human-written reward, or its metric.",
        choices=("reward", "metric"),
    ),
    Option(
        "selection",
        "disagreement",
        "How pairs are selected once there is a reward model.",
        choices=("uniform", "disagreement", "entropy", "k-center", "disagreement+k-center", "entropy+k-center"),
    ),
)


def prefppo(problem: Problem, rng: random.Random, k: int = 1, n: int = 1, **asked: Any) -> Steps:
    """PrefPPO (Lee et al. 2021, B-Pref): PPO explores by particle entropy, then, session by session, pairs are answered
    and an ensemble learns the reward that PPO goes on with, in units of its running deviation.
    """
    return learn("prefppo", **asked)


def pebble(problem: Problem, rng: random.Random, k: int = 1, n: int = 1, **asked: Any) -> Steps:
    """PEBBLE (Lee et al. 2021): the same with SAC, about the last episodes, and after each session the whole replay is
    rewarded again by what was learned.
    """
    return learn("pebble", **asked)


def surf(problem: Problem, rng: random.Random, k: int = 1, n: int = 1, **asked: Any) -> Steps:
    """SURF (Park et al. 2022): PEBBLE whose reward model also learns from crops of the segments, and from pairs that
    nobody answered where it is sure of the answer.
    """
    return learn("surf", **asked)


def learn(
    method: str, queries: int = 49, segment: int = 50, truth: str = "reward", selection: str = "disagreement"
) -> Steps:
    """Train one policy, and return its id. Raises MethodError where that failed."""
    pairs = Pairs(method, queries, truth, segment, selection)
    outcomes = yield Train(1, (Candidate("1-1", source=""),), pairs=pairs)
    (trained,) = by_id(1, outcomes)
    return trained


def describe(name: str, title: str, function: Callable[..., Steps], algorithm: str, summary: str) -> Method:
    """A method that trains one policy and asks nothing but pairs."""
    return Method(
        name,
        title,
        summary,
        function,
        k=1,
        least_k=1,
        most_k=1,
        n=1,
        options=OPTIONS,
        rounds=lambda k, options: 1,
        writes=False,
        asks_pairs=True,
        algorithm=algorithm,
        asks_judge=False,
    )


METHODS = (
    describe(
        "prefppo",
        "PrefPPO",
        prefppo,
        "ppo",
        "One policy learns its reward from answers about pairs of its segments, with PPO. No language model writes.",
    ),
    describe(
        "pebble",
        "PEBBLE",
        pebble,
        "sac",
        "The same with SAC, whose past is rewarded again after each session of answers. No language model writes.",
    ),
    describe(
        "surf",
        "SURF",
        surf,
        "sac",
        "PEBBLE that also learns from crops of segments, and from pairs without an answer. No language model writes.",
    ),
)
