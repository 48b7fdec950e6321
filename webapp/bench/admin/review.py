"""Read-only lists of what people were shown and picked, without tokens and tickets, which are personal addresses."""

from __future__ import annotations

from django.contrib import admin

from webapp.bench.admin.loop_rows import ReadOnlyAdmin
from webapp.experiments.models import Experiment
from webapp.review.models import Screening, Trial, Vote


@admin.register(Screening)
class ScreeningAdmin(ReadOnlyAdmin):
    list_display = ["request", "experiment", "participant", "seed", "opened_at"]
    list_select_related = ["request__experiment", "participant"]
    exclude = ["token"]

    def experiment(self, screening: Screening) -> Experiment:
        return screening.request.experiment


@admin.register(Vote)
class VoteAdmin(ReadOnlyAdmin):
    list_display = [
        *["request", "experiment", "best", "worst", "cannot_tell", "broken", "reason", "created_at", "undone_at"]
    ]
    list_filter = ["cannot_tell", "broken"]
    list_select_related = ["request__experiment", "best__iteration", "worst__iteration"]
    search_fields = ["reason"]

    def experiment(self, vote: Vote) -> Experiment:
        return vote.request.experiment


@admin.register(Trial)
class TrialAdmin(ReadOnlyAdmin):
    list_display = ["kind", "participant", "round", "expected_best", "best", "answered_at"]
    list_filter = ["kind", "participant__study"]
    search_fields = ["participant__label", "participant__study__title"]
    list_select_related = ["participant", "expected_best__iteration", "best__iteration"]
    exclude = ["token"]
