"""The tables of a run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.load.run import CLIENTS, Result

TOLD, SHOWN = "page is told that its round is ready", "page shows the round"


def list_lines(result: Result) -> Iterator[str]:
    """The tables as Markdown."""
    yield from list_waits(result)
    yield ""
    yield from list_processes(result)
    yield ""
    yield from list_facts(result)


def list_waits(result: Result) -> Iterator[str]:
    yield "| what | times | median | 99% | longest |\n|---|---:|---:|---:|---:|"
    for name, values in {**result.records.seconds, TOLD: result.told, SHOWN: result.shown}.items():
        if values:
            cells = " | ".join(f"{1000 * value:,.0f} ms" for value in summarize(values))
            yield f"| {name} | {len(values):,} | {cells} |"


def summarize(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, 99th percentile and the largest."""
    ranked = sorted(values)
    return statistics.median(ranked), ranked[min(len(ranked) - 1, int(0.99 * len(ranked)))], ranked[-1]


def list_processes(result: Result) -> Iterator[str]:
    """Percent of a core in each part of the run, and memory at its end."""
    parts = result.periods
    yield "| percent of a core | " + " | ".join(f"{one.name}, {one.seconds:.0f} s" for one in parts) + " | MB |"
    yield "|---|" + "---:|" * (len(parts) + 1)
    programs = list(parts[0].processor)
    for program in programs:
        cells = [f"{part.share(program):.0f}" for part in parts]
        yield f"| {program} | {' | '.join(cells)} | {max(part.megabytes[program] for part in parts):.0f} |"
    sums = [sum(part.share(one) for one in programs if one != CLIENTS) for part in parts]
    yield f"| all but the clients | {' | '.join(f'{value:.0f}' for value in sums)} | |"


def list_facts(result: Result) -> Iterator[str]:
    facts = result.facts
    yield (
        f"{facts['acknowledged']} votes acknowledged: {facts['lost']} lost, {facts['twice']} stored twice, "
        f"{facts['not acknowledged']} stored without acknowledgement. {facts['full rounds']} rounds with every vote, "
        f"{facts['answered rounds']} answered, {facts['rounds counted wrongly']} counted wrongly."
    )
    yield (
        f"{sum(value == float('inf') for value in result.told)} pages not told, {result.not_shown} without the round; "
        f"{result.arrived} people arrived, {facts['joined']} are in the study; "
        f"{len(facts['failed'])} experiments failed."
    )
    for what, times in result.records.failures.most_common():
        yield f"Failed {times} times: {what}."
    for reason in facts["failed"][:5]:
        yield f"Experiment failed: {reason}"
