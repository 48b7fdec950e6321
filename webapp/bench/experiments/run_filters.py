"""What the address of the table of experiments says: which rows, in which order, with which columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, time
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import QueryDict
from django.utils import timezone

from llm import methods
from webapp.bench.experiments.run_columns import ALL, COLUMNS, GROUPS, NAME, SHOWN
from webapp.comparisons.models import Comparison
from webapp.experiments import judges
from webapp.experiments.models import Experiment, Tag
from webapp.studies.models import Arm, Assignment, Study

NEWEST = "-created"
ANY = [("", "Any")]
FOLDED = ("judge", "study", "arm", "comparison", "tag", "since", "until", "archived", "mine")
"""Filters that stand behind "More filters"."""


def _list_values(name: str) -> Callable[[], list[tuple[str, str]]]:
    """The choices of a filter: the values that some experiment has."""

    def read() -> list[tuple[str, str]]:
        found = Experiment.objects.order_by(name).values_list(name, flat=True).distinct()
        return [*ANY, *((value, _name_value(name, value)) for value in found)]

    return read


def _name_value(name: str, value: str) -> str:
    if name == "method" and value in methods.METHODS:
        return methods.METHODS[value].title
    return judges.JUDGES[value].label if name == "judge" and value in judges.JUDGES else value


def _list_tags() -> list[tuple[str, str]]:
    return [*ANY, *((name, name) for name in Tag.objects.order_by("name").values_list("name", flat=True).distinct())]


def _list_studies() -> list[tuple[str, str]]:
    return [*ANY, *((str(pk), title) for pk, title in Study.objects.values_list("pk", "title"))]


def _list_arms() -> list[tuple[str, str]]:
    arms = Arm.objects.order_by("study", "position", "pk").values_list("pk", "study__title", "name")
    return [*ANY, *((str(pk), f"{title}: {name}") for pk, title, name in arms)]


def _list_comparisons() -> list[tuple[str, str]]:
    return [*ANY, *((str(number), name) for number, name in Comparison.objects.values_list("public_id", "name"))]


def _list_orders() -> list[tuple[str, str]]:
    """Each column upwards and downwards."""
    found = []
    for column in (NAME, *ALL):
        if column.sortable:
            up, down = ("oldest first", "newest first") if column.look == "ago" else ("ascending", "descending")
            found += [(column.name, f"{column.label}, {up}"), (f"-{column.name}", f"{column.label}, {down}")]
    return found


class DateInput(forms.DateInput):
    input_type = "date"


def _choose(label: str, choices: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=choices, required=False)


class RunFilterForm(forms.Form):
    """Every field may be missing. One that cannot be understood is reported, and filters nothing."""

    q = forms.CharField(
        label="Search", required=False, max_length=200, widget=forms.TextInput(attrs={"type": "search"})
    )
    task = _choose("Task", _list_values("task"))
    method = _choose("Method", _list_values("method"))
    status = _choose("Status", [*ANY, *Experiment.Status.choices, ("paused", "Paused")])
    judge = _choose("Judge", _list_values("judge"))
    study = _choose("Study", _list_studies)
    arm = _choose("Arm of a study", _list_arms)
    comparison = _choose("Comparison", _list_comparisons)
    tag = _choose("Tag", _list_tags)
    since = forms.DateField(label="Created from", required=False, widget=DateInput)
    until = forms.DateField(label="Created until", required=False, widget=DateInput)
    archived = _choose("Archived", [("", "Hidden"), ("yes", "Only these"), ("all", "Shown too")])
    mine = forms.BooleanField(label="Only mine", required=False)
    group = _choose("Group by", [("", "Nothing"), *((name, COLUMNS[name].label) for name in GROUPS)])
    sort = _choose("Order", _list_orders())
    col = forms.MultipleChoiceField(
        label="Columns",
        required=False,
        choices=[(column.name, column.label) for column in ALL],
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: QueryDict, user: User, usual: Sequence[str] = SHOWN) -> None:
        """usual: the columns that this person sees where the address names none."""
        shown = data.copy()
        shown.setdefault("sort", NEWEST)
        if "col" not in shown:
            shown.setlist("col", usual)
        super().__init__(shown)
        self.user = user
        self.is_valid()
        self.found: dict[str, Any] = self.cleaned_data

    @property
    def columns(self) -> list[str]:
        """The names of the shown columns, in the table's order."""
        chosen = self.found.get("col") or SHOWN
        return [column.name for column in ALL if column.name in chosen]

    @property
    def order(self) -> str:
        return self.found.get("sort") or NEWEST

    @property
    def grouping(self) -> str:
        return self.found.get("group") or ""

    @property
    def folded(self) -> tuple[str, ...]:
        return FOLDED

    @property
    def narrowed(self) -> int:
        """How many of the filters that are folded away are in use."""
        return sum(bool(self.found.get(name)) for name in FOLDED)

    def filter_rows(self) -> QuerySet[Experiment]:
        """The experiments that the address asks for, in no order."""
        found, rows = self.found, Experiment.objects.order_by()
        for name in ("task", "method", "judge"):
            if found.get(name):
                rows = rows.filter(**{name: found[name]})
        if status := found.get("status"):
            rows = rows.filter(paused=True) if status == "paused" else rows.filter(status=status)
        for name, lookup in (("study", "arm__study"), ("arm", "arm")):
            if found.get(name):
                place = Assignment.objects.filter(experiment=OuterRef("pk"), **{lookup: found[name]})
                rows = rows.filter(Exists(place))
        if found.get("comparison"):
            rows = rows.filter(public_id__in=_list_planned(found["comparison"]))
        if found.get("tag"):
            rows = rows.filter(Exists(Tag.objects.filter(experiment=OuterRef("pk"), name=found["tag"])))
        if found.get("mine"):
            rows = rows.filter(owner=self.user.get_username())
        if found.get("since"):
            rows = rows.filter(created_at__gte=_make_moment(found["since"], time.min))
        if found.get("until"):
            rows = rows.filter(created_at__lte=_make_moment(found["until"], time.max))
        if found.get("archived") != "all":
            rows = rows.filter(archived_at__isnull=found.get("archived") != "yes")
        return rows.filter(_search(found["q"])) if found.get("q") else rows


def shorten_address(data: QueryDict, columns: Sequence[str] = SHOWN) -> QueryDict:
    """The same state of the table without what is empty or usual, as it stands in addresses; `columns` are usual."""
    short = data.copy()
    for name in list(short):
        short.setlist(name, [value for value in short.getlist(name) if value])
    usual = {"sort": {NEWEST}, "col": set(columns), "page": {"1"}}
    for name in list(short):
        if not short.getlist(name) or set(short.getlist(name)) == usual.get(name):
            del short[name]
    return short


def _make_moment(day: Any, moment: time) -> datetime:
    return timezone.make_aware(datetime.combine(day, moment))


def _list_planned(public_id: str) -> list[Any]:
    """The experiments of a comparison's plan; none if it cannot be read any more."""
    try:
        return Comparison.objects.get(public_id=public_id).plan.all_ids
    except ValueError:
        return []


def _search(text: str) -> Q:
    """Every word in the name, the task, the error, the owner or a tag, or at the start of the public id."""
    found = Q()
    for word in text.split():
        tagged = Exists(Tag.objects.filter(experiment=OuterRef("pk"), name__icontains=word))
        own = Q(tagged)
        for name in ("name", "task", "method", "owner", "error", "model__name"):
            own |= Q(**{f"{name}__icontains": word})
        found &= own | Q(public_id__startswith=word.lower())
    return found
