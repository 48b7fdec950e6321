"""Answers to prompts that ask for a choice: which of these programs is best and worst, which answers are equivalent."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from llm import extract
from llm.offline.quantities import Quantity, derive
from llm.offline.reading import Example, Reading, read_trace, read_user_text, split_sections
from llm.offline.searching import rate_program
from llm.offline.syntax_tree import Program
from llm.records import Message

_NUMBER = re.compile(r"^Number (\d+)$")
SAME = 0.8
"""Two final answers are equivalent when they share this part of all words in them."""


def answer(messages: Sequence[Message], reading: Reading, seed: int, rng: random.Random) -> str | None:
    """The answer, without the notice; None when the prompt asks for no choice."""
    parts = split_sections(read_user_text(messages))
    titles = [title for title, _ in parts]
    entries = {int(m[1]): body for title, body in parts if (m := _NUMBER.match(title))}
    if "Now: judge" in titles:
        return write_judgement(entries, derive(reading), worst="Worst: <number>" in parts[-1][1])
    return group_answers(entries) if "Now: group" in titles else None


def write_judgement(entries: dict[int, str], quantities: Sequence[Quantity], worst: bool) -> str:
    """Best and worst by how much of a program's reward is about the task; what it cannot read comes last."""
    rated = sorted(entries, key=lambda number: (-rate_section(entries[number], quantities), number))
    said = f"Number {rated[0]} gives the largest part of its reward for what the task asks for.\n\nBest: {rated[0]}"
    return f"{said}\nWorst: {rated[-1]}" if worst else said


def rate_section(body: str, quantities: Sequence[Quantity]) -> float:
    """The rating in [-1, 1] of the program in this section; -2 where rules cannot take it apart."""
    code = extract.find_source(body)
    program = Program.parse(code) if code else None
    if code is None or program is None or not quantities:
        return -2.0
    return rate_program(Example(code, read_trace(body)), program, quantities)[0]


def group_answers(entries: dict[int, str]) -> str:
    """Each answer joins the first group whose first member shares most words with it, else begins one."""
    found: list[list[int]] = []
    for number, text in entries.items():
        known = frozenset(re.findall(r"\w+", text.lower()))
        for group in found:
            other = frozenset(re.findall(r"\w+", entries[group[0]].lower()))
            if len(known & other) >= SAME * len(known | other):
                group.append(number)
                break
        else:
            found.append([number])
    listed = " ".join(f"[{', '.join(map(str, group))}]" for group in found)
    return f"Two answers with at least {SAME:.0%} of their words in common count as one.\n\n{listed}"
