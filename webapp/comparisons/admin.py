from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from webapp.comparisons.models import Comparison


@admin.register(Comparison)
class ComparisonAdmin(ModelAdmin):
    """To delete one: the plan and its page go, the experiments stay. Everything else is on the bench."""

    list_display = ("name", "status", "created_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Comparison | None = None) -> bool:
        return False
