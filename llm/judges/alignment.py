"""Alignment: a vision model says how far the robot in a film does what its task says, on a scale (RDA)."""

from __future__ import annotations

import re

from llm.prompts import render
from llm.records import Rate

MOST = 5
"""The scale is from 1 to this; the alignment rate is the mean divided by it."""
_RATING = re.compile(r"^\W*rating\W*([1-5])\b(?:\s*(?:/|of|out of)\s*5)?\W*$", re.IGNORECASE | re.MULTILINE)


def ask_rating(iteration: int, description: str, candidate: str, pictures: int, seed: int, number: int) -> Rate:
    """The question about one film; the pictures stand behind it."""
    text = render("align_rate", description=description, pictures=pictures)
    return Rate(iteration, ({"role": "user", "content": text},), candidate, pictures, seed, number)


def read_rating(text: str) -> int | None:
    """The last rating in the answer; None where there is none."""
    found = _RATING.findall(text)
    return int(found[-1]) if found else None
