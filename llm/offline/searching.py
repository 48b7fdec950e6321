"""Answers to RF-Agent's and Revolve's prompts: children, by kind of action; thoughts in words; a rating by rules."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from llm import extract
from llm.offline.drafting import Component, draft, make_component, round_digits, write_source
from llm.offline.quantities import LESS, MORE, NEAR_ONE, NEAR_ZERO, STAYING, Quantity, derive
from llm.offline.reading import Example, Reading, read_trace, read_user_text, split_sections, split_words
from llm.offline.refining import (
    DOMINATES,
    Search,
    compute_shares,
    compute_size,
    compute_typical_size,
    find_meaning,
    is_flat,
    leave_rejected,
    soften,
)
from llm.offline.syntax_tree import Program
from llm.records import Message

_MOVE = re.compile(r"^Now:\s*(.+)$")
_SCORE = re.compile(r"^Task score:\s*(\S+)", re.MULTILINE)
WANTED = {
    MORE: "as much as possible of",
    NEAR_ONE: "holding",
    NEAR_ZERO: "little",
    LESS: "less",
    STAYING: "every step of",
}


@dataclass(frozen=True)
class Family:
    """The nodes that a prompt shows, or the one or two parents of an evolution."""

    parent: Example
    others: tuple[Example, ...]
    """Elites, nodes of the path, nodes of other branches, or the second parent."""
    gained: bool | None
    """Whether the last step of the path raised the score; None where the prompt does not say."""


def answer(messages: Sequence[Message], reading: Reading, seed: int, rng: random.Random) -> str | None:
    """The answer, without the notice; None for every other prompt."""
    parts = split_sections(read_user_text(messages))
    move = next((m[1].strip() for title, _ in parts if (m := _MOVE.match(title))), "")
    if move in ("restate the thought", "verify"):
        return _write_reflection(parts, reading, verify=move == "verify")
    if move not in MOVES:
        return None
    quantities, family = derive(reading), read_family(parts)
    program = Program.parse(family.parent.source) if family else None
    if family is None or program is None or not quantities:
        return None
    search = Search(program, rng, replace(reading, preferred=family.parent), quantities, [])
    search = MOVES[move](search, family)
    if not search.done:
        search.jitter(0.2)
    thought = f"{describe_components(search.program, quantities)} Against its parent: {'; '.join(search.done)}."
    return f"{thought}\n\n```python\n{search.program.source}```\n"


def read_family(parts: Sequence[tuple[str, str]]) -> Family | None:
    """The parent and the other nodes of a prompt; None where it shows no parent."""
    parent, others, scores = None, [], []
    for title, body in parts:
        kind = split_words(title) & {"parent", "elite", "path", "branch"}
        code = extract.find_source(body) if kind and "def " in body else None
        if code is None:
            continue
        example = Example(code, read_trace(body))
        found = _SCORE.search(body)
        scores.append(float(found[1]) if found else None)
        if "parent" in kind and parent is None:
            parent = example
        else:
            others.append(example)
    if parent is None:
        return None
    last = scores[-2:]
    gained = last[1] > last[0] if len(last) == 2 and last[0] is not None and last[1] is not None else None
    return Family(parent, tuple(others), gained)


# --- moves ----------------------------------------------------------------------------------------------------


def change_structure(search: Search, family: Family) -> Search:
    """One component out or in; the numbers hardly move."""
    others = search.list_others()
    choice = search.rng.random()
    if others and choice < 0.35:
        search.drop(search.rng.choice(others))
    elif choice < 0.55:
        kinds = [q for q in search.quantities if q.aim == STAYING or (q.aim == NEAR_ONE and "upright" in q.tags)]
        search.add(kinds, search.rng.uniform(0.4, 1.5))
    if not search.done:
        used = compute_shares(family.parent, search)
        absent = [q for q in search.quantities if q not in used]
        relevant = [q for q in absent if q.relevance > 0]
        search.add(relevant if relevant and search.rng.random() < 0.6 else absent, search.rng.uniform(0.1, 0.8))
    search.jitter(0.05)
    return search


def change_parameters(search: Search, family: Family) -> Search:
    """Only numbers: what drowns the rest shrinks, what is flat gets another temperature, all move a little."""
    sizes = {name: compute_size(search.trace.get(name)) for name in search.program.components()}
    for name, value in sizes.items():
        row = search.trace.get(name)
        if row is not None and not search.serves_goal(name) and value > DOMINATES * (sum(sizes.values()) - value):
            search.scale(name, 0.3)
        elif row is not None and is_flat(row) and search.program.temperatures(name):
            soften(search, name)
    if not search.done:
        name = search.rng.choice(list(sizes) or [""])
        search.scale(name, search.rng.choice((0.4, 0.7, 1.5, 2.5)))
    search.jitter(0.2)
    return search


def crossover(search: Search, family: Family) -> Search:
    """Add components of the elites, and move shared ones towards the elite's share."""
    own = compute_shares(family.parent, search)
    for elite in family.others:
        theirs = compute_shares(elite, search)
        for quantity, share in sorted(theirs.items(), key=lambda pair: (-pair[1], pair[0].name)):
            name = next((n for n in search.program.components() if search.meaning(n) == quantity), None)
            if name is None:
                weight = max(share, 0.02) * compute_typical_size(search.trace)
                part = make_component(search.rng, quantity, weight)
                if search.program.add(part, search.reading.inputs):
                    search.done.append(f"`{part.name}` from an elite")
            elif own.get(quantity, 0.0) > 0 and share > 0:
                factor = (share / own[quantity]) ** 0.5
                if abs(factor - 1) > 0.05:
                    search.scale(name, round_digits(min(max(factor, 0.5), 2.0)))
    search.jitter(0.1)
    return search


def follow_path(search: Search, family: Family) -> Search:
    """Further where the last step gained, back from it where it lost."""
    if not family.others:
        return change_structure(search, family)
    before = family.others[-1]
    better, worse = (before, family.parent) if family.gained is False else (family.parent, before)
    reading = replace(search.reading, preferred=better, rejected=worse)
    program = Program.parse(better.source)
    if program is None:
        return search
    on = Search(program, search.rng, reading, search.quantities, [])
    on.done.append("back to the step before, and further from what followed" if better is before else "further on")
    leave_rejected(on)
    return on


def draft_different(search: Search, family: Family) -> Search:
    """The one of several new programs that shares least with all that are shown."""
    shown = [compute_shares(example, search) for example in (family.parent, *family.others)]
    drafts = [draft(search.rng, search.rng.randrange(6), search.quantities) for _ in range(8)]

    def measure_shared(parts: Sequence[Component]) -> float:
        chosen = {part.quantity for part in parts}
        return max(len(chosen & set(other)) / max(len(chosen | set(other)), 1) for other in shown)

    parts = min(drafts, key=measure_shared)
    program = Program.parse(write_source(parts, search.reading.inputs))
    assert program is not None
    listed = ", ".join(f"{p.quantity.name} ({p.form})" for p in parts)
    return Search(program, search.rng, search.reading, search.quantities, [f"another form: {listed}"])


def mutate(search: Search, family: Family) -> Search:
    """One change: of the structure or of the numbers."""
    return search.rng.choice((change_structure, change_parameters))(search, family)


MOVES: dict[str, Callable[[Search, Family], Search]] = {
    "mutate": mutate,
    "improve the parent": mutate,
    "another structure": change_structure,
    "other parameters": change_parameters,
    "cross over": crossover,
    "think along the path": follow_path,
    "a different form": draft_different,
}


# --- words ----------------------------------------------------------------------------------------------------


def _write_reflection(parts: Sequence[tuple[str, str]], reading: Reading, verify: bool) -> str:
    """The restated thought of the program shown, or a rating of it."""
    body = next((body for title, body in reversed(parts) if split_words(title) & {"reward"} and "def " in body), "")
    code = extract.find_source(body)
    program = Program.parse(code) if code else None
    quantities = derive(reading)
    if program is None or code is None or not quantities:
        return (
            "Its rules cannot take this program apart.\n\nRating: 0" if verify else "Its rules cannot read this code."
        )
    if not verify:
        return describe_components(program, quantities)
    value, why = rate_program(Example(code, read_trace(body)), program, quantities)
    return f"{why}\n\nRating: {value:g}"


def describe_components(program: Program, quantities: Sequence[Quantity]) -> str:
    """What each component of the program is about."""
    said = []
    for name in program.components():
        about = find_meaning(program, name, quantities)
        said.append(f"`{name}` rewards {WANTED[about.aim]} {_format_name(about.name)}" if about else f"`{name}`")
    listed = "; ".join(said) or "nothing that could be read"
    return f"The reward sums {len(said)} components: {listed}."


def rate_program(example: Example, program: Program, quantities: Sequence[Quantity]) -> tuple[float, str]:
    """In [-1, 1]: how much of the reward is about what the task text asks for.

    2 g - 1, where g is the share of the goal's components in the sizes of all components over the training, or in their
    weights where no trace is shown; constants, which are earned by whatever the robot does, count half as much against
    it.
    """
    best = max(q.relevance for q in quantities)
    goal = other = 0.0
    goals = []
    for name in program.components():
        about, row = find_meaning(program, name, quantities), example.trace.get(name)
        weight = compute_size(row) if row is not None else program.weight(name)
        if about is not None and best > 0 and about.relevance > 0.5 * best and about.aim != STAYING:
            goal += weight
            goals.append(name)
        else:
            other += weight * (0.5 if about is not None and about.aim == STAYING else 1.0)
    if not goals:
        return -0.6, "No component is about what the task asks for: an expert would earn no more than anybody else."
    share = goal / (goal + other) if goal + other > 0 else 0.0
    listed = ", ".join(f"`{name}`" for name in goals)
    return round(2 * share - 1, 2), f"An expert would earn {listed}, which make {share:.0%} of the reward's size."


def _format_name(name: str) -> str:
    return name.replace("_", " ")
