"""The tables of a run."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.faults.run import Part, Run

HEADS = ("part", "seconds", "votes so far", "lost", "twice", "experiments", "ended", "rounds", "trainings", "clips")


def list_lines(run: Run) -> Iterator[str]:
    """The tables as Markdown."""
    if run.kills.count:
        yield "| killed | times | site answered again after, mean | longest |\n|---|---:|---:|---:|"
        for kind, count in sorted(run.kills.count.items()):
            away = run.kills.away[kind]
            cells = f"{sum(away) / len(away):.1f} s | {max(away):.1f} s" if away else " | "
            yield f"| {kind} | {count} | {cells} |"
        yield f"| all | {sum(run.kills.count.values())} | | |\n"
    yield f"| {' | '.join(HEADS)} | missing |\n|---|{'---:|' * len(HEADS)}"
    for part in run.parts:
        yield f"| {' | '.join(list_cells(part))} |"
    yield ""
    for part in run.parts:
        if part.notes:
            yield f"{part.name.capitalize()}: {'; '.join(part.notes)}."
    ended = sum(run.stage.keeper.ended.values())
    yield f"Programs were started again {ended} times: {describe_counts(run.stage.keeper.ended)}."
    yield f"What people met, and tried again: {describe_counts(run.records.failures) or 'nothing'}."


def list_cells(part: Part) -> Iterator[str]:
    facts = part.facts
    yield from (part.name, f"{part.seconds:.0f}", f"{facts['acknowledged']:,}")
    yield from (str(len(facts["lost"])), str(len(facts["twice"])), str(facts["begun"]), str(facts["finished"]))
    yield from (str(facts["rounds"]), str(facts["trainings"]), str(facts["clips"]), str(len(facts["clips missing"])))


def describe_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
