"""Notices that were sent, when, and errors; without addresses and browsers."""

from __future__ import annotations

from django.contrib import admin

from webapp.bench.admin.loop_rows import ReadOnlyAdmin
from webapp.notices.models import Notice


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    list_display = ["participant", "kind", "channel", "due_at", "sent_at", "dropped", "attempts", "error"]
    list_filter = ["kind", "channel", "dropped", "participant__study"]
    list_select_related = ["participant"]
    search_fields = ["participant__label", "participant__study__title"]
