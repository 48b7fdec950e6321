from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.bench.admin.bench_admin import BenchAdmin
from webapp.comparisons.models import Comparison


@admin.register(Comparison)
class ComparisonAdmin(BenchAdmin):
    """Deletes plans; their experiments stay. Everything else about comparisons is on the bench."""

    list_display = ("name", "status", "created_at")
    fields = ("name", "status", "page", "created_at")
    readonly_fields = ("page",)

    def list_tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        may = request.user.has_perm("experiments.change_experiment")  # the right that the bench asks for
        return [("New comparison", reverse("comparisons:new"))] if may else []

    @admin.display(description="What it compares")
    def page(self, comparison: Comparison) -> SafeString:
        address = reverse("comparisons:comparison", args=[comparison.public_id])
        return format_html('<a href="{}">Its page on the bench</a>', address)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Comparison | None = None) -> bool:
        return False
