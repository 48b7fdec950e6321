"""A language model as the judge: it reads code and reward traces, or answers to a problem.

With the option `frames` it is a vision model that also sees that many pictures of each film. It never sees the hidden
metric, a reference answer or test cases.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm.forms import find_form
from llm.method import Option
from llm.records import Ask, Choose, Compare, Judge, Judged, Outcome, Pick, Problem, list_shown

FRAMES = "frames"
OPTIONS = (
    Option(
        FRAMES, 0, "Pictures of each film that the experiment's vision model judges by; 0: no pictures.", low=0, high=60
    ),
)
_NUMBER = r"\W*(?:(?:number|no|nr|answer|program|candidate|reward function)\b[^\w\n]*)?(\d{1,9})\b"
_BEST = re.compile(rf"^\W*best{_NUMBER}", re.IGNORECASE | re.MULTILINE)
_WORST = re.compile(rf"^\W*worst{_NUMBER}", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Question:
    """What the model is asked, and which candidate each number in it stands for."""

    ask: Ask
    judged: Judged
    order: tuple[Outcome, ...]
    """Shuffled, so that a preference for the first place favours no candidate systematically."""


def make_question(judged: Judged, problem: Problem, seed: int, pictures: Mapping[str, int] | None = None) -> Question:
    """The question to the model in the role `judge`.

    `pictures`: how many pictures of each candidate, by id, the caller puts behind the text, in the question's order.
    """
    order = list(list_shown(judged))
    random.Random(seed).shuffle(order)
    wants_worst = isinstance(judged, Judge) and judged.worst and len(order) > 1
    form = find_form(problem)
    text = form.judge_text(order, wants_worst, [(pictures or {}).get(o.candidate.id, 0) for o in order])
    iteration = 0 if isinstance(judged, Choose) else judged.iteration
    return Question(Ask(iteration, form.judge_chat(text), seed, "judge"), judged, tuple(order))


def read(asked: Question, text: str) -> Pick | str | None:
    """The judgement in the model's answer; None where it holds none."""
    best, worst = _find_named(_BEST, text, asked.order), _find_named(_WORST, text, asked.order)
    if best is None:
        return None
    if isinstance(asked.judged, Compare):
        return "first" if best is asked.judged.first else "second"
    if isinstance(asked.judged, Choose):
        return best.candidate.id
    if len(asked.order) == 1 or not asked.judged.worst:
        return Pick(best.candidate.id, None)
    if worst is None or worst is best:
        return None
    return Pick(best.candidate.id, worst.candidate.id)


def names_one(text: str, choices: int) -> bool:
    """Whether the answer names one of `choices` as the best."""
    return _read_number(_BEST, text, choices) > 0


def _find_named(pattern: re.Pattern[str], text: str, order: Sequence[Outcome]) -> Outcome | None:
    """The outcome whose number stands behind the word; None where no outcome has such a number."""
    number = _read_number(pattern, text, len(order))
    return order[number - 1] if number else None


def _read_number(pattern: re.Pattern[str], text: str, count: int) -> int:
    """The number from 1 to `count` that stands last behind the word; 0 where none does."""
    found = pattern.findall(text)
    number = int(found[-1]) if found else 0
    return number if number <= count else 0
