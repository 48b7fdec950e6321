"""RDA's alignment rate: films of trained policies, and a vision model that says how far each does what its task says.
Nothing is written or trained.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from llm.errors import MethodError
from llm.judges.alignment import ask_rating
from llm.method import Method, Option
from llm.records import Candidate, Perform, Problem, Request
from llm.steps import Steps

VIDEOS, ANSWERS, PICTURES = 5, 4, 50
"""Films of each policy, answers about each film, pictures of it, as published."""


def align(
    problem: Problem,
    rng: random.Random,
    k: int = VIDEOS,
    n: int = 1,
    of: str = "",
    policies: str = "",
    answers: int = ANSWERS,
    pictures: int = PICTURES,
) -> Steps:
    """Film K episodes of each policy and ask about each film several times. Returns the film with the best ratings."""
    rated: dict[str, float] = {}
    for number, policy in enumerate(filter(None, policies.split(",")), 1):
        films = tuple(Candidate(f"{number}-{index}", describe_film(policy, index)) for index in range(1, k + 1))
        outcomes = yield Perform(number, films, of, policy)
        seen = [outcome.candidate.id for outcome in outcomes if outcome.ok]
        asked: list[Request] = [
            ask_rating(number, problem.description, film, pictures, rng.getrandbits(31), answer)
            for film in seen
            for answer in range(1, answers + 1)
        ]
        said = (yield asked) if asked else []
        for place, film in enumerate(seen):
            given = [one["rating"] for one in said[place * answers : (place + 1) * answers]]
            rated[film] = compute_mean([rating for rating in given if rating is not None])
    if not rated:
        raise MethodError("there is no policy to film")
    return max(rated, key=rated.__getitem__)


def describe_film(policy: str, number: int) -> str:
    """The text that pages show in place of a program."""
    return f"# No program: film {number} of policy {policy}.\n"


def compute_mean(ratings: Sequence[int]) -> float:
    """0 where nobody was asked."""
    return sum(ratings) / len(ratings) if ratings else 0.0


METHODS = (
    Method(
        "align",
        "Alignment",
        "Films of trained policies, rated by a vision model: does the robot do what its task says?",
        align,
        k=VIDEOS,
        least_k=1,
        n=1,
        options=(
            Option("of", "", "The public id of the experiment that trained the policies."),
            Option("policies", "", "Its candidates whose final policies are filmed, with commas between them."),
            Option("answers", ANSWERS, "How often the vision model is asked about each film.", low=0, high=20),
            Option("pictures", PICTURES, "Pictures of each film that it is shown.", low=2, high=100),
        ),
        rounds=lambda k, options: len(str(options.get("policies", "")).split(",")),
        writes=False,
        looks_on=True,
        asks_judge=False,
        chooses=False,
        looks=lambda options: options.get("answers", ANSWERS) > 0,
        films_all=lambda options: True,
        offered=False,
    ),
)
