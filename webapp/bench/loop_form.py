"""The form with the settings that arms and experiments share."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.html import format_html

from llm.methods import OFFERED
from simulation import catalog
from webapp.bench.form_fields import set_choices
from webapp.bench.option_fields import OptionsField, describe_method_options, describe_methods
from webapp.experiments.models import LanguageModel, LoopSettings
from webapp.experiments.models.loop_settings import find_refused
from webapp.problems import lookup
from webapp.problems.media import get_medium

PROMPTS_HELP = (
    'Language models are asked in these words. Administrators upload sets on the page <a href="{}">Prompts</a>. As '
    "installed: Prefine’s own, or those of PREFINE_PROMPTS."
)


class LoopForm(forms.ModelForm):
    """The fields that arms and experiments share, with the checks that need the task."""

    options = OptionsField(label="Method's options", help_text=describe_method_options())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "method" in self.fields:
            set_choices(self, "method", [(method.name, method.title) for method in OFFERED.values()])
        for name, words in (("model", LanguageModel.Kind.OFFLINE.label), ("prompt_set", "As installed")):
            field = self.fields.get(name)
            if isinstance(field, forms.ModelChoiceField):
                field.empty_label = str(words)
        if "prompt_set" in self.fields:
            self.fields["prompt_set"].help_text = format_html(PROMPTS_HELP, reverse("archive:prompts"))
        if "task" in self.fields:
            set_choices(self, "task", lookup.group_choices())
            refusing = {"method", "judge", "training_start"}
            for name in refusing & set(self.fields):  # bench/admin.js offers what the chosen task takes
                self.fields[name].widget.attrs["data-refused"] = json.dumps(find_refused(name))

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        task, preset = data.get("task"), data.get("preset")
        if task and preset and get_medium(task).filmed and preset not in catalog.get_task(task).presets:
            known = ", ".join(f"“{catalog.PRESETS[name]}”" for name in catalog.get_task(task).presets)
            self.add_error("preset", f"{task} has no settings “{catalog.PRESETS[preset]}” yet. It has: {known}.")
        return data

    class Meta:
        model: type[LoopSettings]
        help_texts = {
            "task": "The Tasks page shows each robot's text and reward inputs.",
            "method": describe_methods(),
            "judge": "The proxy judges by the hidden metric, at once; a language model by code and traces. People "
            "judge in studies.",
            "k": "Compared at a time; below 4 leaves little choice.",
            "n": "5 in most papers; most of the gain is in the first three.",
            "preset": "Quick: minutes a round on two cores. Paper: needs a GPU.",
            "training_start": "From the last best, robots get better from round to round, and people see them sooner, "
            "most of all where later rounds train less. The first round starts from a policy that stays up where the "
            "task has one. Scores are not comparable with the papers'.",
            "seed": "Experiments with equal settings and seed draw equal randomness, and share their trainings. Empty: "
            "one more than the highest seed of an equal experiment.",
            "name": "For you: how it appears on the bench.",
        }
