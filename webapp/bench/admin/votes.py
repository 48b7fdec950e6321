"""Lists votes. Their pages on the bench make, open and show them; no list here has answers or sides."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.bench.admin.bench_admin import FormPageAdmin, render_state
from webapp.votes.models import Poll


@admin.register(Poll)
class PollAdmin(FormPageAdmin):
    new_page = "votes:new"
    list_display = ["title", "state", "evaluators_wanted", "created_at", "page"]
    list_filter = ["status"]
    search_fields = ["title"]

    @admin.display(description="status", ordering="status")
    def state(self, poll: Poll) -> SafeString:
        return render_state("running" if poll.status == Poll.Status.OPEN else "paused", poll.status.capitalize())

    @admin.display(description="page")
    def page(self, poll: Poll) -> SafeString:
        return format_html('<a href="{}">Open</a>', poll.get_absolute_url())

    def has_delete_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        draft = obj is None or obj.status == Poll.Status.DRAFT
        return super().has_delete_permission(request, obj) and draft

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Poll]) -> None:
        queryset.filter(status=Poll.Status.DRAFT).delete()

    def find_form_page(self, obj: Poll) -> str:
        return reverse("votes:setup", args=[obj.public_id])
