"""Read-only lists of what people were shown and picked, and the set-up of trials and gold sets.

Tokens and tickets are left out, because they are personal addresses.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget

from webapp.bench.admin.experiments import ReadOnlyAdmin
from webapp.bench.studies.gold import GoldSetForm
from webapp.review.models import GoldSet, Screening, Trial, TrialPlan, Vote


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
                "fields": ["study", "attention", "gold", "repeated"],
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


class AdminGoldSetForm(GoldSetForm):
    """With the admin's lists."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("best", "worst"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.widget = UnfoldAdminSelectWidget()
            field.widget.choices = field.choices


@admin.register(GoldSet)
class GoldSetAdmin(ModelAdmin):
    form = AdminGoldSetForm
    list_display = ["study", "pair", "whole_round"]
    list_select_related = ["study", "best__iteration__experiment", "worst__iteration__experiment"]

    @display(description="best, worst")
    def pair(self, gold: GoldSet) -> str:
        return f"{gold.best.iteration.experiment.name}: {gold.best}, {gold.worst}"
