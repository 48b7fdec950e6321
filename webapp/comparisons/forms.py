from __future__ import annotations

from typing import Any

from django import forms

from llm import methods
from simulation import catalog
from webapp.comparisons.models import Comparison
from webapp.experiments.comparison import plan as plans
from webapp.experiments.defaults import environment_model


def comparable() -> list[tuple[str, str]]:
    """Tasks with a metric: without one there is nothing to compare by."""
    return [(name, name) for name, task in catalog.tasks().items() if task.metric is not None]


class ComparisonForm(forms.ModelForm):
    tasks = forms.MultipleChoiceField(choices=comparable, widget=forms.CheckboxSelectMultiple, initial=["Cartpole"])
    methods = forms.MultipleChoiceField(
        choices=lambda: [(name, method.title) for name, method in methods.METHODS.items()],
        widget=forms.CheckboxSelectMultiple,
        initial=["icpl", "open_loop"],
        required=False,
    )
    variants = forms.CharField(
        label="Variants of methods",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="One a line, with options, for example rf_agent:search=bfs,self_verify=false or icpl:k=10.",
    )
    judge_options = forms.CharField(
        label="Judge's options",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="One name=value a line, for example beta=5: a judge that errs.",
    )

    class Meta:
        model = Comparison
        fields = [
            *["name", "tasks", "methods", "variants", "candidates", "experiments", "judge", "judge_options"],
            *["preset", "iterations", "seed", "model", "vision", "label"],
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, words in (("model", "The offline writer"), ("vision", "None")):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.empty_label = words
        self.initial.setdefault("model", environment_model())

    def clean_judge_options(self) -> list[str]:
        return _lines(self.cleaned_data["judge_options"])

    def clean(self) -> dict[str, Any]:
        """What the plan itself refuses is said above the form."""
        data: dict[str, Any] = super().clean() or {}
        arms = [*data.get("methods", []), *_lines(data.get("variants", ""))]
        data["methods"] = arms
        if not arms:
            self.add_error("methods", "Choose at least one method, or write a variant.")
        if self.errors:
            return data
        wanted = {name: data[name] for name in self.Meta.fields if name not in ("name", "variants")}
        try:
            plan = plans.made(**wanted)
        except ValueError as error:
            self.add_error(None, str(error))
            return data
        for problem in plan.problems():
            self.add_error(None, problem)
        data["name"] = data["name"] or f"{', '.join(arm.label for arm in plan.arms)} on {', '.join(plan.tasks)}"[:120]
        return data


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
