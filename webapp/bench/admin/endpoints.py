from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from webapp.base.database import read_now
from webapp.bench.admin.bench_admin import BenchAdmin
from webapp.endpoints.models import Endpoint
from webapp.endpoints.shared_gate import measure_use


@admin.register(Endpoint)
class EndpointAdmin(BenchAdmin):
    """Limits of an address that all experiments share."""

    list_display = ("address", "requests_per_minute", "tokens_per_minute", "now")
    fields = ("address", ("requests_per_minute", "tokens_per_minute"), "now")

    def get_readonly_fields(self, request: HttpRequest, obj: Endpoint | None = None) -> tuple[str, ...]:
        return ("address", "now") if obj else ("now",)

    @admin.display(description="Now")
    def now(self, endpoint: Endpoint) -> str:
        if endpoint.pk is None:
            return "Nothing has been asked yet."
        moment = read_now()
        use = measure_use(endpoint, moment)
        text = f"{use.open} under way; {use.requests} requests and {use.tokens:,} tokens in the last minute"
        if endpoint.closed_until and moment < endpoint.closed_until:
            left = (endpoint.closed_until - moment).total_seconds()
            text += f"; it asked not to be asked for another {left:.0f} s"
        return text
