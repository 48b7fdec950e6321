"""Changes votes. Their own pages make, open and show them; no list here has votes or sides."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.bench.admin.bench_admin import OwnPageAdmin, render_state
from webapp.bench.votes.forms import PairForm
from webapp.votes.models import Pair, Poll


class PairInline(admin.StackedInline):
    """Stacked, because in a row long names of winners leave no room for the second arm."""

    model = Pair
    form = PairForm
    fields = [*PairForm.Meta.fields]

    def get_extra(self, request: HttpRequest, obj: Poll | None = None, **kwargs: Any) -> int:
        return 0 if obj and obj.pairs.exists() else 1

    def _draft(self, poll: Poll | None) -> bool:
        return poll is None or poll.status == Poll.Status.DRAFT

    def has_add_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        return super().has_add_permission(request, obj) and self._draft(obj)

    def has_change_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        return super().has_change_permission(request, obj) and self._draft(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        return super().has_delete_permission(request, obj) and self._draft(obj)


@admin.register(Poll)
class PollAdmin(OwnPageAdmin):
    fieldsets = [
        (None, {"fields": ["title", "contact"]}),
        ("What evaluators do", {"fields": ["question", "instructions", ("allow_tie", "ask_strength"), "repeats"]}),
        (
            "Analysis plan",
            {
                "fields": ["evaluators_wanted", ("alpha", "correction"), "checks_to_pass", "hypothesis"],
                "description": "Fixed when the vote opens, and shown with the results. The test is the two-sided "
                "exact binomial test.",
            },
        ),
        ("Consent and thanks", {"fields": ["consent_text", "consent_version", "thanks_text"]}),
        ("Recruitment", {"fields": ["recruiting", ("completion_code", "completion_url")]}),
    ]
    inlines = [PairInline]
    list_display = ["title", "state", "evaluators_wanted", "created_at", "page"]
    list_filter = ["status"]
    search_fields = ["title"]
    above_form = "admin/vote_live.html"
    new_page = "votes:new"

    @admin.display(description="status", ordering="status")
    def state(self, poll: Poll) -> SafeString:
        return render_state("running" if poll.status == Poll.Status.OPEN else "paused", poll.status.capitalize())

    @admin.display(description="page")
    def page(self, poll: Poll) -> SafeString:
        return format_html('<a href="{}">Open</a>', poll.get_absolute_url())

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Where one film or answer at a time is rated, nothing that is about pairs."""
        if not isinstance(obj, Poll) or not obj.is_single:
            return super().get_fieldsets(request, obj)
        head, _, _, *rest = self.fieldsets
        graded = ["most_points"] if obj.form == Poll.Form.GRADES else []
        asked = {"fields": ["question", "instructions", *graded]}
        plan = {"fields": ["evaluators_wanted", "hypothesis"], "description": "Fixed when the vote opens."}
        return [head, ("What evaluators do", asked), ("Analysis plan", plan), *rest]

    def get_inlines(self, request: HttpRequest, obj: Poll | None) -> Any:
        return [] if obj and obj.is_single else self.inlines

    def get_readonly_fields(self, request: HttpRequest, obj: Poll | None = None) -> list[str]:
        """Fixed once the poll is open: everybody must be asked the same, under the same plan."""
        if obj is None or obj.status == Poll.Status.DRAFT:
            return []
        fixed = ["title", "question", "instructions", "allow_tie", "ask_strength", "evaluators_wanted", "alpha"]
        fixed += ["repeats", "checks_to_pass", "most_points"]
        return [*fixed, "correction", "hypothesis", "consent_text", "consent_version"]

    def has_delete_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        draft = obj is None or obj.status == Poll.Status.DRAFT
        return super().has_delete_permission(request, obj) and draft

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Poll]) -> None:
        queryset.filter(status=Poll.Status.DRAFT).delete()

    def find_page(self, obj: Poll) -> str:
        return obj.get_absolute_url()
