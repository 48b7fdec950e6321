"""Filters that format numbers on the bench."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from django import template
from django.conf import settings
from django.forms import BoundField
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from webapp.base import charts
from webapp.base.icons import draw_icon
from webapp.bench.experiments.event_log import name_kind
from webapp.experiments.kinds import name_work
from webapp.experiments.models import Candidate, LoopSettings
from webapp.problems.forms import get_form
from webapp.problems.forms.form import TriedSource
from webapp.problems.models import Problem
from webapp.studies import consent

register = template.Library()
register.filter("work", name_work)
register.filter("event_kind", name_kind)
Number = float | str | None
"""A number; None where it is unknown; "" where a template looks up a key that a worker has not sent yet."""


@register.simple_tag
def version() -> str:
    return str(settings.VERSION)


@register.simple_tag
def icon(name: str) -> SafeString:
    return draw_icon("bench/icons.svg", name)


@register.filter
def is_checkbox(field: BoundField) -> bool:
    return getattr(field.field.widget, "input_type", "") == "checkbox"


@register.filter
def step_title(steps: Sequence[tuple[str, str]], name: str) -> str:
    """The title of the wizard's step with this name."""
    return dict(steps).get(name, "")


@register.filter
def get(values: Mapping[str, object], key: str) -> object:
    """The value of this key; None where there is none."""
    return values.get(key)


@register.filter
def about(seconds: Number) -> str:
    """An estimate as one would say it: about 40 s, about 12 min; "unknown" where it is."""
    if seconds is None or isinstance(seconds, str):
        return "unknown"
    if seconds < 90:
        return f"about {max(5, 5 * round(seconds / 5))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


@register.filter
def duration(seconds: Number) -> str:
    """42 s, 3 min 10 s, 2 h 5 min; a dash where it is unknown."""
    if seconds is None or isinstance(seconds, str):
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if 0 < seconds < 9.95 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


@register.filter
def left(seconds: Number) -> str:
    """Time left, as coarse as it is known: "about 2 min left"."""
    if seconds is None or isinstance(seconds, str):
        return ""
    if seconds < 55:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    if seconds < 3540:
        return f"about {max(1, round(seconds / 60))} min left"
    return f"about {seconds / 3600:.1f} h left"


@register.filter
def compact(value: Number) -> str:
    """1 234, 12.3 k, 4.5 M: three digits are enough here."""
    if value is None or isinstance(value, str):
        return "–"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == ' k' else size):.3g}{unit}"
    return f"{value:,.0f}".replace(",", " ")


@register.filter
def score(value: Number) -> str:
    """Three digits, so that scores are easy to compare: 0.520, 12.3, 499."""
    if value is None or isinstance(value, str):
        return "–"
    return f"{value:#.3g}".rstrip(".") if 1e-3 <= abs(value) < 1e3 else charts.format_number(value)


@register.filter
def signed(value: Number) -> str:
    """A difference, with its sign."""
    return score(value) if value is None or isinstance(value, str) or value <= 0 else f"+{score(value)}"


@register.filter
def dollars(value: Number) -> str:
    if value is None or isinstance(value, str):
        return "unknown"
    return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


@register.filter
def percent(fraction: Number) -> str:
    return "" if fraction is None or isinstance(fraction, str) else f"{100 * fraction:.0f}%"


@register.filter
def retention(days: int | None) -> str:
    return consent.describe_retention(days)


@register.filter
def ago(moment: datetime | None) -> SafeString | str:
    """A time that static/bench/live.js keeps counting; the clock time without it."""
    if moment is None:
        return "–"
    return format_html(
        '<time datetime="{}" data-ago title="{} UTC">{}</time>',
        moment.isoformat(),
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        moment.strftime("%H:%M:%S"),
    )


@register.filter
def rate(seconds: float) -> str:
    """Steps per second of a step that takes this long."""
    return charts.format_number(round(1 / seconds, 1))


@register.filter
def share(part: Number) -> str:
    """A share of 1 as the width of a bar that is 100 wide."""
    return f"{100 * min(1.0, float(part or 0.0)):.1f}"


@register.filter
def sparkline(values: Sequence[float]) -> str:
    """The points of a line from the left to the right, the lowest value at the bottom, in a box of 72 by 24."""
    low, high = min(values), max(values)
    steps = [66 * i / (len(values) - 1) + 3 for i in range(len(values))]
    heights = [21 - 18 * (value - low) / (high - low or 1) for value in values]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(steps, heights, strict=True))


@register.filter
def worker(owner: str) -> str:
    """Machine and process of a lease's owner, without what tells containers and leases apart."""
    machine, *rest = owner.split(":")
    return ":".join([machine.partition("/")[0], *rest[:1]])


@register.filter
def rows(columns: list[list[float | None]]) -> list[tuple[float | None, ...]]:
    return list(zip(*columns, strict=True))


@register.filter
def as_json(value: object) -> SafeString:
    """JSON inside a script element that is never run."""
    text = json.dumps(value)
    return mark_safe(text.translate({ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}))


@register.filter
def gist(row: Candidate, experiment: LoopSettings) -> str:
    """A candidate that is read, in one line."""
    problem = experiment.task_info
    if not isinstance(problem, Problem):
        return ""
    return get_form(problem).summarize(problem, TriedSource(row.source, row.reason, row.metric_trace))
