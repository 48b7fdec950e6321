"""Configuration of language models and experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.bench.admin.bench_admin import BenchAdmin, OwnPageAdmin, render_state
from webapp.bench.form_fields import set_choices
from webapp.bench.loop_form import LoopForm
from webapp.bench.option_fields import OptionsField, describe_judge_options
from webapp.experiments import judges, loop, repeating
from webapp.experiments.defaults import find_environment_model
from webapp.experiments.models import Experiment, LanguageModel
from webapp.experiments.seeds import find_next_seed
from webapp.studies.assigning import find_participants


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


PEOPLE_JUDGE_IN_STUDIES = (
    "People judge in studies, each in an experiment of their own: set up a study, and its experiments start with its "
    "participants. One that is started here is judged by the hidden metric or by a language model."
)


class ExperimentForm(LoopForm):
    judge_options = OptionsField(label="Judge's options", help_text=describe_judge_options())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        without_people = self.instance.pk is None or not find_participants(self.instance)
        if without_people and "judge" in self.fields:
            set_choices(self, "judge", judges.CHOICES_WITHOUT_PEOPLE)
            self.fields["judge"].error_messages["invalid_choice"] = PEOPLE_JUDGE_IN_STUDIES
        if "seed" in self.fields:
            self.fields["seed"].required, self.fields["seed"].initial = False, None
            self.fields["seed"].widget.attrs["placeholder"] = "the next one"

    class Meta(LoopForm.Meta):
        model = Experiment
        fields = [
            *["name", "task", "method", "judge", "k", "n"],
            *["preset", "training_start", "shared_experience", "seed", "model"],
            *["options", "judge_options", "describer", "judge_model", "vision", "prompt_set"],
            *["token_budget", "dollar_budget"],
        ]


@admin.register(Experiment)
class ExperimentAdmin(OwnPageAdmin):
    form = ExperimentForm
    fieldsets = [
        (None, {"fields": ["name"]}),
        ("What is learnt", {"fields": ["task", "method", "judge"]}),
        ("How much", {"fields": [("k", "n"), ("preset", "seed"), "training_start", "shared_experience"]}),
        ("Who writes the rewards", {"fields": ["model"]}),
        ("Other language models", {"classes": ["collapse"], "fields": ["describer", "judge_model", "vision"]}),
        ("Options and prompts", {"classes": ["collapse"], "fields": ["options", "judge_options", "prompt_set"]}),
        ("Budget of language models", {"classes": ["collapse"], "fields": [("token_budget", "dollar_budget")]}),
    ]
    list_display = ["name", "state", "task", "method", "judge", "created_at", "live_link"]
    list_filter = ["status", "task", "method", "judge"]
    search_fields = ["name", "public_id"]
    actions = ["start", "pause", "resume", "cancel"]
    above_form = "admin/experiment_live.html"

    @admin.display(description="status", ordering="status")
    def state(self, experiment: Experiment) -> SafeString:
        if experiment.paused:
            return render_state("paused", "Paused")
        return render_state(experiment.status, experiment.get_status_display())

    @admin.display(description="live page")
    def live_link(self, experiment: Experiment) -> SafeString:
        return format_html('<a href="{}">Open</a>', reverse("bench:experiment", args=[experiment.public_id]))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A proposed name, and a judge that works outside a study."""
        names = {"name": f"Experiment {Experiment.objects.count() + 1}", "judge": judges.WITHOUT_PEOPLE}
        given = super().get_changeform_initial_data(request)
        return {**names, "model": find_environment_model(), **_copy_settings(str(given.pop("copy", ""))), **given}

    def get_readonly_fields(self, request: HttpRequest, obj: Experiment | None = None) -> list[str]:
        """Once an experiment has started, only name and budgets may change: its requests were made from the rest."""
        if obj is None or obj.status == Experiment.Status.DRAFT:
            return []
        free = ("name", "token_budget", "dollar_budget")
        return [field for field in ExperimentForm.Meta.fields if field not in free]

    def save_model(self, request: HttpRequest, obj: Model, form: forms.Form, change: Any) -> None:
        """Save the form's fields alone: the loop may have changed other fields since the row was read."""
        assert isinstance(obj, Experiment)
        if form.cleaned_data.get("seed", 0) is None:
            obj.seed = find_next_seed(obj)
        if change:
            obj.save(update_fields=[name for name in ExperimentForm.Meta.fields if name in form.fields])
        else:
            obj.owner = request.user.get_username()
            super().save_model(request, obj, form, change)

    def has_delete_permission(self, request: HttpRequest, obj: Experiment | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.live)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, set[str], list[Any]]:
        """Rows of a loop, which cannot be deleted one by one, are deleted with their experiment."""
        rows, counts, refused, protected = super().get_deleted_objects(objs, request)
        return rows, counts, refused & {str(self.opts.verbose_name)}, protected

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        experiment = self.get_object(request, object_id)
        live_url = reverse("bench:experiment", args=[experiment.public_id]) if experiment else ""
        kwargs["extra_context"] = {"live_url": live_url} | (kwargs.get("extra_context") or {})
        return super().change_view(request, object_id, *args, **kwargs)

    def find_page(self, obj: Experiment) -> str:
        return reverse("bench:experiment", args=[obj.public_id])

    @admin.action(description="Start")
    def start(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        self._apply_to_each(request, queryset, loop.start, "started")

    @admin.action(description="Pause: training stops and later continues from its checkpoint")
    def pause(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        self._apply_to_each(request, queryset, loop.pause, "paused")

    @admin.action(description="Resume")
    def resume(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        self._apply_to_each(request, queryset, loop.resume, "resumed")

    @admin.action(description="Cancel for good: results so far stay")
    def cancel(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        self._apply_to_each(request, queryset, loop.cancel, "cancelled")

    def _apply_to_each(
        self,
        request: HttpRequest,
        experiments: QuerySet[Experiment],
        act: Callable[[Experiment], bool],
        done: str,
    ) -> None:
        names = [experiment.name for experiment in experiments if act(experiment)]
        if names:
            self.message_user(request, f"{', '.join(names)}: {done}.", messages.SUCCESS)
        else:
            self.message_user(request, f"Nothing was {done}: none is in a state for that.", messages.WARNING)


KEY_NOT_KEPT = (
    "The key that you typed is not saved, and this page never holds it: type it again. To save without a key, switch "
    "on “Forget the stored key”."
)


class LanguageModelForm(forms.ModelForm):
    api_key = forms.CharField(
        label="API key",
        required=False,
        max_length=300,
        widget=forms.PasswordInput({"autocomplete": "off"}),
        help_text="Kept on this server and never shown again. Leave empty to keep what is stored.",
    )
    forget_key = forms.BooleanField(label="Forget the stored key", required=False)
    key_typed = forms.BooleanField(required=False, widget=forms.HiddenInput)
    """A key was typed into this form, which was refused. The key itself is in no page."""

    class Meta:
        model = LanguageModel
        fields = [
            *["name", "kind", "base_url", "model", "api_key", "price_input", "price_output", "price_date"],
            *["concurrency", "timeout", "context_tokens"],
        ]
        labels = {"base_url": "Address", "price_input": "Input price", "price_output": "Output price"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """An endpoint needs an address and a model name; the offline writer needs neither."""
        super().__init__(*args, **kwargs)
        for name in ("base_url", "model"):
            self.fields[name].required = self["kind"].value() == LanguageModel.Kind.OPENAI
        if not self.instance.api_key:
            self.fields["forget_key"].widget = forms.HiddenInput()
            self.fields["api_key"].help_text = "Kept on this server and never shown again."

    def full_clean(self) -> None:
        """Have a typed key typed again if the form is refused: no page holds it, and saving would lose it."""
        typed, lost = bool(self.data.get("api_key")), self.data.get("key_typed") == "1"
        self.initial["key_typed"] = lost  # it is no change of the model
        super().full_clean()
        if not self.data.get("forget_key") and ((typed and self.errors) or (lost and not typed)):
            self.add_error("api_key", KEY_NOT_KEPT)
            self.data = {name: self.data[name] for name in self.data} | {"key_typed": "1"}

    def clean_concurrency(self) -> int:
        return int(self.cleaned_data["concurrency"] or LanguageModel._meta.get_field("concurrency").default)

    def clean_timeout(self) -> int:
        return int(self.cleaned_data["timeout"] or LanguageModel._meta.get_field("timeout").default)

    def clean_api_key(self) -> str:
        """An empty field keeps the key that is stored: the form cannot show it."""
        return str(self.cleaned_data["api_key"] or self.instance.api_key)

    def clean_forget_key(self) -> bool:
        if self.cleaned_data["forget_key"]:
            self.cleaned_data["api_key"] = ""
        return bool(self.cleaned_data["forget_key"])


@admin.register(LanguageModel)
class LanguageModelAdmin(BenchAdmin):
    form = LanguageModelForm
    fieldsets = [
        (None, {"fields": ["name", "kind"]}),
        ("Endpoint", {"fields": ["base_url", "model", "api_key", "key_typed", "forget_key"]}),
        (
            "Prices",
            {
                "fields": [("price_input", "price_output"), "price_date"],
                "description": "Where they are unknown, costs are shown as unknown.",
            },
        ),
        ("Limits", {"fields": ["concurrency", "timeout", "context_tokens"]}),
    ]
    list_display = ["name", "kind", "model", "address", "key"]
    above_form = "admin/test_connection.html"

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"kind": LanguageModel.Kind.OPENAI, **super().get_changeform_initial_data(request)}

    @admin.display(description="address", ordering="base_url")
    def address(self, model: LanguageModel) -> str:
        return model.base_url

    @admin.display(description="key", boolean=True)
    def key(self, model: LanguageModel) -> bool:
        return bool(model.api_key)

    def has_view_permission(self, request: HttpRequest, obj: LanguageModel | None = None) -> bool:
        """Only who may change it: a page that one may just read would print the stored key."""
        return self.has_change_permission(request, obj)
