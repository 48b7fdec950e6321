"""The tables of a report on what methods cost: asked, written, trained; and what the RF-Agent paper prints."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.comparisons import published
from webapp.comparisons.experiment_results import Score
from webapp.comparisons.markdown_tables import format_known_mean, format_mean, render_table


def build_costs_table(scores: Sequence[Score]) -> str:
    """Means over the finished experiments of each arm."""
    rows = []
    for score in scores:
        runs = score.results
        if not runs:
            continue
        costs = [r.cost for r in runs]
        known = [c for c in costs if c is not None]
        rows.append(
            [
                score.arm.label,
                format_mean([r.queries for r in runs]),
                format_mean([r.failed for r in runs]),
                format_mean([r.calls for r in runs]),
                "-" if (offline := score.mean_of("offline_calls")) is None else f"{offline:.1f}",
                format_mean([r.prompt_tokens for r in runs]),
                format_mean([r.completion_tokens for r in runs]),
                f"{sum(known) / len(known):.4f}" if len(known) == len(costs) else "?",
                format_mean([r.train_seconds for r in runs]),
                "-" if (on_gpu := score.mean_of("gpu_seconds")) is None else f"{on_gpu:.0f}",
                format_known_mean([r.code_diversity for r in runs]),
                format_known_mean([r.film_diversity for r in runs]),
            ]
        )
    head = ["per experiment", "queries", "untrainable", "answers of language models", "of the offline writer"]
    return render_table(
        [
            *head,
            "input tokens",
            "output tokens",
            "US dollars",
            "training s (wall time)",
            "of these on a GPU",
            "diversity of programs",
            "of films",
        ],
        rows,
    )


def build_printed_costs_table(scores: Sequence[Score]) -> str:
    """Tokens and dollars of a candidate as the RF-Agent paper prints them for 80, beside those of here."""
    rows = []
    for score in scores:
        printed = published.find_costs(score.task, score.arm)
        if not printed or not score.results:
            continue
        held = {"input tokens": [r.prompt_tokens for r in score.results]}
        held["output tokens"] = [r.completion_tokens for r in score.results]
        for name, values in held.items():
            here = sum(values) / len(values) / score.arm.candidates
            there = float(printed[name].value) / published.PRINTED_CANDIDATES
            rows.append([score.arm.label, name, f"{here:.0f}", f"{there:.0f}", printed[name].note])
    head = ["of a candidate", "", "here", "in the RF-Agent paper", "printed for"]
    return render_table(head, rows) if rows else ""
