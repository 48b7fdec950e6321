"""RDA's alignment rate: how well films of a trained robot agree with the task as a person would mean it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llm.backend import ChatBackend, Reply
from llm.messages import chat
from llm.prompts import render
from llm.records import Look, Message, Problem
from llm.writer import ask

RATINGS = 4
"""Of each film."""
BEST = 5
_RATED = re.compile(r"rating(?:[^\w\n]{0,6}[(\[][^\n)\]]*[)\]])?\W{0,8}([1-5])(?:\.0+)?(?!\d|\.\d)", re.IGNORECASE)


@dataclass(frozen=True)
class Alignment:
    """The ratings of some films; `error` says why there are fewer than asked for."""

    ratings: tuple[tuple[int, ...], ...]
    """For each film its ratings, from 1 to 5."""
    calls: tuple[Reply, ...]
    error: str = ""

    @property
    def rate(self) -> float | None:
        """Mean rating over 5, every film counting the same; None where no film was rated."""
        means = [sum(film) / len(film) for film in self.ratings if film]
        return sum(means) / len(means) / BEST if means else None


def alignment(backend: ChatBackend, problem: Problem, films: Sequence[Sequence[str]], seed: int = 0) -> Alignment:
    """Have a vision model rate each film four times; the paper rates five films of a policy.

    `films` are frames as data URLs, in order. Another model than the one that writes rewards should rate.
    """
    ratings: list[tuple[int, ...]] = []
    calls: list[Reply] = []
    for number, frames in enumerate(films):
        found: list[int] = []
        for time in range(RATINGS):
            # three tries a rating at most, each with a seed of its own
            look = Look(0, prompt(problem, len(frames)), "", len(frames), seed + 3 * (RATINGS * number + time))
            said = ask(backend, look, images=frames, accept=lambda text: rating(text) is not None)
            calls.extend(said.calls)
            value = rating(said.text)
            if value is None:
                return Alignment((*ratings, tuple(found)), tuple(calls), said.error)
            found.append(value)
        ratings.append(tuple(found))
    return Alignment(tuple(ratings), tuple(calls))


def prompt(problem: Problem, frames: int) -> tuple[Message, ...]:
    """The fixed instructions."""
    return chat(render("rda_align_rate", description=problem.description.strip(), frames=frames))


def rating(answer: str) -> int | None:
    """The number behind the last "Rating:"; None where there is none from 1 to 5."""
    found = _RATED.findall(answer)
    return int(found[-1]) if found else None
