"""PrefPPO, PEBBLE, SURF, QPA, RIME and RL-VLM-F: a policy learns its reward from answers about pairs of its own
segments while it trains. No language model writes anything. The algorithms are in trainer/preferences/, which a Train
request names.
"""

from __future__ import annotations

import random
from functools import partial

from llm.method import Method, Option
from llm.records import Candidate, Pairs, Problem, Train
from llm.steps import Steps, by_id

SELECTIONS = ("uniform", "disagreement", "entropy", "k-center", "disagreement+k-center", "entropy+k-center")


def learn(
    problem: Problem,
    rng: random.Random,
    k: int = 1,
    n: int = 1,
    *,
    method: str,
    usual_selection: str,
    queries: int = 49,
    segment: int = 50,
    seconds: float = 2.0,
    truth: str = "reward",
    selection: str = "",
    pictures: int = 4,
    episodes: int = 0,
    reward: str = "",
) -> Steps:
    """Train one policy by this method, and return its id. Raises MethodError where that failed. `reward`: a program to
    which the reward model adds.

    Who answers is not said here, and so not whether `segment`, `seconds` or `pictures` counts.
    """
    pairs = Pairs(method, queries, truth, segment, selection or usual_selection, prior=bool(reward))
    outcomes = yield Train(1, (Candidate("1-1", source=reward),), pairs=pairs, episodes=episodes)
    (trained,) = by_id(1, outcomes)
    return trained


QUERIES = Option("queries", 49, "Answers in all. ICPL asks 49 with K=6 and N=5.", low=1, high=15_000)
SEGMENT = Option("segment", 50, "Control steps of a teacher's segment; 0: whole episodes.", low=0, high=10_000)
SECONDS = Option("seconds", 2.0, "Seconds of a segment for people, 1 to 10; 0: whole episodes.", low=0.0, high=10.0)
TRUTH = Option(
    "truth",
    "reward",
    "What the teacher compares, summed over a segment: the task's human-written reward, or its metric.",
    choices=("reward", "metric"),
)
FILMED = Option("seconds", 2.0, "Seconds of a segment, 1 to 10; 0: whole episodes.", low=0.0, high=10.0)
PICTURES = Option("pictures", 4, "Pictures of each segment that the vision model is shown.", low=1, high=60)
REWARD = Option(
    "reward",
    "",
    "The reward of a finished experiment's winner: the learned reward is this function and a model.",
    listed=False,
)
EPISODES = Option("episodes", 0, "Episodes over which the final policy's mean actions are evaluated.", low=0)


def describe_method(
    name: str, title: str, algorithm: str, selection: str, summary: str, by_vision: bool = False
) -> Method:
    """A method that trains one policy and asks nothing but pairs, selected by `selection` unless an option says so."""
    answered = (FILMED, PICTURES) if by_vision else (SEGMENT, SECONDS, TRUTH)
    return Method(
        name,
        title,
        f"{summary} No language model writes.",
        partial(learn, method=name, usual_selection=selection),
        k=1,
        least_k=1,
        most_k=1,
        n=1,
        options=(
            QUERIES,
            *answered,
            Option("selection", selection, "How pairs are selected once there is a reward model.", choices=SELECTIONS),
            EPISODES,
            REWARD,
        ),
        rounds=lambda k, options: 1,
        writes=False,
        asks_pairs=True,
        pairs_by_vision=by_vision,
        looks=lambda options: by_vision,
        algorithm=algorithm,
        asks_judge=False,
    )


METHODS = (
    describe_method(  # Lee et al. 2021, B-Pref
        "prefppo",
        "PrefPPO",
        "ppo",
        "disagreement",
        "One policy explores, is asked about pairs of its segments, and learns a reward that it goes on with; by PPO.",
    ),
    describe_method(  # Lee et al. 2021
        "pebble",
        "PEBBLE",
        "sac",
        "disagreement",
        "As PrefPPO, by SAC: after each session of answers, the whole replay buffer gets the new reward.",
    ),
    describe_method(  # Park et al. 2022
        "surf",
        "SURF",
        "sac",
        "disagreement",
        "PEBBLE that also learns from crops of segments, and from pairs that nobody answered where it is sure.",
    ),
    describe_method(  # Hu et al. 2024
        "qpa",
        "QPA",
        "sac",
        "uniform",
        "PEBBLE for few answers: it asks about the newest episodes, and learns more from them.",
    ),
    describe_method(  # Cheng et al. 2024
        "rime",
        "RIME",
        "sac",
        "disagreement",
        "PEBBLE for answers of which some are wrong: it leaves out those that it does not trust, or turns them round.",
    ),
    describe_method(  # Wang et al. 2024
        "rl_vlm_f",
        "RL-VLM-F",
        "sac",
        "uniform",
        "PEBBLE with a vision model in place of people: from pictures it says which of two segments is better.",
        by_vision=True,
    ),
)
