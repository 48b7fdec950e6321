"""The forms of a new study: what its draft begins with."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from webapp.bench.form_fields import set_choices
from webapp.experiments.defaults import find_environment_model
from webapp.experiments.models import LanguageModel
from webapp.problems import lookup
from webapp.studies.models import Study
from webapp.studies.starts import METHODS_FOR_PEOPLE, draft_arms

DEFAULT_METHODS = ("icpl", "open_loop")


class StartForm(forms.Form):
    """A task and one method: a study with one arm."""

    task = forms.ChoiceField()
    method = forms.ChoiceField(initial=DEFAULT_METHODS[0])
    model = forms.ModelChoiceField(
        LanguageModel.objects.order_by("name"),
        label="Who writes the rewards",
        required=False,
        empty_label=LanguageModel.Kind.OFFLINE.label,
    )
    method_fields: tuple[str, ...] = ("method",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "task", lookup.group_choices())
        for name in self.method_fields:
            set_choices(self, name, [(method.name, method.title) for method in METHODS_FOR_PEOPLE])
        self.fields["task"].initial = "Ant"
        self.fields["model"].initial = find_environment_model()

    @property
    def methods(self) -> list[str]:
        return [self.cleaned_data[name] for name in self.method_fields]

    def clean(self) -> dict[str, Any]:
        """Refuse at once what no later step can mend; the first step shows the rest."""
        data: dict[str, Any] = super().clean() or {}
        if self.errors:
            return data
        for field, arm in zip(self.method_fields, draft_arms(data["task"], self.methods, data["model"]), strict=True):
            try:
                arm.clean()
            except ValidationError as error:
                for name, words in getattr(error, "message_dict", {}).items():
                    if name in ("task", "method", "model"):
                        self.add_error(field if name == "method" else name, words)
        return data


class StartComparisonForm(StartForm):
    """A task and two methods: a study with two arms that differ in the method."""

    method = forms.ChoiceField(label="First method", initial=DEFAULT_METHODS[0])
    other = forms.ChoiceField(label="Second method", initial=DEFAULT_METHODS[1])
    method_fields = ("method", "other")
    field_order = ("task", "method", "other", "model")


class CopyForm(forms.Form):
    study = forms.ModelChoiceField(Study.objects.order_by("-created_at"), label="Study", empty_label=None)
