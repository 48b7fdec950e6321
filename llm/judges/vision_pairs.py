"""RL-VLM-F (Wang et al., ICML 2024): a vision model says which of two segments is better, in two questions.

First it describes both and compares them in its own words, from their pictures. Then it turns these words into one
label: 0, 1, or -1 where it is unsure, which is no answer.
"""

from __future__ import annotations

import random
import re

from llm.prompts import render
from llm.records import Ask

LABELS = {"0": "first", "1": "second", "-1": "skip"}
_LABEL = re.compile(r"[^\w-]*(?:(?:label|answer|preference)\W*?\s)?[^\w-]*(-1|0|1)\W*", re.IGNORECASE)


def is_swapped(seed: int) -> bool:
    """Whether the second segment is attempt 0, so that a preference for one place favours no segment."""
    return bool(random.Random(seed).getrandbits(1))


def ask_analysis(description: str, first: int, second: int, seed: int) -> Ask:
    """The first question; pictures stand behind it, `first` of attempt 0 and `second` of attempt 1."""
    return _make_question(render("vision_pair", description=description, first=first, second=second), seed)


def ask_preference(description: str, analysis: str, seed: int) -> Ask:
    """The second question, which has no pictures."""
    return _make_question(render("vision_preference", description=description, analysis=analysis), seed)


def read_preference(text: str, swapped: bool) -> str:
    """The answer about the pair (llm.records.ANSWERS): the label that is the reply's last line. A number in a sentence
    need not be the label, so it is skipped.
    """
    found = _LABEL.fullmatch((text.strip().splitlines() or [""])[-1])
    answer = LABELS[found[1]] if found else "skip"
    return {"first": "second", "second": "first"}.get(answer, answer) if swapped else answer


def _make_question(text: str, seed: int) -> Ask:
    return Ask(1, ({"role": "user", "content": text},), seed, "vision")
