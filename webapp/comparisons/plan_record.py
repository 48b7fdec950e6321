"""The record of a comparison, plan.json in its report's folder: what was to be tested, since when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from webapp.comparisons import csv_tables
from webapp.comparisons.experiment_results import Result
from webapp.comparisons.plan import Plan

NAME = "plan.json"


@dataclass(frozen=True)
class Version:
    """The contrasts of a plan from one moment on."""

    fixed_at: str
    """The time in ISO format."""
    contrasts: tuple[str, ...]
    retrain: int
    methods: tuple[str, ...] = ()
    experiments: int = 0

    def is_same(self, other: Version) -> bool:
        return (self.contrasts, self.retrain) == (other.contrasts, other.retrain)


def read_versions(folder: Path) -> list[Version]:
    """Oldest first; empty where there is no record, or none that can be read."""
    try:
        rows = json.loads((folder / NAME).read_text())
        return [Version(**{**row, **{key: tuple(row[key]) for key in ("contrasts", "methods")}}) for row in rows]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def fix(plan: Plan, folder: Path, now: datetime) -> list[Version]:
    """Write down what the plan tests, unless the record says so already; returns the record's versions."""
    held = read_versions(folder)
    contrasts = tuple(contrast.text for contrast in plan.contrasts)
    methods = tuple(arm.label for arm in plan.arms)
    new = Version(now.isoformat(), contrasts, plan.retrain, methods, plan.experiments)
    if held and held[-1].is_same(new):
        return held
    folder.mkdir(parents=True, exist_ok=True)
    versions = [*held, new]
    csv_tables.replace_file(folder / NAME, json.dumps([asdict(version) for version in versions], indent=2) + "\n")
    return versions


def is_of_an_earlier_prefine(folder: Path) -> bool:
    """Whether a comparison was begun in this folder by a version that kept no record."""
    return (folder / "report.md").exists() and not (folder / NAME).exists()


def describe_versions(versions: Sequence[Version], results: Sequence[Result]) -> list[str]:
    """For each version, when it was fixed and how much was known then."""
    lines = []
    for place, version in enumerate(versions):
        when = datetime.fromisoformat(version.fixed_at)
        known = sum(r.finished and r.finished_at is not None and r.finished_at < when for r in results)
        state = (
            f"when {known} of its experiments had finished" if known else "before any of its experiments had finished"
        )
        verb = "changed" if place else "fixed"
        tested = "; ".join(version.contrasts) or "none"
        lines.append(f"Contrasts {verb} on {when:%Y-%m-%d %H:%M} UTC, {state}: {tested}.")
    return lines
