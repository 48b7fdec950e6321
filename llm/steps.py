"""Shared by all methods: the type of the generator, seeds, and the outcomes that a judge may name."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import Any

from llm.errors import MethodError
from llm.records import Outcome, Request, list_trainable

Steps = Generator[Request | list[Request], Any, str]
"""Yields a request, or a list of requests that may run concurrently; receives the result, or the list of results in
the same order; returns the winner's id."""


def make_seed(rng: random.Random) -> int:
    """A seed for one request; a request for K answers uses seed, seed + 1, ..."""
    return rng.randrange(2**31)


def by_id(iteration: int, outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    """The trainable outcomes by candidate id. Raises MethodError when there are none."""
    seen = {o.candidate.id: o for o in list_trainable(outcomes)}
    if not seen:
        reason = next((o.reason for o in outcomes if o.reason), "none was given")
        raise MethodError(
            f"iteration {iteration}: none of the {len(outcomes)} candidates could be trained. First reason: {reason}"
        )
    return seen


def outcome_named(seen: dict[str, Outcome], candidate: str) -> Outcome:
    """The outcome that a judge named. Raises MethodError for an id that the judge was not shown."""
    if candidate not in seen:
        raise MethodError(f"the judge named {candidate!r}, but was shown {', '.join(seen)}")
    return seen[candidate]
