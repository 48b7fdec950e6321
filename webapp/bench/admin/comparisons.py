from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.decorators import action, display

from webapp.comparisons.models import Comparison


@admin.register(Comparison)
class ComparisonAdmin(ModelAdmin):
    """Deletes plans; their experiments stay. Everything else about comparisons is on the bench."""

    list_display = ("name", "status", "created_at")
    fields = ("name", "status", "page", "created_at")
    readonly_fields = ("page",)
    actions_list = ("new",)  # type: ignore[assignment]

    @action(description="New comparison", url_path="new", permissions=["compare"])  # type: ignore[operator]
    def new(self, request: HttpRequest) -> HttpResponse:
        return HttpResponseRedirect(reverse("comparisons:new"))

    @display(description="What it compares")
    def page(self, comparison: Comparison) -> SafeString:
        address = reverse("comparisons:comparison", args=[comparison.public_id])
        return format_html(
            '<a class="text-primary-600 dark:text-primary-500" href="{}">Its page on the bench</a>', address
        )

    def has_compare_permission(self, request: HttpRequest) -> bool:
        """The right that the bench asks for. Unfold would look up a permission's name before the database exists."""
        return request.user.has_perm("experiments.change_experiment")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Comparison | None = None) -> bool:
        return False
