"""Read-only lists of what people were shown and picked, and the set-up of trials and gold sets.

Tokens and tickets are left out, because they are personal addresses.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget

from webapp.bench.admin.experiments import ReadOnlyAdmin
from webapp.experiments.models import Candidate
from webapp.review.models import GoldSet, Screening, Trial, TrialPlan, Vote
from webapp.review.trials import find_showable

MOST_CANDIDATES = 500
"""Of the latest rounds: nobody reads a longer list."""


@admin.register(Screening)
class ScreeningAdmin(ReadOnlyAdmin):
    list_display = ["request", "participant", "seed", "opened_at"]
    list_select_related = ["request", "participant"]
    exclude = ["token"]


@admin.register(Vote)
class VoteAdmin(ReadOnlyAdmin):
    list_display = ["request", "best", "worst", "cannot_tell", "broken", "reason", "created_at", "undone_at"]
    list_filter = ["cannot_tell", "broken"]
    list_select_related = ["request", "best__iteration", "worst__iteration"]
    search_fields = ["reason"]


@admin.register(Trial)
class TrialAdmin(ReadOnlyAdmin):
    list_display = ["kind", "participant", "round", "expected_best", "best", "answered_at"]
    list_filter = ["kind", ("participant__study", RelatedDropdownFilter)]
    list_select_related = ["participant", "expected_best__iteration", "best__iteration"]
    exclude = ["token"]


@admin.register(TrialPlan)
class TrialPlanAdmin(ModelAdmin):
    list_display = ["study", "attention", "gold", "repeated"]
    fieldsets = [
        (
            None,
            {
                "fields": ["study", ("attention", "gold", "repeated")],
                "description": "While the next round is made, participants judge these sets as they judge a round. The "
                "answers are stored and flagged, never dropped and never given to a method. Attention and repeated "
                "sets show an earlier round, so they begin after the first. Fixed once somebody consented.",
            },
        )
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: TrialPlan | None = None) -> list[str]:
        """The plan stands once somebody consented: participants of one study must do the same."""
        begun = obj is not None and obj.study.has_begun
        return ["study", "attention", "gold", "repeated"] if begun else []


class CandidateChoice(forms.ModelChoiceField):
    widget = UnfoldAdminSelectWidget

    def label_from_instance(self, candidate: Any) -> str:
        experiment = candidate.iteration.experiment
        return f"{experiment.task}, {experiment.name}: round {candidate.iteration.number}, {candidate.key}"


class GoldSetForm(forms.ModelForm):
    best = CandidateChoice(queryset=Candidate.objects.none(), help_text="Anybody should find this one better.")
    worst = CandidateChoice(queryset=Candidate.objects.none(), help_text="Anybody should find this one worse.")

    class Meta:
        model = GoldSet
        fields = ["study", "best", "worst", "whole_round"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("best", "worst"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = list_latest_candidates()

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        study, best, worst = (self.cleaned_data.get(name) for name in ("study", "best", "worst"))
        if study and best and worst:
            tasks = {best.iteration.experiment.task, worst.iteration.experiment.task}
            if len(tasks) > 1 or not study.arms.filter(task__in=tasks).exists():
                raise forms.ValidationError("Both must be of one task, and an arm of the study must be about it.")
        return data


def list_latest_candidates() -> QuerySet[Candidate]:
    """Candidates with a video or an answer that can be shown, of the latest rounds."""
    latest = find_showable().order_by("-iteration__pk", "index")[:MOST_CANDIDATES]
    chosen = Candidate.objects.filter(pk__in=list(latest.values_list("pk", flat=True)))
    return chosen.select_related("iteration__experiment").order_by("-iteration__pk", "index")


@admin.register(GoldSet)
class GoldSetAdmin(ModelAdmin):
    form = GoldSetForm
    list_display = ["study", "pair", "whole_round"]
    list_select_related = ["study", "best__iteration__experiment", "worst__iteration__experiment"]

    @display(description="best, worst")
    def pair(self, gold: GoldSet) -> str:
        return f"{gold.best.iteration.experiment.name}: {gold.best}, {gold.worst}"
