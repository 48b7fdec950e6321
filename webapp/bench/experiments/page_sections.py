"""The experiment page as sections: a browser names the versions that it has, and gets those that changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.bench.chart_html import draw_figure
from webapp.bench.experiments.overview import ExperimentOverview
from webapp.experiments.models import Event


@dataclass(frozen=True)
class Section:
    """A part of the page with an id. Its version is a hash of `shape`, or of its HTML where `shape` is empty."""

    name: str
    html: SafeString
    shape: str = ""

    @property
    def version(self) -> str:
        return hashlib.sha256((self.shape or self.html).encode()).hexdigest()[:8]

    def render(self, swap: bool = False) -> SafeString:
        """The section; with `swap`, marked so that htmx replaces the old one."""
        attribute = SafeString(' hx-swap-oob="true"') if swap else ""
        parts = (self.name, self.version, attribute, self.html)
        return format_html('<div id="{}" class="section" data-version="{}"{}>{}</div>', *parts)


def render_sections(overview: ExperimentOverview) -> dict[str, SafeString]:
    """Every section by name; the section of the rounds contains those of rounds and cards."""
    return {section.name: section.render() for section in _build_sections(overview)}


def render_changed_sections(overview: ExperimentOverview, events: list[Event], have: set[str]) -> str:
    """The sections that the browser does not have in their present version."""
    sections = [*_build_sections(overview), build_log_section(events)]
    if any(f"{section.name}.{section.version}" in have for section in sections if section.name == "rounds"):
        sections += _build_round_sections(overview)
    missing = (section for section in sections if f"{section.name}.{section.version}" not in have)
    return "".join(section.render(swap=True) for section in missing)


def build_log_section(events: list[Event]) -> Section:
    return Section("log", _render_part("log", events=events))


def _build_sections(overview: ExperimentOverview) -> Iterator[Section]:
    shape = " ".join(f"{row.number}:{len(row.cards)}" for row in overview.rounds) or "none"
    yield Section("head", _render_part("head", overview=overview))
    yield Section("next", _render_part("next", overview=overview))
    yield Section("retrainings", _render_part("retrainings", overview=overview))
    yield Section("learning", _render_part("learning", overview=overview))
    yield Section("steps", _render_part("steps", overview=overview))
    inner = {section.name: section.render() for section in _build_round_sections(overview)}
    rows = [(inner[f"r{row.number}"], [inner[f"c{card.key}"] for card in row.cards]) for row in overview.rounds]
    yield Section("rounds", _render_part("rounds", overview=overview, rows=rows), shape)
    yield Section(
        "scores", _render_part("scores", overview=overview, figure=draw_figure(overview.chart, f"{overview.url}rounds"))
    )
    yield Section("totals", _render_part("totals", overview=overview))
    yield Section("jobs", _render_part("jobs", overview=overview))


def _build_round_sections(overview: ExperimentOverview) -> Iterator[Section]:
    for row in overview.rounds:
        yield Section(f"r{row.number}", _render_part("round", overview=overview, round=row))
        for card in row.cards:
            yield Section(f"c{card.key}", _render_part("card", overview=overview, card=card))


def _render_part(name: str, **context: object) -> SafeString:
    return render_to_string(f"bench/experiments/_{name}.html", context)
