"""A language model as the judge: it reads code and reward traces, or answers to a problem.

With the option `frames` it is a vision model that also sees so many pictures of each film. Never the hidden metric, a
reference answer or test cases.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from llm.forms import form_of
from llm.messages import inputs_text, trace_text
from llm.method import Option
from llm.prompts import render
from llm.reasoning import prompts
from llm.records import REWARD, Ask, Choose, Compare, Judge, Judged, Outcome, Pick, Problem, shown

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
    """Shuffled, so that a liking for the first place does no systematic harm."""


def question(judged: Judged, problem: Problem, seed: int, pictures: Mapping[str, int] | None = None) -> Question:
    """The question to the model in the role `judge`.

    `pictures`: how many pictures of each candidate, by id, the caller puts behind the text, in the question's order.
    """
    order = list(shown(judged))
    random.Random(seed).shuffle(order)
    wants_worst = isinstance(judged, Judge) and judged.worst and len(order) > 1
    if problem.form == REWARD:
        text = reward_text(problem, order, wants_worst, [(pictures or {}).get(o.candidate.id, 0) for o in order])
    else:
        text = prompts.judge_text(problem, order, wants_worst)
    messages = ({"role": "system", "content": render(form_of(problem).judge_system)}, {"role": "user", "content": text})
    iteration = 0 if isinstance(judged, Choose) else judged.iteration
    return Question(Ask(iteration, messages, seed, "judge"), judged, tuple(order))


def reward_text(problem: Problem, order: Sequence[Outcome], worst: bool, pictures: Sequence[int]) -> str:
    """The question about reward functions, of each of which there are so many pictures."""
    return render(
        "judge",
        description=problem.description.strip(),
        inputs=inputs_text(problem),
        entries=entries(order),
        sight=sight(pictures),
        worst=", and which made it do the task worst" if worst else "",
        answer="Best: <number>\nWorst: <number>" if worst else "Best: <number>",
    )


def sight(pictures: Sequence[int]) -> str:
    """Which pictures show which number."""
    if not any(pictures):
        return render("judge_unseen").strip()
    ends = accumulate(pictures)
    places = [
        f"{end - count + 1} to {end} of number {number}" if count else f"none of number {number}"
        for number, (count, end) in enumerate(zip(pictures, ends, strict=True), 1)
    ]
    return render("judge_seen", places=", ".join(places)).strip()


def entries(outcomes: Sequence[Outcome]) -> str:
    """Code and trace of each under its number."""
    parts = [
        render("judge_entry", number=number, source=o.candidate.source.strip(), trace=trace_text(o.trace))
        for number, o in enumerate(outcomes, 1)
    ]
    return "\n\n".join(parts)


def read(asked: Question, text: str) -> Pick | str | None:
    """The judgement in the model's answer; None where it holds none."""
    best, worst = _named(_BEST, text, asked.order), _named(_WORST, text, asked.order)
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
    """Whether the answer names one of so many as the best."""
    return _number(_BEST, text, choices) > 0


def _named(pattern: re.Pattern[str], text: str, order: Sequence[Outcome]) -> Outcome | None:
    """The outcome whose number stands behind the word; None for none, and for a number that is none."""
    number = _number(pattern, text, len(order))
    return order[number - 1] if number else None


def _number(pattern: re.Pattern[str], text: str, count: int) -> int:
    """The number from 1 to `count` that stands last behind the word; 0 where none does."""
    found = pattern.findall(text)
    number = int(found[-1]) if found else 0
    return number if number <= count else 0
