"""Answers to RDA's prompts: a list of subtasks, a reward for each of them, another wording of one."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from llm.offline import analyst
from llm.offline.analyst import name_quantity
from llm.offline.drafting import Component, make_component, write_source
from llm.offline.quantities import LESS, MORE, NEAR_ONE, NEAR_ZERO, STAYING, Quantity, derive
from llm.offline.reading import Reading, read_user_text, split_sections
from llm.offline.refining import Search, compute_typical_size
from llm.offline.syntax_tree import Program
from llm.records import Message

BOUNDED = {MORE: "saturating", NEAR_ONE: "peak", NEAR_ZERO: "bell", LESS: "decay", STAYING: "linear"}
"""Forms between 0 and 1; a quantity that should grow counts from 0."""
BONUS = 5.0
_FAILED = re.compile(r"^- Subtask (\d+) \(.*?\) scores ([\d.]+)", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)\.\s+(.+)$", re.MULTILINE)


def answer(messages: Sequence[Message], reading: Reading, seed: int, rng: random.Random) -> str | None:
    """The answer, without the notice; None for every other prompt."""
    parts = split_sections(read_user_text(messages))
    asked = next((title for title, _ in reversed(parts) if title.startswith("Now: ")), "")
    quantities = derive(reading)
    if asked == "Now: list the subtasks":
        return "\n".join(f"{i}. {text}" for i, text in enumerate(list_subtasks(reading, quantities), 1))
    if asked == "Now: analyse the subtasks":
        return analyst.analyse(parts, read_subtasks(parts), quantities)
    if asked == "Now: analyse the whole":
        return analyst.analyse_whole(parts, list_subtasks(reading, quantities), quantities)
    if asked == "Now: merge the failures":
        return merge(next(body for title, body in parts if title == "Failures"))
    if asked == "Now: revise the subtasks":
        return write_revision(parts, read_subtasks(parts), rng)
    if asked == "Now: reward the subtasks" and quantities:
        return write_first_reward(reading, read_subtasks(parts), quantities, rng)
    if asked == "Now: reward the subtasks better" and quantities and seed % 2:
        return write_better_reward(parts, reading, quantities, rng)
    return None


def merge(listed: str) -> str:
    """One line for each failure: reasons that share half of their longer words are one."""
    lines = []
    for block in re.split(r"^Subtask (?=\d+$)", listed, flags=re.MULTILINE)[1:]:
        number, _, rest = block.partition("\n")
        groups: list[list[tuple[str, str]]] = []
        for place, text in _NUMBERED.findall(rest):
            alike = next((group for group in groups if measure_likeness(group[0][1], text) >= 0.5), None)
            if alike is None:
                groups.append([(place, text)])
            else:
                alike.append((place, text))
        lines += [f"Subtask {number}: {g[0][1].rstrip('.')} [{', '.join(place for place, _ in g)}]" for g in groups]
    return "\n".join(lines)


def measure_likeness(first: str, second: str) -> float:
    """The share of the longer words of both that are in both."""
    one, other = ({word for word in re.findall(r"[a-z]{4,}", text.lower())} for text in (first, second))
    return len(one & other) / max(len(one | other), 1)


def read_subtasks(parts: Sequence[tuple[str, str]]) -> list[str]:
    """The subtasks that the prompt lists, in order."""
    body = next((body for title, body in parts if title.strip() == "Subtasks"), "")
    return [text for _, text in _NUMBERED.findall(body)]


def read_failures(parts: Sequence[tuple[str, str]]) -> list[tuple[int, float]]:
    """(number, score) of the subtasks that the analysis calls not done."""
    said = next((body for title, body in parts if title.strip() == "What the analysis said"), "")
    return [(int(number), float(score)) for number, score in _FAILED.findall(said)]


# --- subtasks -------------------------------------------------------------------------------------------------


def list_subtasks(reading: Reading, quantities: Sequence[Quantity]) -> list[str]:
    """At most 10, from what can be measured: first to keep going, then the goals, then to do it well."""
    measured = [q for q in quantities if q.aim != STAYING]
    aims = [q for q in measured if q.relevance > 0] or measured[:2]
    steady = [q for q in quantities if q.aim == NEAR_ONE and q not in aims[:3]][:2]
    costs = [q for q in quantities if q.aim in (LESS, NEAR_ZERO) and q not in aims[:3]][:3]
    lines = ["Keep going: the episode does not end early"]
    lines += [f"Hold {name_quantity(q)}: {name_quantity(q)} stays near its best value" for q in steady]
    for quantity in aims[:3]:
        lines.append(f"Begin {name_quantity(quantity)}: {format_goal(quantity)} at the beginning already")
    lines.append(
        f"Keep {name_quantity(aims[0])}: {format_goal(aims[0])} for the whole episode"
        if aims
        else "Keep on: nothing stops"
    )
    lines += [f"Calm {name_quantity(q)}: {name_quantity(q)} is small while the task is done" for q in costs]
    return [*lines[:9], f"Success: {' '.join(reading.task.split()) or 'the task is done'}"]


def format_goal(quantity: Quantity) -> str:
    """What is seen when the quantity is as it should be."""
    said = {MORE: "rises", LESS: "falls", NEAR_ZERO: "comes near zero", NEAR_ONE: "comes near one"}
    return f"{name_quantity(quantity)} {said[quantity.aim]}"


def write_revision(parts: Sequence[tuple[str, str]], known: Sequence[str], rng: random.Random) -> str:
    """Where something before the last subtask was not done at all, half the time a first step towards it instead."""
    lost = [number for number, score in read_failures(parts) if score == 0 and number < len(known)]
    if not lost or rng.random() < 0.5:
        return "Keep all"
    text = known[lost[0] - 1].partition(":")[2].strip() or known[lost[0] - 1]
    return f"Revise {lost[0]}: A first step: {text}, if only for a moment"


# --- rewards --------------------------------------------------------------------------------------------------


def write_first_reward(
    reading: Reading, known: Sequence[str], quantities: Sequence[Quantity], rng: random.Random
) -> str:
    """A component between 0 and 1 for each subtask that can be measured, later ones weighing more, and the bonus."""
    parts: list[Component] = []
    for number, subtask in enumerate(known[:-1], 1):
        quantity = analyst.find_quantity(subtask, quantities) or next(
            (q for q in quantities if q.aim == STAYING), quantities[0]
        )
        if any(part.quantity.expression == bound_quantity(quantity, 0).expression for part in parts):
            continue
        parts.append(make_bounded_component(rng, quantity, number))
    meant = analyst.find_quantity(known[-1], quantities) if known else None
    goal = meant or next((q for q in quantities if q.aim != STAYING), quantities[0])
    if not parts:
        parts.append(make_bounded_component(rng, goal, 1))
    parts.append(make_bonus(goal))
    code = write_source(parts, reading.inputs)
    names = ", ".join(f"`{part.name}`" for part in parts)
    return f"A component for each subtask that can be measured: {names}.\n\n```python\n{code}```\n"


def bound_quantity(quantity: Quantity, number: int) -> Quantity:
    """The quantity under a name that says for which subtask it is, not below 0 where it should be more."""
    expression = quantity.expression
    if quantity.aim == MORE:
        expression = f"torch.clamp({expression}, min=0.0)"
    return replace(quantity, name=f"subtask_{number}_{quantity.name}", expression=expression)


def make_bounded_component(rng: random.Random, quantity: Quantity, number: int) -> Component:
    """A component for this subtask that cannot grow without end; later subtasks weigh more."""
    weight = (0.5 + 0.25 * number) * rng.uniform(0.6, 1.6)
    return make_component(rng, bound_quantity(quantity, number), weight, BOUNDED[quantity.aim])


def make_bonus(goal: Quantity) -> Component:
    """A large reward while the goal is clearly reached."""
    reached = {
        MORE: f"(({goal.expression}) > {2 * goal.scale}).float()",
        NEAR_ONE: f"(({goal.expression}) > 0.95).float()",
        STAYING: goal.expression,
    }
    expression = reached.get(goal.aim, f"(torch.abs({goal.expression}) < {0.1 * goal.scale}).float()")
    return Component(Quantity("success_bonus", expression, STAYING, 1.0, frozenset()), "linear", BONUS, 1.0)


def write_better_reward(
    parts: Sequence[tuple[str, str]], reading: Reading, quantities: Sequence[Quantity], rng: random.Random
) -> str | None:
    """The best program, with more reward for what the analysis calls not done."""
    program = Program.parse(reading.preferred.source) if reading.preferred else None
    if program is None:
        return None
    search = Search(program, rng, reading, quantities, [])
    known = read_subtasks(parts)
    for number, score in read_failures(parts)[:2]:
        quantity = analyst.find_quantity(known[number - 1], quantities) if number <= len(known) else None
        if quantity is None:
            continue
        names = [n for n in program.components() if analyst.compute_coverage(program, n, quantity)]
        for name in names:
            search.scale(name, rng.uniform(1.3, 2.5 - score))
        if not names:
            part = make_bounded_component(rng, quantity, number)
            part = replace(part, weight=rng.uniform(0.3, 1.0) * compute_typical_size(search.trace))
            if program.add(part, reading.inputs):
                search.done.append(f"new `{part.name}`")
    search.jitter(0.15)
    return f"From the analysis: {'; '.join(search.done)}.\n\n```python\n{program.source}```\n"
