"""Eureka (Ma et al. 2024, Algorithm 1): greedy search by the task score, which prompts show."""

from __future__ import annotations

import random

from llm.errors import MethodError, explain_missing_score
from llm.messages import first_prompt, format_problem, format_trace, make_chat
from llm.method import Method
from llm.prompts import render
from llm.records import Message, Outcome, Problem, Train, Write
from llm.steps import Steps, by_id, make_seed


def eureka(problem: Problem, rng: random.Random, k: int = 6, n: int = 5) -> Steps:
    """Algorithm 1: N times write K rewards, train them, feed back the best of the round: code, trace and task score.

    Returns the id of the best of all rounds. Raises MethodError when no candidate of an iteration can be trained, and
    where one has no task score.
    """
    best: Outcome | None = None  # of the last round: greedy, it may be worse than the one before
    winner: Outcome | None = None
    for iteration in range(1, n + 1):
        prompt = make_feedback_prompt(problem, iteration - 1, best) if best else first_prompt(problem)
        candidates = yield Write(iteration, prompt, k, make_seed(rng), best.candidate.id if best else None)
        outcomes = yield Train(iteration, candidates)
        best = max(by_id(iteration, outcomes).values(), key=score)
        if winner is None or score(best) > score(winner):
            winner = best
    assert winner is not None
    return winner.candidate.id


def score(outcome: Outcome) -> float:
    """The task score F: the maximum of the metric over the training (RTS)."""
    if outcome.rts is None:
        raise MethodError(explain_missing_score(outcome.candidate.id, "ICPL and Revolve ask a person instead"))
    return outcome.rts


def make_feedback_prompt(problem: Problem, iteration: int, best: Outcome) -> tuple[Message, ...]:
    """Reward reflection: the best of the round with its components' and the score's values over the training."""
    trace = format_trace({**best.trace, "task_score": best.metric_trace})
    text = render(
        "eureka",
        problem=format_problem(problem),
        iteration=iteration,
        source=best.candidate.annotated_source,
        trace=trace,
        score=f"{score(best):.4g}",
    )
    return make_chat(text)


METHODS = (
    Method(
        "eureka",
        "Eureka",
        "Greedy: the candidate with the highest task score is fed back with its score, K more from there. "
        "Published with K=16; 6 compares with ICPL.",
        eureka,
        published_k=16,
        uses_metric=True,
    ),
)
