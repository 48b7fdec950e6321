"""The next program: a structured local search around the preferred one, away from the rejected one."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from llm import syntax
from llm.offline.drafting import make_component, round_digits
from llm.offline.quantities import LESS, MORE, NEAR_ONE, STAYING, Quantity
from llm.offline.reading import Example, Reading, Row
from llm.offline.syntax_tree import Program, list_accesses

FLAT = 0.05  # a component whose samples vary by less than this share of their size is not being optimised
SETTLED = 0.5  # a component that has not moved in this last share of the training is saturated, if it moved before
TREND = 0.2  # a share that changes by less than this part of itself from the first best to the last has no trend
TOTALS = ("total", "episode_length", "task_score")  # rows of a trace that are no components
DOMINATES = 3.0  # a component this much larger than all others together drowns them


@dataclass
class Search:
    """The state that strategies work on. `program` is edited in place; `done` lists the edits, for the answer."""

    program: Program
    rng: random.Random
    reading: Reading
    quantities: Sequence[Quantity]
    done: list[str]

    @property
    def trace(self) -> Mapping[str, Row]:
        """The preferred program's reward trace by component; empty where it has none."""
        return self.reading.preferred.trace if self.reading.preferred else {}

    def meaning(self, name: str) -> Quantity | None:
        """The quantity of one of the program's components; None where none resembles it."""
        return find_meaning(self.program, name, self.quantities)

    def serves_goal(self, name: str) -> bool:
        """Whether the component is about what the task text asks for most."""
        best = max((q.relevance for q in self.quantities), default=0.0)
        found = self.meaning(name)
        return found is not None and best > 0 and found.relevance > 0.5 * best

    def goals(self) -> list[str]:
        """The components that serve the goal."""
        return [name for name in self.program.components() if self.serves_goal(name)]

    def list_others(self) -> list[str]:
        """The components that do not."""
        return [name for name in self.program.components() if not self.serves_goal(name)]

    def scale(self, name: str, factor: float) -> None:
        """Multiply a component's weight, and say so where it could be found."""
        if self.program.scale(name, factor):
            self.done.append(f"`{name}` x {round_digits(factor)}")

    def drop(self, name: str) -> None:
        """Take a component out, unless nothing but a constant would be left."""
        left = [self.meaning(other) for other in self.program.components() if other != name]
        varies = any(about is None or about.aim != STAYING for about in left)
        if varies and self.program.drop(name):
            self.done.append(f"without `{name}`")

    def add(self, pool: Sequence[Quantity], weight: float, form: str | None = None) -> None:
        """One new component, sized against the preferred program's own."""
        present = {self.meaning(name) for name in self.program.components()}
        free = [q for q in pool if q not in present]
        if free:
            (chosen,) = self.rng.choices(free, [1.0 + 5.0 * q.spoken for q in free])
            part = make_component(self.rng, chosen, weight * compute_typical_size(self.trace), form)
            if self.program.add(part, self.reading.inputs):
                self.done.append(f"new `{part.name}`")

    def jitter(self, spread: float) -> None:
        """Every number times a random factor, log-normal."""
        for _, constant in self.program.constants():
            assert isinstance(constant.value, float)
            constant.value = round_digits(constant.value * math.exp(self.rng.gauss(0.0, spread)))
        self.done.append(f"all numbers moved by about {round(100 * spread)}%")


def find_meaning(program: Program, name: str, quantities: Sequence[Quantity]) -> Quantity | None:
    """The quantity that a component of any author is about: the one that reads the same inputs."""
    read = program.reads(name)

    def overlap(quantity: Quantity) -> float:
        wanted = list_reads(quantity)
        return len(read & wanted) / max(len(read | wanted), 1)

    best = max(quantities, key=overlap, default=None)
    return best if best is not None and overlap(best) >= 0.5 else None


@cache
def list_reads(quantity: Quantity) -> frozenset[str]:
    """What the quantity takes from the inputs, as Program.reads says it of a component."""
    return list_accesses(syntax.parse_expression(quantity.expression))


def compute_size(row: Row | None) -> float:
    """Mean size of a component over the training."""
    return sum(abs(v) for v in row.samples) / len(row.samples) if row and row.samples else 0.0


def compute_typical_size(trace: Mapping[str, Row]) -> float:
    """The size of the largest component, as a unit for new ones; 1 without a trace."""
    sizes = [compute_size(row) for name, row in trace.items() if name not in TOTALS]
    return max(sizes, default=0.0) or 1.0


def is_saturated(row: Row) -> bool:
    """Whether a component moved at first and then stood still: it cannot tell good from better any more."""
    late = row.samples[round(SETTLED * len(row.samples)) :]
    size_of_all = max((abs(v) for v in row.samples), default=0.0)
    return len(late) > 1 and not is_flat(row) and max(late) - min(late) < FLAT * size_of_all


def is_flat(row: Row) -> bool:
    """Whether a component hardly changed during the training; False without samples."""
    return max(row.samples) - min(row.samples) < FLAT * max(abs(v) for v in row.samples) if row.samples else False


def refine(reading: Reading, seed: int, rng: random.Random, quantities: Sequence[Quantity]) -> tuple[str, str] | None:
    """(source, what was done) of a program near the preferred one; None when that has no structure to edit.

    Six strategies take turns by seed, so that one round holds six different directions.
    """
    program = Program.parse(reading.preferred.source) if reading.preferred else None
    if program is None:
        return None
    search = Search(program, rng, reading, quantities, [])
    STRATEGIES[seed % len(STRATEGIES)](search)
    if seed % 2:
        follow_history(search)
    if not search.done:
        search.jitter(0.3)
    return program.source, "; ".join(search.done)


def follow_history(search: Search) -> None:
    """Go on where the bests went. They were preferred one after another: a component whose share fell from best to best
    counts for less, one whose share rose for more, one that the last best added for more, and none comes back that a
    best had dropped.
    """
    reading = search.reading
    bests = [past.trace for past in reading.history if past.trace] + [search.trace]
    for name in search.program.components():
        course = [part for trace in bests if (part := share_in(trace, name)) is not None]
        if len(course) >= len(bests) > 1 and course[0] > 0 and abs(course[-1] - course[0]) > TREND * course[0]:
            search.scale(name, min(max(math.sqrt(course[-1] / course[0]), 0.6), 1.7))
    for name in sorted(reading.change.added & set(search.program.components())):
        search.scale(name, 1.3)
    gone = {name for past in (*reading.history, reading.change) for name in past.dropped}
    before = Program.parse(reading.preferred.source) if reading.preferred else None
    kept = set(before.components()) if before else set()
    for name in sorted(gone & set(search.program.components()) - kept):
        search.drop(name)


def share_in(trace: Mapping[str, Row], name: str) -> float | None:
    """A component's part of the sizes of all components; None where the trace has no such component."""
    sizes = {key: compute_size(row) for key, row in trace.items() if key not in TOTALS}
    whole = sum(sizes.values())
    return sizes[name] / whole if name in sizes and whole > 0 else None


def enrich(search: Search) -> None:
    """Near the preferred program, with something of the task's that neither it nor the rejected one has."""
    search.jitter(0.05)
    used = compute_shares(search.reading.rejected, search)
    pool = [q for q in search.quantities if q not in used] or search.quantities
    search.add(pool, search.rng.uniform(0.1, 0.5))


def leave_rejected(search: Search) -> None:
    """Where best and worst differ in how much a component counts, go further the same way."""
    good, bad = compute_shares(search.reading.preferred, search), compute_shares(search.reading.rejected, search)
    names = {search.meaning(name): name for name in search.program.components()}
    for quantity, name in names.items():
        if quantity is None or quantity not in bad:
            if bad:
                search.scale(name, 1.3)
        elif good.get(quantity, 0.0) > 0 and bad[quantity] > 0:
            factor = math.sqrt(good[quantity] / bad[quantity])
            search.scale(name, min(max(factor, 0.5), 2.0))
    raise_mentioned(search)
    search.jitter(0.1)


def raise_mentioned(search: Search) -> None:
    """Raise the components that the judge's words speak of."""
    for name in search.program.components():
        about = search.meaning(name)
        if about is not None and about.spoken > 0:
            search.scale(name, 1.5)


def compute_shares(example: Example | None, search: Search) -> dict[Quantity, float]:
    """Quantity -> its part of the sizes of all components."""
    program = Program.parse(example.source) if example else None
    if example is None or program is None:
        return {}
    sizes = {name: compute_size(example.trace.get(name)) for name in program.components()}
    whole = sum(sizes.values()) or 1.0
    found = {find_meaning(program, name, search.quantities): value / whole for name, value in sizes.items()}
    return {quantity: value for quantity, value in found.items() if quantity is not None}


def adjust_by_trace(search: Search) -> None:
    """Shrink components that drown the rest, change flat ones, drop negligible ones."""
    sizes = {name: compute_size(search.trace.get(name)) for name in search.program.components()}
    for name, value in sizes.items():
        row = search.trace.get(name)
        rest = sum(sizes.values()) - value
        about = search.meaning(name)
        if row is not None and is_saturated(row) and search.program.temperatures(name):
            loosen(search, name)
            continue
        if search.serves_goal(name) or row is None or (about is not None and about.aim == STAYING):
            continue
        if value > DOMINATES * rest:
            search.scale(name, 0.3)
        elif value < 0.01 * rest:
            search.drop(name)
        elif is_flat(row):
            soften(search, name)
    if not search.done:
        emphasise_goal_or_balance(search)


def loosen(search: Search, name: str) -> None:
    """A higher temperature for a component that is saturated, so that better states are worth more again."""
    for constant in search.program.temperatures(name):
        assert isinstance(constant.value, float)
        constant.value = round_digits(constant.value * 2.5)
    search.done.append(f"temperature of `{name}` x 2.5, because it saturates")


def soften(search: Search, name: str) -> None:
    """Another temperature for a component that does not move, or another size where it has none."""
    factor = search.rng.choice((0.4, 2.5))
    temperatures = search.program.temperatures(name)
    for constant in temperatures:
        assert isinstance(constant.value, float)
        constant.value = round_digits(constant.value * factor)
    if temperatures:
        search.done.append(f"temperature of `{name}` x {factor}")
    else:
        search.scale(name, 0.5)


def falls(trace: Mapping[str, Row]) -> bool:
    """Whether episodes end early: only then does their length differ over the training."""
    return "episode_length" in trace and not is_flat(trace["episode_length"])


def emphasise_goal_or_balance(search: Search) -> None:
    """Where episodes end early, half the time reward staying up; else reward the goal more."""
    if falls(search.trace) and search.rng.random() < 0.5:
        stay_up(search)
    if not search.done:
        emphasise_goal(search)


def stay_up(search: Search) -> None:
    """More of what keeps an episode going, sized like the goal itself."""
    kinds = [q for q in search.quantities if q.aim == STAYING or (q.aim == NEAR_ONE and "upright" in q.tags)]
    present = [n for n in search.list_others() if search.meaning(n) in kinds]
    if present and search.rng.random() < 0.5:
        search.scale(search.rng.choice(present), search.rng.uniform(1.5, 4.0))
    else:
        search.add(kinds, search.rng.uniform(0.4, 1.5))


def emphasise_goal(search: Search) -> None:
    """More of what the task asks for, or its plain linear form beside what is there."""
    aims = [q for q in search.quantities if q.aim == MORE and search.quantities[0].relevance < 2 * q.relevance]
    if aims and (not search.goals() or search.rng.random() < 0.5):
        search.add(aims, search.rng.uniform(0.5, 2.0), "linear")
    if not search.done:
        for name in search.goals():
            search.scale(name, search.rng.uniform(1.5, 3.0))


def restructure(search: Search) -> None:
    """One of the supporting components out, or another one in."""
    others = search.list_others()
    if others and search.rng.random() < 0.6:
        search.drop(search.rng.choice(others))
    else:
        avoided = compute_shares(search.reading.rejected, search)
        pool = [q for q in search.quantities if q not in avoided]
        search.add(pool, search.rng.uniform(0.05, 0.3))
    search.jitter(0.15)


def leap(search: Search) -> None:
    """Far from the preferred program, so that the search does not settle on its first hill."""
    search.jitter(0.5)
    costs = [n for n in search.list_others() if (m := search.meaning(n)) is not None and m.aim == LESS]
    if costs:
        search.scale(search.rng.choice(costs), search.rng.choice((0.25, 3.0)))


STRATEGIES = (enrich, leave_rejected, adjust_by_trace, emphasise_goal_or_balance, restructure, leap)
