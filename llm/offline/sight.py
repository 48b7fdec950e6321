"""Which methods the offline writer cannot tell apart, because it reads the same from their prompts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from llm.errors import MethodError
from llm.offline.reading import read
from llm.records import Ask, Problem, Request, Write
from llm.repetition_check import MOST_STEPS, TRIALS, Flow, Respondent, begin


def reads_alike(problem: Problem, first: Flow, second: Flow) -> bool:
    """Whether the two ask the writer equally often, and it understands the same each time, on the same made-up answers.
    What they ask of describers and judges does not count: only what of it reaches the writer.
    """
    return all(list(_list_read(problem, first, t)) == list(_list_read(problem, second, t)) for t in range(TRIALS))


def _list_read(problem: Problem, flow: Flow, trial: int) -> Iterator[Any]:
    """What the writer understands of each request, from the first to the last."""
    respondent, steps, answer = Respondent(problem, trial), begin(problem, flow), None
    for _ in range(MOST_STEPS):
        try:
            step = steps.send(answer)
        except (StopIteration, MethodError, ValueError):
            return
        several: list[Request] = step if isinstance(step, list) else [step]
        for request in several:
            if isinstance(request, Write):
                yield request.iteration, request.count, request.parent, read(request.messages)
            elif isinstance(request, Ask) and request.role == "writer":
                yield request.iteration, read(request.messages)
        answers = [respondent.answer(request, _draw(request, trial)) for request in several]
        answer = answers if isinstance(step, list) else answers[0]


def _draw(request: Request, trial: int) -> random.Random:
    """By kind and round: a method that asks more often gets the same answers to what both ask."""
    return random.Random(f"{trial} {type(request).__name__} {getattr(request, 'iteration', 0)}")
