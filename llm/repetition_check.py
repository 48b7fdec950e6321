"""Find methods that would ask for the same at every step, by running them on made-up answers."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from llm.errors import MethodError
from llm.methods import get_method as find_method
from llm.records import (
    PROGRAM,
    REWARD,
    Ask,
    Candidate,
    Choose,
    Compare,
    Judge,
    Look,
    Outcome,
    Pick,
    Problem,
    Request,
    Run,
    Train,
    Write,
    format_canonical,
    make_payload,
)

Flow = tuple[str, int, int, Mapping[str, Any]]
"""Method, K, N and options."""
TRIALS = 3
"""Flows must be equal on this many sets of answers: two that choose differently may choose alike once."""
MOST_STEPS = 100
"""A flow with more steps is given up: some methods ask again until they can read the answer."""
MOST_COUNTED_STEPS = 1000
"""The same limit where requests are counted to the flow's end: RF-Agent with 512 candidates makes 192 steps."""
SAMPLES = {"samples": [0.0, 1.0], "max": 1.0, "mean": 0.5, "min": 0.0}
HEIGHT = {"name": "height", "start": 0.5, "end": 0.4, "mean": 0.5, "min": 0.4, "max": 0.5, "travel": 0.1, "speed": 0.1}
FILM = {"seconds": 10.0, "falls": 0, "coordinates": [HEIGHT]}


def find_equal_flows(problem: Problem, flows: Sequence[Flow]) -> list[tuple[int, ...]]:
    """The numbers of flows that make the same requests from the first to the last, in groups of two or more.

    A flow that does not end within MOST_STEPS equals none.
    """
    groups = [tuple(range(len(flows)))]
    for trial in range(TRIALS):
        groups = [part for group in groups for part in _split_group(problem, flows, group, trial)]
    return sorted(groups)


def _split_group(problem: Problem, flows: Sequence[Flow], group: Sequence[int], trial: int) -> list[tuple[int, ...]]:
    """The members of the group that make the same requests in this trial, in groups of two or more."""
    steps = {number: begin(problem, flows[number]) for number in group}
    respondent = Respondent(problem, trial)
    going_on: list[tuple[list[int], int, Any]] = [(list(group), 0, None)]
    ended = []
    while going_on:
        members, step, answer = going_on.pop()
        asked: dict[str, list[int]] = defaultdict(list)
        answers: dict[str, Any] = {}
        for number in members:
            try:
                request = steps[number].send(answer)
            except StopIteration as stop:
                asked[f"ends with {stop.value}"].append(number)
            except (MethodError, ValueError):
                continue  # it cannot go on with this answer
            else:
                words = _describe_step(request)
                asked[words].append(number)
                answers[words] = request
        for words, same in asked.items():
            if len(same) > 1 and words not in answers:
                ended.append(tuple(same))
            elif len(same) > 1 and step < MOST_STEPS:
                going_on.append((same, step + 1, respondent.answer_step(answers[words], step)))
    return ended


def begin(problem: Problem, flow: Flow) -> Any:
    """The flow's generator, before its first step."""
    name, k, n, options = flow
    found = find_method(name)
    return found.function(problem, random.Random(0), k, n, **found.select_own(options))


def _describe_step(step: Request | list[Request]) -> str:
    several = step if isinstance(step, list) else [step]
    return format_canonical([isinstance(step, list), [[type(one).__name__, make_payload(one)] for one in several]])


@dataclass(frozen=True)
class Respondent:
    """Answers every request, by chance, with the same answer to the same request of a trial."""

    problem: Problem
    trial: int

    def answer_step(self, step: Request | list[Request], number: int) -> Any:
        """The answers to all requests of the step with this number."""
        rng = random.Random(f"{self.trial} {number}")
        return [self.answer(one, rng) for one in step] if isinstance(step, list) else self.answer(step, rng)

    def answer(self, request: Request, rng: random.Random) -> Any:
        """The answer to one request, by these draws."""
        match request:
            case Write():
                numbers = range(request.first, request.first + request.count)
                return tuple(self._write(f"{request.iteration}-{number}", request, rng) for number in numbers)
            case Train() | Run():
                return tuple(self._try(candidate, rng) for candidate in request.candidates)
            case Judge():
                best, *others = rng.sample(
                    [outcome.candidate.id for outcome in request.outcomes], len(request.outcomes)
                )
                return Pick(best, others[0] if request.worst and others else None, "It moves well.")
            case Choose():
                return rng.choice(request.outcomes).candidate.id
            case Compare():
                return rng.choice(("first", "second"))
        choices = getattr(request, "choices", 0)
        chosen, score = rng.randint(1, max(1, choices)), rng.choice(("0", "0.5", "1"))
        return f"Best: {chosen}\nWorst: 2\n\nSubtask 1\nScore: {score}"

    def _write(self, name: str, request: Write, rng: random.Random) -> Candidate:
        number = rng.randint(1, 3)
        reward = f"def compute_reward(x{number}):\n    return x{number}, {{'{name}': x{number}}}\n"
        answer = "\n\n".join(f"## {title}\n\n{number}" for title in self.problem.sections) + f"\n\n{name}"
        source = reward if self.problem.form == REWARD else answer
        return Candidate(name, source, request.parent, "A thought." if request.thought else "")

    def _try(self, candidate: Candidate, rng: random.Random) -> Outcome:
        states = {"outputs": str(rng.randint(1, 3))} if self.problem.form == PROGRAM else FILM
        return Outcome(candidate, True, "", {"total": SAMPLES}, SAMPLES, rng.random(), states)


class TooManySteps(MethodError):
    """A flow goes on for more than MOST_COUNTED_STEPS."""


def list_asked(problem: Problem, flow: Flow) -> Iterator[tuple[Request, Any]]:
    """The requests of this flow from its first step to its last, each with its made-up answer. Raises TooManySteps."""
    respondent, steps = Respondent(problem, 0), begin(problem, flow)
    answer = None
    for number in range(MOST_COUNTED_STEPS):
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        answer = respondent.answer_step(step, number)
        yield from zip(step, answer, strict=True) if isinstance(step, list) else [(step, answer)]
    raise TooManySteps(f"it goes on for more than {MOST_COUNTED_STEPS} steps")


def count_answers(problem: Problem, flow: Flow) -> Counter[str]:
    """By role, the answers of language models that this flow asks for from its first step to its last, judgements left
    out; those of MOST_COUNTED_STEPS where it goes on for longer.
    """
    answers = Counter[str]()
    with suppress(TooManySteps):
        for request, _ in list_asked(problem, flow):
            if isinstance(request, Write):
                answers["writer"] += request.count
            elif isinstance(request, Ask):
                answers[request.role] += 1
            elif isinstance(request, Look):
                answers["vision"] += 1
    return answers
