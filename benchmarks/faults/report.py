"""The tables of one run or several that were saved: python -m benchmarks.faults.report FILE..."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.parts import Part, read_parts

HEADS = (
    *("part", "times", "seconds", "votes", "lost", "twice", "experiments", "ended"),
    *("rounds", "trainings", "clips", "missing"),
)
COUNTS = ("begun", "finished", "rounds", "trainings", "clips")


def list_lines(parts: list[Part]) -> Iterator[str]:
    """The tables as Markdown, and what is wrong."""
    yield from (*dict.fromkeys(part.run for part in parts), "")
    yield from list_kills(parts)
    yield f"| {' | '.join(HEADS)} |\n|---|{'---:|' * (len(HEADS) - 1)}"
    for name in dict.fromkeys(part.name for part in parts):
        yield describe_row(name, [part for part in parts if part.name == name])
    yield describe_row("all", parts) + "\n"
    for part in parts:
        if part.notes:
            yield f"{part.name.capitalize()}: {'; '.join(part.notes)}."
    ended = add_counts(part.ended for part in parts)
    yield f"Programs were started again {ended.total()} times: {describe_counts(ended)}."
    failures = add_counts(part.failures for part in parts)
    yield f"What people met, and tried again: {describe_counts(failures) or 'nothing'}."
    if faults := dict.fromkeys(f"- {part.name}: {fault}" for part in parts for fault in part.list_faults()):
        yield "\n".join(("\nFaults:", *faults))


def list_kills(parts: list[Part]) -> Iterator[str]:
    kills = add_counts(part.kills for part in parts)
    if not kills:
        return
    yield "| killed | times | site answered again after, mean | longest |\n|---|---:|---:|---:|"
    for kind, count in sorted(kills.items()):
        away = [seconds for part in parts for seconds in part.away.get(kind, [])]
        cells = f"{sum(away) / len(away):.1f} s | {max(away):.1f} s" if away else " | "
        yield f"| {kind} | {count} | {cells} |"
    yield f"| all | {kills.total()} | | |\n"


def describe_row(name: str, parts: list[Part]) -> str:
    facts = [part.facts for part in parts]
    sums = [sum(one[count] for one in facts) for count in COUNTS]
    lost, twice = (len({(p.run, one) for p in parts for one in p.facts[key]}) for key in ("lost", "twice"))
    missing = sum(len(one["clips missing"]) for one in facts)
    numbers = [len(parts), round(sum(part.seconds for part in parts)), sum(part.votes for part in parts)]
    return f"| {name} | {' | '.join(f'{number:,}' for number in [*numbers, lost, twice, *sums, missing])} |"


def add_counts(counts: Iterator[dict[str, int]]) -> Counter[str]:
    return sum((Counter(one) for one in counts), Counter[str]())


def describe_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


if __name__ == "__main__":
    print("\n".join(list_lines(read_parts(*map(Path, sys.argv[1:])))))
