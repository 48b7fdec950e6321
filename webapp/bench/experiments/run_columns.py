"""The columns of the table of experiments: what each shows, and where its values come from.

Values are read source by source for many experiments at once, so that the number of queries does not grow with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.urls import reverse

from llm import methods
from webapp.base.charts import drop_infinite
from webapp.comparisons.membership import map_memberships
from webapp.experiments import judges
from webapp.experiments.models import Candidate, Experiment, Iteration, Tag
from webapp.experiments.resource_use import Usage, read_usage
from webapp.experiments.working_time import read_working_times
from webapp.studies.models import Assignment

Rows = QuerySet[Experiment]
Values = Mapping[str, Any]
"""What one experiment has from every source that was read, by the source's name."""
NOBODY = "–"


@dataclass(frozen=True, order=True)
class Link:
    """A value that leads to a page."""

    text: str
    url: str = field(compare=False)
    key: str = ""
    """What the filter of this column takes."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Column:
    name: str
    label: str
    look: str
    """How the template shows it, such as text, score, ago or links (templates/bench/runs/_cell.html)."""
    read: Callable[[Values], Any]
    """The value, by which rows are sorted; None where there is none."""
    source: str = "row"
    sortable: bool = True


FIELDS = (
    *("pk", "public_id", "name", "task", "method", "judge", "k", "n", "options", "preset", "seed", "status"),
    *("paused", "owner", "error", "created_at", "started_at", "finished_at", "archived_at", "model__name"),
    *("winner__final_score", "winner__rts"),
)


def _read_fields(rows: Rows) -> dict[int, Any]:
    return {row["pk"]: row for row in rows.order_by().values(*FIELDS)}


def _read_rounds(rows: Rows) -> dict[int, Any]:
    begun = Iteration.objects.filter(experiment__in=rows, aside=False).order_by()
    return dict(begun.values_list("experiment").annotate(Count("pk")))


def read_bests(rows: Rows | Sequence[Experiment]) -> dict[int, dict[int, float]]:
    """By experiment and round, the best score so far."""
    known = Candidate.objects.filter(iteration__experiment__in=rows, rts__gt=-inf, rts__lt=inf).order_by()
    known = known.exclude(status=Candidate.Status.ASIDE)
    rounds = known.values_list("iteration__experiment", "iteration__number").annotate(best=Max("rts"))
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for pk, number, best in rounds.order_by("iteration__number"):
        found[pk][number] = max([best, *found[pk].values()])
    return found


def _read_places(rows: Rows) -> dict[int, Any]:
    """The study and arm of each experiment; members of a panel share them."""
    places = Assignment.objects.filter(experiment__in=rows).order_by("pk")
    fields = ("experiment", "arm__study", "arm__study__title", "arm", "arm__name")
    found: dict[int, Any] = {}
    for pk, study, title, arm, name in places.values_list(*fields):
        url = reverse("bench:study", args=[study])
        found[pk] = {"study": [Link(title, url, str(study))], "arm": [Link(f"{title}: {name}", url, str(arm))]}
    return found


def _read_comparisons(rows: Rows) -> dict[int, Any]:
    known = map_memberships()
    found: dict[int, Any] = {}
    for pk, public_id in rows.order_by().values_list("pk", "public_id"):
        if members := known.get(public_id):
            own = [(one, reverse("comparisons:comparison", args=[one.comparison.public_id])) for one in members]
            found[pk] = {
                "comparison": [Link(one.comparison.name, url, str(one.comparison.public_id)) for one, url in own],
                "arm": [Link(f"{one.comparison.name}: {one.arm}", url) for one, url in own],
            }
    return found


def _read_groups(rows: Rows) -> dict[int, Any]:
    """Arms of studies and of comparisons together."""
    arms: dict[int, Any] = defaultdict(list)
    for found in (_read_places(rows), _read_comparisons(rows)):
        for pk, own in found.items():
            arms[pk] += own["arm"]
    return arms


def _read_tags(rows: Rows) -> dict[int, Any]:
    tags: dict[int, list[str]] = defaultdict(list)
    for pk, name in Tag.objects.filter(experiment__in=rows).values_list("experiment", "name"):
        tags[pk].append(name)
    return tags


def _read_times(rows: Rows) -> dict[int, Any]:
    return {pk: time.seconds for pk, time in read_working_times(rows).items()}


SOURCES: dict[str, Callable[[Rows], Mapping[int, Any]]] = {
    "row": _read_fields,
    "rounds": _read_rounds,
    "bests": read_bests,
    "usage": read_usage,
    "places": _read_places,
    "comparisons": _read_comparisons,
    "arms": _read_groups,
    "tags": _read_tags,
    "time": _read_times,
}


def read_sources(rows: Rows, names: set[str]) -> dict[int, Values]:
    """By primary key, what these sources know of the experiments; a missing value is None."""
    read = {name: SOURCES[name](rows) for name in names | {"row"}}
    return {pk: {name: values.get(pk) for name, values in read.items()} for pk in read["row"]}


def _get_field(name: str, values: Values) -> Any:
    return values["row"][name]


def _get_value(name: str, values: Values) -> Any:
    return values[name]


def _get_method(values: Values) -> str:
    name = values["row"]["method"]
    return methods.METHODS[name].title if name in methods.METHODS else name


def _get_judge(values: Values) -> str:
    name = values["row"]["judge"]
    return judges.JUDGES[name].label if name in judges.JUDGES else name


def _get_status(values: Values) -> str:
    return "Paused" if values["row"]["paused"] else str(Experiment.Status(values["row"]["status"]).label)


def count_rounds(values: Values) -> int:
    """N, unless it follows from the method's budget."""
    row = values["row"]
    known = methods.METHODS.get(row["method"])
    return known.rounds_of(row["k"], row["n"], row["options"]) if known else row["n"]


def _get_score(name: str, values: Values) -> float | None:
    """A score of the winner, once there is one."""
    return drop_infinite(values["row"][f"winner__{name}"])


def _get_best(values: Values) -> float | None:
    return max(values["bests"].values()) if values["bests"] else None


def _get_curve(values: Values) -> list[float] | None:
    """None where one round is all, which is no curve."""
    return list(values["bests"].values()) if len(values["bests"] or ()) > 1 else None


def _get_links(source: str, name: str, values: Values) -> list[Link] | None:
    return (values[source] or {}).get(name)


def _get_usage(name: str, values: Values) -> float | None:
    used: Usage | None = values["usage"]
    return getattr(used, name) if used else None


def _get_cost(values: Values) -> float | None:
    """None where nothing was asked, or the price of no answer is known."""
    used: Usage | None = values["usage"]
    return used.cost if used and used.calls > used.unknown_costs else None


def _make_column(name: str, label: str, look: str = "text", key: str = "") -> Column:
    return Column(name, label, look, partial(_get_field, key or name))


ALL = (
    Column("status", "Status", "status", _get_status),
    _make_column("task", "Task"),
    Column("method", "Method", "text", _get_method),
    Column("judge", "Judge", "text", _get_judge),
    Column("round", "Round", "round", partial(_get_value, "rounds"), "rounds"),
    Column("final", "Final score", "score", partial(_get_score, "final_score")),
    Column("score", "Task score (TS)", "score", partial(_get_score, "rts")),
    Column("best", "Best RTS", "score", _get_best, "bests"),
    Column("curve", "Best so far", "curve", _get_curve, "bests", sortable=False),
    _make_column("k", "K", "whole"),
    Column("rounds", "Rounds", "number", count_rounds),
    _make_column("seed", "Seed", "whole"),
    _make_column("preset", "Settings"),
    _make_column("model", "Model", key="model__name"),
    Column("study", "Study", "links", partial(_get_links, "places", "study"), "places"),
    Column("arm", "Arm", "links", partial(_get_value, "arms"), "arms"),
    Column("comparison", "Comparison", "links", partial(_get_links, "comparisons", "comparison"), "comparisons"),
    Column("calls", "Calls", "number", partial(_get_usage, "calls"), "usage"),
    Column("tokens", "Tokens", "number", partial(_get_usage, "tokens"), "usage"),
    Column("cost", "Cost", "dollars", _get_cost, "usage"),
    Column("time", "Time", "duration", partial(_get_value, "time"), "time"),
    Column("tags", "Tags", "tags", partial(_get_value, "tags"), "tags"),
    _make_column("owner", "Owner"),
    Column("now", "Now", "now", lambda values: values["row"]["error"], sortable=False),
    _make_column("created", "Created", "ago", "created_at"),
    _make_column("started", "Started", "ago", "started_at"),
    _make_column("finished", "Finished", "ago", "finished_at"),
)
NAME = _make_column("name", "Name")
"""Always the first."""
COLUMNS = {column.name: column for column in (NAME, *ALL)}
SHOWN = ("status", "task", "method", "round", "final", "best", "curve", "tags", "now", "created")
"""Where nobody has chosen others."""
GROUPS = ("task", "method", "study", "comparison", "arm")
"""The columns by which rows can be grouped."""


def sort_key(value: Any) -> Any:
    """A value by which a column's values can be ordered: texts without regard to case."""
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, list):
        return [str(one).casefold() for one in value]
    return value


def format_cell(value: Any) -> Any:
    """The value as a CSV file holds it."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value.isoformat() if hasattr(value, "isoformat") else value
