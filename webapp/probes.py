"""Answers of this process to orchestrators and monitoring, ahead of everything else.

They need no session, no language, and no known host name: probes ask by whatever address a container has.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp import health, metrics

PROBES: dict[str, Callable[[HttpRequest], HttpResponseBase]] = {
    "/health/live": health.show_live,
    "/health/ready": health.show_ready,
    "/metrics": metrics.show_metrics,
}


class ProbeMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        probe = PROBES.get(request.path_info.rstrip("/"))
        if probe is None:
            return self.get_response(request)
        answer = probe(request)
        answer["Cache-Control"] = "no-store"
        return answer
