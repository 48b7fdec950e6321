"""The page of the audit log, and its download."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.dateparse import parse_date
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.audit import chain, record
from webapp.audit.models import Entry, Head, name_kinds
from webapp.base.csv_cells import format_table
from webapp.base.http import HtmxHttpRequest, strip_nul

COLUMNS = (
    *("number", "created_at", "actor", "action", "target_type", "target_id", "target_label", "detail"),
    *("previous", "hash"),
)


def _require_permission(request: HtmxHttpRequest) -> None:
    if not request.user.has_perm("audit.view_entry"):
        raise PermissionDenied("Your role does not include the audit log.")


def filter_entries(parameters: QueryDict) -> QuerySet[Entry]:
    """Filter by account, action, words and days (UTC)."""
    rows = Entry.objects.all()
    if actor := strip_nul(parameters.get("actor", "")):
        rows = rows.filter(actor=actor)
    if action := strip_nul(parameters.get("action", "")):
        rows = rows.filter(action=action)
    if words := strip_nul(parameters.get("q", "").strip()):
        kinds = [kind for kind, name in name_kinds().items() if words.lower() in f"{kind} {name}".lower()]
        rows = rows.filter(Q(target_label__icontains=words) | Q(target_type__in=kinds))
    if day := _parse_day(parameters.get("since", "")):
        rows = rows.filter(created_at__gte=day)
    if day := _parse_day(parameters.get("until", "")):
        rows = rows.filter(created_at__lt=day + timedelta(days=1))
    return rows


def _parse_day(text: str) -> datetime | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC) if day and day.year < 9999 else None


@never_cache
@require_safe
def index(request: HtmxHttpRequest) -> HttpResponse:
    _require_permission(request)
    chain.seal_entries()
    page = Paginator(filter_entries(request.GET), 50).get_page(request.GET.get("page"))
    parameters = request.GET.copy()
    parameters.pop("page", None)
    context = {
        "page": page,
        "rows": [(row, describe_detail(row.detail)) for row in page],
        "filters": request.GET,
        "query": parameters.urlencode(),
        "actors": Entry.objects.order_by("actor").values_list("actor", flat=True).distinct(),
        "actions": Entry.objects.order_by("action").values_list("action", flat=True).distinct(),
        "head": Head.objects.filter(pk=1).first(),
    }
    return render(request, "bench/audit/index.html", context)


def describe_detail(value: Any) -> str:
    """The detail of an entry as one reads it; the CSV has it as JSON."""
    if isinstance(value, dict):
        return "; ".join(f"{name.replace('_', ' ')}: {describe_detail(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(describe_detail, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in (None, "") else str(value)


@require_safe
def download(request: HtmxHttpRequest) -> HttpResponse:
    """The filtered rows, oldest first, with the hash chain, so that readers can verify it."""
    _require_permission(request)
    record(request.user, "downloaded", None, file="audit.csv", filters=dict(request.GET.items()))
    chain.seal_entries()
    text = to_csv(filter_entries(request.GET).order_by("number"))
    headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


def to_csv(rows: QuerySet[Entry]) -> str:
    lines: list[list[object]] = [[*COLUMNS]]
    for row in rows.iterator(500):
        values = [getattr(row, name) for name in COLUMNS]
        values[1], values[7] = row.created_at.isoformat(), json.dumps(row.detail, sort_keys=True)
        lines.append(values)
    return format_table(lines)
