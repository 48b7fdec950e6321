"""What people were shown and picked, to read. A clip's tickets are left out: they are somebody's addresses."""

from __future__ import annotations

from django.contrib import admin

from webapp.experiments.admin import ReadOnlyAdmin
from webapp.review.models import Screening, Vote


@admin.register(Screening)
class ScreeningAdmin(ReadOnlyAdmin):
    list_display = ["request", "participant", "seed", "opened_at"]
    list_select_related = ["request", "participant"]
    exclude = ["token"]


@admin.register(Vote)
class VoteAdmin(ReadOnlyAdmin):
    list_display = ["request", "best", "worst", "cannot_tell", "reason", "created_at", "undone_at", "locked_at"]
    list_filter = ["cannot_tell"]
    list_select_related = ["request", "best__iteration", "worst__iteration"]
    search_fields = ["reason"]
