"""The experiment page as sections, swapped one by one: a browser names the versions it has, and gets the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.bench.chart_html import draw_figure
from webapp.bench.experiments import overview
from webapp.experiments.models import Event


@dataclass(frozen=True)
class Section:
    """A part of the page with an id. Its version is a hash of what it shows, or of `shape` where that is given."""

    name: str
    html: SafeString
    shape: str = ""

    @property
    def version(self) -> str:
        return hashlib.sha256((self.shape or self.html).encode()).hexdigest()[:8]

    def render(self, swap: bool = False) -> SafeString:
        """The section, or the section as htmx puts it in the place of the old one."""
        attribute = SafeString(' hx-swap-oob="true"') if swap else ""
        parts = (self.name, self.version, attribute, self.html)
        return format_html('<div id="{}" class="section" data-version="{}"{}>{}</div>', *parts)


def page(board: overview.Board) -> dict[str, SafeString]:
    """Every section, by name; the rounds hold their own."""
    return {section.name: section.render() for section in _outer(board)}


def changed(board: overview.Board, events: list[Event], have: set[str]) -> str:
    """Those sections that the browser does not have in their present version."""
    sections = [*_outer(board), log(events)]
    if any(f"{section.name}.{section.version}" in have for section in sections if section.name == "rounds"):
        sections += _inner(board)
    missing = (section for section in sections if f"{section.name}.{section.version}" not in have)
    return "".join(section.render(swap=True) for section in missing)


def log(events: list[Event]) -> Section:
    return Section("log", _html("log", events=events))


def _outer(board: overview.Board) -> Iterator[Section]:
    shape = " ".join(f"{row.number}:{len(row.cards)}" for row in board.rounds) or "none"
    yield Section("head", _html("head", board=board))
    yield Section("steps", _html("steps", board=board))
    inner = {section.name: section.render() for section in _inner(board)}
    rows = [(inner[f"r{row.number}"], [inner[f"c{card.key}"] for card in row.cards]) for row in board.rounds]
    yield Section("rounds", _html("rounds", board=board, rows=rows), shape)
    yield Section("scores", _html("scores", board=board, figure=draw_figure(board.chart, f"{board.url}rounds")))
    yield Section("totals", _html("totals", board=board))
    yield Section("jobs", _html("jobs", board=board))


def _inner(board: overview.Board) -> Iterator[Section]:
    for row in board.rounds:
        yield Section(f"r{row.number}", _html("round", board=board, round=row))
        for card in row.cards:
            yield Section(f"c{card.key}", _html("card", board=board, card=card))


def _html(name: str, **context: object) -> SafeString:
    return render_to_string(f"bench/experiments/_{name}.html", context)
