"""What all forms and lists of the admin share: fields as browsers have them, and words of state as on the bench."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import InlineAdminFormSet
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString


class MomentInput(forms.DateTimeInput):
    """Day and time in one field. A page that was opened before 2026-11-27 sends them in two."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        parts = [name] if name in data else [f"{name}_0", f"{name}_1"]
        return " ".join(data.get(part, "") for part in parts).strip()


FIELDS: dict[Any, dict[str, Any]] = {
    models.DateField: {"widget": forms.DateInput({"type": "date"}, "%Y-%m-%d")},
    models.DateTimeField: {
        "form_class": forms.DateTimeField,
        "widget": MomentInput({"type": "datetime-local"}, "%Y-%m-%dT%H:%M:%S"),
    },
}
"""Browsers have calendars and clocks of their own, in the language and the colours of the person."""
SCRIPTS = ("vendor/jquery/jquery.min.js", "jquery.init.js", "admin/RelatedObjectLookups.js", "actions.js")
"""Those of Django that these pages use: its calendar and what fills in one field from another are left out."""

STAYING = {"_continue", "_addanother", "_popup"}
"""Buttons and forms after which Django knows where to go."""


class NewestFilter(admin.RelatedFieldListFilter):
    """Offers the newest rows and the chosen ones; the list's search field finds what belongs to an older one."""

    MOST = 30

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        rows = field.remote_field.model.objects.order_by("-pk")
        newest = list(rows[: self.MOST + 1])
        self.cut = len(newest) > self.MOST
        if not self.cut:
            return super().field_choices(field, request, model_admin)
        wanted = [value for value in self.lookup_val or [] if value.isdecimal() and len(value) < 19]
        chosen = rows.filter(pk__in=wanted) if wanted else []
        offered = {row.pk: str(row) for row in [*newest[: self.MOST], *chosen]}
        return list(offered.items())


admin.FieldListFilter.register(lambda field: field.remote_field, NewestFilter, take_priority=True)


class InlineRows(InlineAdminFormSet):
    """Django's own rows within a form, whose button for another one has the row's name as in a sentence."""

    def inline_formset_data(self) -> str:
        data = json.loads(super().inline_formset_data())
        data["options"]["addText"] = f"Add another {self.opts.verbose_name}"
        return json.dumps(data)


class BenchAdmin(admin.ModelAdmin):
    formfield_overrides = FIELDS
    view_on_site = False
    above_form = ""
    """A template that is shown above the form of a saved row."""
    new_page = ""
    """The name of the bench's page for a new row, where there is one: the list's button leads there."""

    @property
    def media(self) -> forms.Media:
        return forms.Media(js=[f"admin/js/{name}" for name in SCRIPTS])

    def get_inline_formsets(self, *args: Any, **kwargs: Any) -> list[Any]:
        found: list[Any] = super().get_inline_formsets(*args, **kwargs)
        for rows in found:
            rows.__class__ = InlineRows  # Django names no class of one's own
        return found

    def list_tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Words and addresses of the buttons above the list, after that for a new row."""
        return []

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"tools": self.list_tools(request), **(extra_context or {})})


class FormPageAdmin(BenchAdmin):
    """Of rows whose form is a page of the bench. Here are their list, their history and their deletion."""

    def find_form_page(self, obj: Any) -> str:
        raise NotImplementedError

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return _redirect_with_query(request, reverse(self.new_page))

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        if (row := self.get_object(request, object_id)) is None:
            raise Http404("It does not exist any more.")
        return _redirect_with_query(request, self.find_form_page(row))


def _redirect_with_query(request: HttpRequest, address: str) -> HttpResponse:
    return HttpResponseRedirect(f"{address}?{query}" if (query := request.GET.urlencode()) else address)


class OwnPageAdmin(BenchAdmin):
    """Of rows that have a page on the bench: *Save* leads to it, where one came from."""

    added = ""
    """What is said of a new row behind its name."""

    def find_page(self, obj: Any) -> str:
        raise NotImplementedError

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        if not STAYING.isdisjoint(request.POST):
            return super().response_add(request, obj, post_url_continue)
        if self.added:
            self.message_user(request, f"{obj} {self.added}", messages.SUCCESS)
        return HttpResponseRedirect(self.find_page(obj))

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if not STAYING.isdisjoint(request.POST):
            return super().response_change(request, obj)
        self.message_user(request, f"{obj} is saved.", messages.SUCCESS)
        return HttpResponseRedirect(self.find_page(obj))


def render_state(kind: str, words: str) -> SafeString:
    """A word of state, coloured as on the bench."""
    return format_html('<span class="pill {}">{}</span>', kind, words)
