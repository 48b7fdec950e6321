"""The table of experiments: rows of one page, a summary of each group, and the whole as CSV."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models.functions import Now
from django.http import QueryDict

from webapp.base.csv_cells import format_table
from webapp.base.statistics.group_tests import Mean, summarize_mean
from webapp.bench.experiments.run_columns import (
    COLUMNS,
    NAME,
    NOBODY,
    SHOWN,
    Column,
    Link,
    Values,
    format_cell,
    read_sources,
    sort_key,
)
from webapp.bench.experiments.run_filters import RunFilterForm, shorten_address
from webapp.experiments.job_kinds import BACKGROUND_KINDS, IMPORTANCE
from webapp.experiments.models import Experiment, Job
from webapp.experiments.promises import read_promises

PAGE = 100
MOST_GROUPS = 100


@dataclass(frozen=True)
class Cell:
    column: Column
    value: Any


@dataclass(frozen=True)
class Row:
    experiment: Experiment
    job: Job | None
    """The running job that people wait for."""
    seconds_left: float | None
    """Until its round's videos are there, as all pages say; None while nothing was said, or it takes longer."""
    group: str
    """The name of its group; empty without groups."""
    cells: list[Cell]


@dataclass(frozen=True)
class Group:
    """A summary of the rows that share a value."""

    label: str
    url: str
    """The table with these rows alone; empty if no filter finds them."""
    count: int
    finished: int
    final: Mean | None
    """Of the winners' final scores; None without scores, and where the rows have different tasks."""
    mixed: bool
    """Whether its scores are of different tasks, so that a mean would say nothing."""


@dataclass(frozen=True)
class Heading:
    column: Column
    address: str
    """The table sorted by this column, or the other way round; empty if rows cannot be sorted by it."""
    direction: str
    """As aria-sort has it; empty if rows are sorted by another column."""


class RunTable:
    """What the address asks for. Rows are ordered by values that were read in a fixed number of queries."""

    def __init__(self, data: QueryDict, form: RunFilterForm, usual: Sequence[str] = SHOWN) -> None:
        """usual: the columns of an address that names none."""
        self.form, self.usual = form, usual
        self.address = shorten_address(data, usual)
        self.columns = [COLUMNS[name] for name in form.columns]

    @cached_property
    def _values(self) -> dict[int, Values]:
        """The values of all rows that order and groups need."""
        needed = {COLUMNS[self.form.order.removeprefix("-")].source}
        if self.form.grouping:
            needed.add(COLUMNS[self.form.grouping].source)
        return read_sources(self.form.filter_rows(), needed)

    @cached_property
    def keys(self) -> list[int]:
        """The primary keys of all rows, in order: by group, then as sorted; rows without a value come last."""
        down = self.form.order.startswith("-")
        read = COLUMNS[self.form.order.removeprefix("-")].read
        found = {pk: read(values) for pk, values in self._values.items()}
        newest = sorted(found, reverse=True)
        known = [pk for pk in newest if found[pk] not in (None, "", [])]
        known.sort(key=lambda pk: sort_key(found[pk]), reverse=down)
        ordered = known + [pk for pk in newest if found[pk] in (None, "", [])]
        if self.form.grouping:
            ordered.sort(key=lambda pk: (self._groups[pk][0].text == NOBODY, self._groups[pk][0].text.casefold()))
        return ordered

    @cached_property
    def _groups(self) -> dict[int, list[Link]]:
        """The groups of each row; an experiment that several comparisons share is in several."""
        column = COLUMNS[self.form.grouping]
        found = {}
        for pk, values in self._values.items():
            value = column.read(values)
            if isinstance(value, str):
                value = [Link(value, "", values["row"][column.name])]
            found[pk] = value or [Link(NOBODY, "")]
        return found

    @property
    def groups(self) -> list[Group]:
        """Empty where rows are not grouped."""
        if not self.form.grouping:
            return []
        members: dict[Link, list[Values]] = defaultdict(list)
        for pk in self.keys:
            for link in self._groups[pk]:
                members[link].append(self._values[pk])
        return [self._summarize(link, own) for link, own in members.items()]

    def _summarize(self, link: Link, members: Sequence[Values]) -> Group:
        read = COLUMNS["final"].read
        scores = {values["row"]["pk"]: read(values) for values in members}
        known = [score for score in scores.values() if score is not None]
        tasks = {values["row"]["task"] for values in members if scores[values["row"]["pk"]] is not None}
        finished = sum(values["row"]["status"] == Experiment.Status.FINISHED for values in members)
        final = summarize_mean(known) if len(tasks) == 1 else None
        url = self.link(group="", **{self.form.grouping: link.key}) if link.key else ""
        return Group(link.text, url, len(members), finished, final, len(tasks) > 1)

    def paginate(self, number: Any) -> Page[int]:
        return Paginator(self.keys, PAGE).get_page(number)

    def read_rows(self, keys: Iterable[int], jobs: dict[int, Job]) -> list[Row]:
        """These rows with the values of all shown columns, in this order."""
        chosen = list(keys)
        rows = Experiment.objects.filter(pk__in=chosen)
        values = read_sources(rows, {column.source for column in self.columns})
        known = rows.select_related("winner__iteration").in_bulk()
        grouped = self._groups if self.form.grouping else {}
        return [
            Row(
                known[pk],
                jobs.get(pk),
                _count_left(jobs.get(pk)),
                grouped[pk][0].text if grouped else "",
                [Cell(column, column.read(values[pk])) for column in self.columns],
            )
            for pk in chosen
            if pk in known and pk in values  # else it was deleted a moment ago
        ]

    @property
    def headings(self) -> list[Heading]:
        found = []
        for column in (NAME, *self.columns):
            down, direction = f"-{column.name}", ""
            if self.form.order in (column.name, down):
                direction = "descending" if self.form.order == down else "ascending"
            first = column.name if column.look in ("text", "links", "status", "tags") else down
            turned = {"ascending": down, "descending": column.name}.get(direction, first)
            found.append(Heading(column, self.link(sort=turned) if column.sortable else "", direction))
        return found

    def link(self, **changes: str) -> str:
        """The address of the table with these changes, on its first page."""
        address = self.address.copy()
        for name in ("page", *changes):
            address.pop(name, None)
        for name, value in changes.items():
            address[name] = value
        return f"?{shorten_address(address, self.usual).urlencode()}"

    def write_csv(self) -> str:
        """All rows, not one page alone, with the shown columns."""
        rows: list[list[Any]] = [["id", "name", *(column.name for column in self.columns)]]
        values = read_sources(self.form.filter_rows(), {column.source for column in self.columns})
        for pk in self.keys:
            if own := values.get(pk):
                cells = [format_cell(column.read(own)) for column in self.columns]
                rows.append([str(own["row"]["public_id"]), own["row"]["name"], *cells])
        return format_table(rows)


def _count_left(job: Any) -> float | None:
    told = read_promises(job) if job else []
    left = told[-1].count_left(job.read_at) if told else 0.0
    return left if left > 0 else None


def find_running_jobs(experiments: Iterable[int]) -> dict[int, Job]:
    """The running job of each experiment that people wait for, by experiment; `read_at` is now."""
    running = Job.objects.filter(experiment__in=experiments, status=Job.Status.RUNNING)
    running = running.exclude(kind__in=BACKGROUND_KINDS)
    running = running.select_related("request").annotate(read_at=Now())
    found: dict[int, Job] = {}
    for job in running.order_by("id"):
        known = found.get(job.experiment_id)
        if known is None or IMPORTANCE[job.kind] <= IMPORTANCE[known.kind]:
            found[job.experiment_id] = job
    return found
