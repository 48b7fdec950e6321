"""Numbers and tables of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def format_number(value: float | None) -> str:
    """Three decimals; of less than 1, three digits, so that metrics in millimetres can be told apart."""
    if value is None:
        return "-"
    return f"{value:#.3g}" if 0 < abs(value) < 1 else f"{value:.3f}"


def format_spread(mean: float | None, deviation: float | None) -> str:
    return format_number(mean) if deviation is None else f"{format_number(mean)} \u00b1 {format_number(deviation)}"


def format_mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.0f}"


def format_known_mean(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.2f}" if known else "-"
