"""The form of an experiment, new or saved."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.urls import reverse
from django.utils.html import format_html

from webapp.bench.form_fields import SectionedForm, set_choices, set_empty_labels
from webapp.bench.loop_form import LoopForm
from webapp.bench.option_fields import OptionsField, describe_judge_options
from webapp.experiments import judges, repeating
from webapp.experiments.defaults import find_environment_model
from webapp.experiments.models import Experiment
from webapp.experiments.seeds import find_next_seed
from webapp.studies.assigning import find_participants

PEOPLE_JUDGE_IN_STUDIES = (
    "People judge in studies, each in an experiment of their own: set up a study, and its experiments start with its "
    "participants. One that is started here is judged by the hidden metric or by a language model."
)
FREE = ("name", "token_budget", "dollar_budget")
"""Fields that can change once an experiment has started."""
CONNECT = (
    '{} <a class="models-only" href="{}?_popup=1" target="_blank" data-adds="id_model">Connect a language model</a>'
)


class ExperimentForm(SectionedForm, LoopForm):
    """A new experiment, a draft, or one that has started: its name and budgets, because its requests were made from the
    rest.
    """

    section_names = {
        "": ("name", "task", "method", "judge", "model", "preset", "k", "n"),
        "More: seed, start of trainings, options, other models, prompts, budget": (
            *("seed", "training_start", "shared_experience", "options", "judge_options"),
            *("describer", "judge_model", "vision", "prompt_set", "token_budget", "dollar_budget"),
        ),
    }
    judge_options = OptionsField(label="Judge's options", help_text=describe_judge_options())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None and "seed" not in (kwargs.get("initial") or {}):
            self.initial.pop("seed", None)
        if self.instance.status != Experiment.Status.DRAFT:
            for name in self.fields.keys() - set(FREE):
                del self.fields[name]
            self.section_names = {"": FREE}
            return
        if self.instance.pk is None or not find_participants(self.instance):
            set_choices(self, "judge", judges.CHOICES_WITHOUT_PEOPLE)
            self.fields["judge"].error_messages["invalid_choice"] = PEOPLE_JUDGE_IN_STUDIES
        self.fields["seed"].required, self.fields["seed"].initial = False, None
        self.fields["seed"].widget.attrs["placeholder"] = "the next one"
        said = self.fields["model"].help_text
        self.fields["model"].help_text = format_html(CONNECT, said, reverse("bench:model_new"))
        empty = {"describer": "The one that writes", "judge_model": "The one that writes", "vision": "None"}
        set_empty_labels(self, empty)
        for name in empty:
            self.fields[name].widget.attrs["data-models"] = ""

    def _post_clean(self) -> None:
        """Take the next seed where none was typed."""
        super()._post_clean()  # type: ignore[misc]
        if not self.errors and self.cleaned_data.get("seed", 0) is None:
            self.instance.seed = find_next_seed(self.instance)

    class Meta(LoopForm.Meta):
        model = Experiment
        labels = {"model": "Language model", "token_budget": "Tokens, at most", "dollar_budget": "US dollars, at most"}
        fields = [
            *["name", "task", "method", "judge", "k", "n"],
            *["preset", "training_start", "shared_experience", "seed", "model"],
            *["options", "judge_options", "describer", "judge_model", "vision", "prompt_set"],
            *["token_budget", "dollar_budget"],
        ]


def propose_settings(asked: QueryDict) -> dict[str, Any]:
    """The values of a new form: a proposed name, a judge that works outside a study, the settings of the experiment
    that `copy` names, and what the address says of the form's own fields.
    """
    usual = {"name": f"Experiment {Experiment.objects.count() + 1}", "judge": judges.WITHOUT_PEOPLE}
    named = {name: asked[name] for name in ExperimentForm.Meta.fields if name in asked}
    return {**usual, "model": find_environment_model(), **_copy_settings(asked.get("copy", "")), **named}


def _copy_settings(public_id: str) -> dict[str, Any]:
    """The form's values for a duplicate of this experiment; its seed is the next free one. Empty if there is none."""
    try:
        row = Experiment.objects.get(public_id=public_id)
    except (Experiment.DoesNotExist, ValidationError):
        return {}
    settings = {name: getattr(row, name) for name in repeating.COPIED}
    if row.judge_info.asks_people:
        settings |= {"judge": judges.WITHOUT_PEOPLE, "judge_options": {}}
    return {**settings, "name": f"Copy of {row.name}"[:120]}
