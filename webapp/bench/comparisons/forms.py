from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import MinValueValidator
from django.forms.boundfield import BoundWidget

from llm import methods
from simulation import catalog
from webapp.base.text_lines import split_lines
from webapp.bench.form_fields import SectionedForm, Sections, set_choices, set_empty_labels
from webapp.comparisons import csv_tables
from webapp.comparisons import plan as plans
from webapp.comparisons.arms import add_published_k, add_usual, name_prompts
from webapp.comparisons.contrasts import CONTROLS, add_controls
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Plan
from webapp.experiments import judges
from webapp.experiments.defaults import find_environment_model
from webapp.problems.models import Problem

VARIANT = "variant"
ROBOTS, PROBLEMS = "robots", "problems"
KINDS = {ROBOTS: "Robots", PROBLEMS: "Problems"}
"""What a comparison is about: the form offers tasks and methods of one kind."""
MOST_BYTES = 8 << 20
"""The largest size of both uploaded tables together."""


def list_task_choices(kind: str) -> list[tuple[str, str]]:
    """Tasks, or problems, with a metric: methods are compared by it."""
    if kind == ROBOTS:
        return [(name, name) for name in list_robots()]
    return [(row.name, str(row)) for row in Problem.objects.all() if row.metric]


def list_robots() -> list[str]:
    """By kind, as `ComparisonForm.grouped_tasks` shows them."""
    names = [name for group in catalog.group_tasks().values() for name in group]
    return [name for name in names if catalog.get_task(name).metric is not None]


def list_method_choices(kind: str) -> list[tuple[str, str]]:
    """The methods that run on tasks of this kind: on problems those that do not design rewards alone."""
    return [(name, method.title) for name, method in methods.OFFERED.items() if kind == ROBOTS or method.reasoning]


def list_preset_choices() -> list[tuple[str, str]]:
    """Presets of the tasks above; the title says how many tasks have one that not all of them have."""
    some, every = find_partial_presets(), len(list_robots())
    titles = {name: f"{catalog.PRESETS[name]} ({len(have)} of {every} tasks)" for name, have in some.items()}
    return [(name, titles.get(name, title)) for name, title in catalog.PRESETS.items() if some.get(name, True)]


def find_partial_presets() -> dict[str, list[str]]:
    """Preset -> the tasks above that have it, where not all have."""
    tasks = {name: catalog.get_task(name).presets for name in list_robots()}
    have = {preset: [name for name, own in tasks.items() if preset in own] for preset in catalog.PRESETS}
    return {preset: names for preset, names in have.items() if len(names) < len(tasks)}


COPIED = (
    *("candidates", "experiments", "judge", "preset", "iterations", "seed", "model", "describer", "judge_model"),
    *("vision", "token_budget", "dollar_budget", "label", "retrain"),
)


def copy_settings(public_id: str) -> dict[str, Any]:
    """The form's values for a duplicate of this comparison; empty if there is none."""
    try:
        row = Comparison.objects.get(public_id=public_id)
    except (Comparison.DoesNotExist, ValidationError):
        return {}
    named = [arm for arm in row.methods if arm in methods.OFFERED]
    return {name: getattr(row, name) for name in COPIED} | {
        "name": f"Copy of {row.name}"[:120],
        "tasks": row.tasks,
        "methods": named,
        "variants": "\n".join(arm for arm in row.methods if arm not in named),
        "baseline": row.methods[0] if row.methods[0] in named else VARIANT,
        "judge_options": "\n".join(row.judge_options),
        "contrasts": "\n".join(row.contrasts),
        "controls": [],  # they are among the variants
    }


def find_kind(tasks: Sequence[str]) -> str:
    """The kind of these tasks."""
    return PROBLEMS if tasks and not set(tasks) <= set(catalog.list_tasks()) else ROBOTS


SECTIONS: Sections = {
    "": ("tasks", "methods", "candidates", "experiments", "model", "judge", "preset", "controls"),
    "Variants of methods, baseline": ("variants", "as_published", "baseline"),
    "Claims, retrainings": ("contrasts", "retrain"),
    "Judge's options, training iterations, seed": ("judge_options", "iterations", "seed"),
    "Other models, budgets": ("describer", "judge_model", "vision", "token_budget", "dollar_budget"),
    "Name, label": ("name", "label"),
    "Results from elsewhere": ("elsewhere_experiments", "elsewhere_rounds", "elsewhere_references"),
}


class ComparisonForm(SectionedForm, forms.ModelForm):
    section_names = SECTIONS
    field_template = "bench/comparisons/_plan_field.html"
    tasks = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        help_text="Methods are compared by a task's metric: tasks without one are not offered.",
    )
    methods = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        initial=["icpl", "open_loop"],
        required=False,
        error_messages={"invalid_choice": "%(value)s is no method for tasks of this kind."},
    )
    variants = forms.CharField(
        label="Variants of methods",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="One per line, with options, for example rf_agent:search=bfs,self_verify=false or icpl:k=10. A name "
        "of your own stands before it: Few at once=icpl:k=3. Names must differ. prompts=NAME chooses uploaded prompts.",
    )
    as_published = forms.BooleanField(
        label="Eureka and Revolve with 16 candidates a round, as published",
        required=False,
        help_text="Otherwise every method has the rounds that ICPL has. 80 candidates, or others that 16 divides, are "
        "then whole rounds.",
    )
    baseline = forms.ChoiceField(
        required=False,
        help_text="The method that the others are tested against.",
    )
    controls = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        required=False,
        choices=[(name, words[0].upper() + words[1:]) for name, words in CONTROLS.items()],
        help_text="They stand beside the baseline, and cost as much as a method each.",
    )
    contrasts = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="What is tested, one per line: ICPL > OpenLoop, A = B, or A vs B (they differ). Empty: every method "
        "against the baseline. It cannot be changed later.",
    )
    judge_options = forms.CharField(
        label="Judge's options",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="One name=value per line, for example beta=5: a judge that errs.",
    )

    elsewhere_experiments = forms.FileField(
        label="Results from elsewhere: experiments.csv",
        required=False,
        help_text="Of a report on the same experiments, written on another machine. What is finished there is counted "
        "here and not run.",
    )
    elsewhere_rounds = forms.FileField(
        label="Results from elsewhere: rounds.csv", required=False, help_text="Of the same report."
    )
    elsewhere_references = forms.FileField(
        label="Results from elsewhere: references.csv",
        required=False,
        help_text="Of the same report, if it has one: Human and Sparse, which are then not trained again here.",
    )

    class Meta:
        model = Comparison
        fields = [
            *[
                "name",
                "tasks",
                "methods",
                "variants",
                "baseline",
                "candidates",
                "experiments",
                "judge",
                "judge_options",
            ],
            *["preset", "iterations", "seed", "model", "describer", "judge_model", "vision"],
            *["token_budget", "dollar_budget", "label", "retrain"],
        ]

    def __init__(self, *args: Any, kind: str = ROBOTS, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        able = list_method_choices(kind)
        for name in ("candidates", "experiments"):  # a model's own limits are checked after a plan was made
            self.fields[name].validators.append(MinValueValidator(1))
            self.fields[name].widget.attrs["min"] = 1
        set_choices(self, "tasks", list_task_choices(kind))
        set_choices(self, "methods", able)
        set_choices(self, "baseline", [("", "The first of them"), *able, (VARIANT, "The first variant")])
        if kind == ROBOTS:
            self.initial.setdefault("tasks", ["Cartpole"])
            self.initial.setdefault("controls", ["aa"])
            self.fields["retrain"].required = False
        else:
            self.initial["retrain"] = 0
            del self.fields["retrain"]  # nothing is trained
        writes = "The one that writes"
        empty = {"model": "The offline writer", "describer": writes, "judge_model": writes, "vision": "None"}
        if kind == PROBLEMS:
            empty["model"] = "Choose one: the offline writer solves no problems"
        set_empty_labels(self, empty)
        set_choices(self, "preset", list_preset_choices())
        self.initial.setdefault("model", find_environment_model())

    @property
    def partial_presets(self) -> list[tuple[str, list[str]]]:
        """The titles of presets that only some tasks have, with these tasks."""
        found = find_partial_presets().items() if self.kind == ROBOTS else ()
        return [(catalog.PRESETS[name], have) for name, have in found if have]

    @property
    def grouped_tasks(self) -> list[tuple[str, list[BoundWidget], bool]]:
        """The boxes of the tasks under the name of their kind, of problems under none, and whether one is ticked."""
        boxes = self["tasks"].subwidgets
        if self.kind == PROBLEMS:
            return [("", boxes, True)]
        kinds = groupby(boxes, lambda box: catalog.get_task(box.data["value"]).kind)
        groups = [(kind, list(group)) for kind, group in kinds]
        return [(kind, group, any(box.data["selected"] for box in group)) for kind, group in groups]

    def clean_judge_options(self) -> list[str]:
        return split_lines(self.cleaned_data["judge_options"])

    def clean(self) -> dict[str, Any]:
        """The plan's own objections are shown above the form."""
        data: dict[str, Any] = super().clean() or {}
        arms = self._put_baseline_first(
            data.get("methods", []), split_lines(data.get("variants", "")), data.get("baseline")
        )
        data["methods"] = arms
        if not arms:
            self.add_error("methods", "Choose at least one method, or write a variant.")
        if self.errors:
            return data
        apart = ("name", "variants", "baseline", "retrain")
        arguments = {name: data[name] for name in self.Meta.fields if name not in apart}
        retrain = self._find_retrain(data)
        if "retrain" in self.fields:
            data["retrain"] = retrain
        try:
            plan = self._make_plan(arguments, data, retrain)
        except ValueError as error:
            self.add_error(None, str(error))
            return data
        self._refuse_foreign_variants(plan)
        if self.errors:
            return data
        for problem in plan.problems():
            self.add_error(None, problem)
        names = (*csv_tables.READ_BACK, csv_tables.READ_REFERENCES)
        fields = (data[f"elsewhere_{name.removesuffix('.csv')}"] for name in names)
        self._read_elsewhere(plan, {name: file for name, file in zip(names, fields, strict=True) if file})
        data["name"] = data["name"] or f"{plan.labels} on {', '.join(plan.tasks)}"[:120]
        return data

    def _find_retrain(self, data: dict[str, Any]) -> int:
        if self.kind == PROBLEMS:
            return 0
        default = Comparison._meta.get_field("retrain").default
        return int(default if data.get("retrain") is None else data["retrain"])

    def _make_plan(self, arguments: dict[str, Any], data: dict[str, Any], retrain: int) -> Plan:
        """The plan with its controls, which become methods and contrasts like others. Raises ValueError."""
        asks_model = judges.JUDGES[arguments["judge"]].asks_model
        typed = name_prompts(arguments["methods"])
        typed = add_usual(typed, arguments["vision"] is not None, asks_model)
        typed = add_published_k(typed) if data["as_published"] else typed
        arguments = {**arguments, "methods": typed}
        plain = plans.make_plan(**arguments)
        asked = split_lines(data["contrasts"]), data["controls"]
        data["methods"], data["contrasts"] = add_controls(arguments["methods"], *asked, plain.arms)
        arguments = {**arguments, "methods": data["methods"]}
        self.instance.retrain, self.instance.contrasts = retrain, data["contrasts"]
        return plans.make_plan(**arguments, retrain=retrain, contrasts=data["contrasts"])

    def _refuse_foreign_variants(self, plan: Plan) -> None:
        able = dict(list_method_choices(self.kind))
        for arm in plan.arms:
            if arm.method not in able:
                self.add_error("variants", f"{arm.label} designs rewards for robots. Problems are solved by others.")

    def _read_elsewhere(self, plan: Plan, tables: Mapping[str, UploadedFile]) -> None:
        """Keep the tables of a report, if they are whole and have experiments of the plan."""
        if not tables:
            return
        if not {*csv_tables.READ_BACK} <= tables.keys():
            self.add_error("elsewhere_rounds", "Choose both tables of the report: experiments.csv and rounds.csv.")
        elif sum(file.size or 0 for file in tables.values()) > MOST_BYTES:
            self.add_error("elsewhere_rounds", f"These tables are larger than {MOST_BYTES >> 20} MiB.")
        else:
            try:
                self.instance.elsewhere = {name: file.read().decode() for name, file in tables.items()}
                csv_tables.parse_report(plan, self.instance.elsewhere, "uploaded")
            except ValueError as error:
                self.add_error("elsewhere_experiments", f"It cannot be used: {error}")

    def _put_baseline_first(self, chosen: list[str], variants: list[str], baseline: str | None) -> list[str]:
        arms = [*chosen, *variants]
        if not baseline:
            return arms
        first = next(iter(variants), None) if baseline == VARIANT else baseline
        if first is None or first not in arms:
            self.add_error("baseline", "This method is not among those that are compared.")
            return arms
        return [first, *(arm for arm in arms if arm != first)]
