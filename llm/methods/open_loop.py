"""OpenLoop, ICPL's ablation without feedback: K x N candidates, all written from the first prompt."""

from __future__ import annotations

import random

from llm.forms import find_form
from llm.method import ROUNDS_WITH_PEOPLE, Method
from llm.records import Choose, Judge, Outcome, Problem, Write
from llm.steps import Steps, by_id, make_seed, outcome_named


def open_loop(problem: Problem, rng: random.Random, k: int = 6, n: int = 5) -> Steps:
    """K x N candidates from one prompt, in N rounds of K so that a person never compares more than K at once.

    No judgement reaches a later prompt: each finds the round's best, and the last choice among those finds the best of
    all K x N. Returns the winner's id. Raises MethodError when nothing of a round can be tried.
    """
    form, bests = find_form(problem), list[Outcome]()
    for iteration in range(1, n + 1):
        candidates = yield Write(iteration, form.first_prompt, k, make_seed(rng))
        outcomes = yield form.trial(iteration, candidates)
        seen = by_id(iteration, outcomes)
        pick = yield Judge(iteration, outcomes)
        bests.append(outcome_named(seen, pick.best))
    if n == 1:
        return bests[0].candidate.id
    winner: str = yield Choose(tuple(bests))
    return winner


METHODS = (
    Method(
        "open_loop",
        "OpenLoop",
        "As many candidates as ICPL, all written from the first prompt, without feedback.",
        open_loop,
        reasoning=True,
        rounds_on=ROUNDS_WITH_PEOPLE,
        hears_judge=False,
    ),
)
