"""The offline analyst: judges subtasks by rules from reward traces and state statistics. It sees no pictures.

It stands in for a vision model so that RDA runs anywhere. What it can know is how a recorded number developed; whether
that is the behaviour that a subtask means, it cannot know, and it says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm import extract
from llm.offline.quantities import LESS, NEAR_ZERO, STAYING, Quantity, compute_relevance
from llm.offline.reading import Row, read_trace, split_words
from llm.offline.refining import is_flat, list_reads
from llm.offline.syntax_tree import Program

LABEL = "The offline analyst judges by rules from recorded numbers; it has seen no picture."
_FALLS = re.compile(r"restarted (\d+) times")
_STATE = re.compile(r"^- (\w[\w ]*): start (\S+), end (\S+), mean (\S+), min (\S+), max (\S+),", re.MULTILINE)
STAY = frozenset({"fall", "falls", "falling", "episode", "survive", "survives"})


@dataclass(frozen=True)
class Known:
    """What was recorded of one robot."""

    program: Program | None
    rows: Mapping[str, Row]
    falls: int | None
    """How often the episode began again in the film; None where that was not recorded."""
    upright: float | None
    """Mean cosine of the tilt in the film."""


@dataclass(frozen=True)
class Judged:
    """How well one subtask is done: 0, 0.5 or 1, what was seen, and why that is the score."""

    score: float
    behaviour: str
    reason: str


def analyse(parts: Sequence[tuple[str, str]], subtasks: Sequence[str], quantities: Sequence[Quantity]) -> str:
    """The analysis in the format that RDA asks for."""
    known = read_records(parts)
    judged = [judge(subtask, known, quantities) for subtask in subtasks[:-1]]
    mean = sum(j.score for j in judged) / len(judged) if judged else 0.0
    lowest = min((j.score for j in judged), default=0.0)
    success = 1.0 if lowest == 1 else 0.5 if mean >= 0.75 else 0.0
    last = Judged(success, "the earlier subtasks taken together", f"their mean score is {mean:.2f}")
    blocks = [
        f"Subtask {i}\nBehaviour: {j.behaviour}\nEvidence: {j.behaviour if j.score == 1 else 'none'}\n"
        f"Score: {j.score:g}\nReason: {j.reason}"
        for i, j in enumerate([*judged, last][: len(subtasks)], 1)
    ]
    return "\n\n".join([LABEL, *blocks])


def analyse_whole(parts: Sequence[tuple[str, str]], subtasks: Sequence[str], quantities: Sequence[Quantity]) -> str:
    """The analysis of the task as a whole: what the last of its own subtasks, the success, comes to."""
    blocks = analyse(parts, subtasks, quantities).split("\n\n")
    kept = [line for line in blocks[-1].splitlines() if not line.startswith(("Subtask", "Evidence"))]
    return "\n\n".join([LABEL, "\n".join(kept)])


def read_records(parts: Sequence[tuple[str, str]]) -> Known:
    """Program, traces and state statistics of the prompt."""
    body = next((body for title, body in reversed(parts) if split_words(title) & {"reward"} and "def " in body), "")
    states = next((body for title, body in parts if title.strip() == "State statistics"), "")
    code = extract.find_source(body)
    falls = _FALLS.search(states)
    upright = next((float(mean) for name, _, _, mean, *_ in _STATE.findall(states) if name == "upright"), None)
    return Known(Program.parse(code) if code else None, read_trace(body), int(falls[1]) if falls else None, upright)


def judge(subtask: str, known: Known, quantities: Sequence[Quantity]) -> Judged:
    """One subtask: from falls where it is about keeping going, else from the component that measures it."""
    quantity = find_quantity(subtask, quantities)
    if quantity is None or quantity.aim == STAYING:
        return judge_staying(known)
    if known.upright is not None and "upright" in quantity.name:
        value = 1.0 if known.upright > 0.9 else 0.5 if known.upright > 0.6 else 0.0
        return Judged(
            value, f"its up axis points up by {known.upright:g} on average", "1 is upright, 0 lies on its side"
        )
    program = known.program
    names = [n for n in program.components() if compute_coverage(program, n, quantity) > 0] if program else []
    names = [n for n in names if n in known.rows]
    if not names:
        return Judged(0.5, "no component of the reward measures this", "nothing that was recorded speaks of it")
    name = max(names, key=lambda n: compute_coverage(program, n, quantity) if program else 0.0)
    return judge_component(name, known.rows[name], quantity)


def find_quantity(subtask: str, quantities: Sequence[Quantity]) -> Quantity | None:
    """The quantity whose name the subtask holds, else the one whose meaning it shares most; None for keeping going."""
    named = [q for q in quantities if name_quantity(q) in subtask.lower()]
    if named:
        return max(named, key=lambda q: len(q.name))
    if split_words(subtask) & STAY:
        return None
    best = max(quantities, key=lambda q: compute_relevance(q, subtask), default=None)
    return best if best is not None and compute_relevance(best, subtask) > 0 else None


def name_quantity(quantity: Quantity) -> str:
    """Its name in words."""
    return quantity.name.replace("_", " ")


def compute_coverage(program: Program, component: str, quantity: Quantity) -> float:
    """How much the component reads what the quantity reads: 1 for exactly that, 0 for less than half of both."""
    read, wanted = program.reads(component), list_reads(quantity)
    overlap = len(read & wanted) / max(len(read | wanted), 1)
    return overlap if overlap >= 0.5 else 0.0


def judge_staying(known: Known) -> Judged:
    """Judge the subtask of staying in the episode, by restarts in the film or else by the length of episodes."""
    if known.falls is not None:
        value = 1.0 if known.falls == 0 else 0.5 if known.falls <= 2 else 0.0
        return Judged(value, f"the episode restarted {known.falls} times in the film", "each time it had ended early")
    row = known.rows.get("episode_length")
    if row is None or not row.samples:
        return Judged(0.5, "the length of episodes was not recorded", "nothing that was recorded speaks of it")
    if is_flat(row):
        return Judged(1.0, f"episodes last {row.samples[-1]:.3g} steps throughout", "they never end early")
    longest = row.samples[-1] >= 0.9 * row.max
    said = f"episodes last {row.samples[-1]:.3g} steps in the end, {row.samples[0]:.3g} in the beginning"
    return Judged(0.5 if longest else 0.0, said, "they still grow" if longest else "they were longer before")


def judge_component(name: str, row: Row, quantity: Quantity) -> Judged:
    """A component is a reward: whatever it measures, it is done when the component is near its best and has risen."""
    if not row.samples:
        return Judged(0.5, f"`{name}` has no numbers", "nothing that was recorded speaks of it")
    first, last = row.samples[0], row.samples[-1]
    spread = max(abs(row.max), abs(row.min)) or 1.0
    gained = (last - first) / spread
    said = f"`{name}` goes from {first:.3g} to {last:.3g}"
    small = quantity.aim in (LESS, NEAR_ZERO)
    if gained > 0.3 or (gained > -0.05 and last >= 0.8 * row.max > 0 and small):
        return Judged(1.0, said, "it has risen and stays up")
    if gained > -0.1:
        return Judged(0.5, said, "it hardly changes")
    return Judged(0.0, said, "it has fallen")
