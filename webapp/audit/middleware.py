"""Every change that staff ask for and every file that they take is recorded, whether or not its view thinks of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch, reverse
from django.utils.decorators import sync_and_async_middleware

from webapp.audit import record
from webapp.audit.scope import Scope, current
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Experiment
from webapp.votes.models import Poll

SAFE = ("GET", "HEAD", "OPTIONS")
MODELS: dict[str, type[Experiment] | type[Poll] | type[Comparison]] = {
    **{"bench": Experiment, "board": Experiment, "votes": Poll, "comparisons": Comparison}
}
"""What `public_id` in an address of this namespace stands for."""
TAKEN = ("downloaded", "exported")
"""How a view of its own begins the action that tells of a file."""
Response = HttpResponseBase


@sync_and_async_middleware
def audit_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Response | Awaitable[Any]]:
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> Response:
            token = current.set(scope := Scope(request))
            response: Response = await get_response(request)
            current.reset(token)
            if wanted(request, response, scope.recorded):
                await sync_to_async(note)(request, response)
            return response

        return answer_async

    def answer(request: HttpRequest) -> Response:
        token = current.set(scope := Scope(request))
        response: Response = get_response(request)
        current.reset(token)
        if wanted(request, response, scope.recorded):
            note(request, response)
        return response

    return answer


def wanted(request: HttpRequest, response: Response, recorded: list[str]) -> bool:
    """Whether this is of staff's pages, and changed something, was refused, or handed out a file, and is not told."""
    admin = request.path_info.startswith(reverse("admin:index"))
    if not admin and not request.path_info.startswith(reverse("bench:index")):
        return False
    if "attachment" in response.headers.get("Content-Disposition", ""):
        return response.status_code == 200 and not any(action.startswith(TAKEN) for action in recorded)
    if request.method in SAFE or recorded:
        return False
    return not admin or response.status_code != 200  # the admin answers 200 to a form that it did not take


def note(request: HttpRequest, response: Response) -> None:
    match = request.resolver_match
    if match is None or not request.user.is_staff:
        return
    detail: dict[str, Any] = {"view": match.view_name}
    if response.status_code >= 400:
        detail["refused"] = response.status_code
    if request.method in SAFE:
        found = re.search(r'filename="([^"]*)"', response.headers["Content-Disposition"])
        record(request.user, "downloaded", target_of(match), file=found[1] if found else "", **detail)
        return
    chosen = request.POST.getlist("_selected_action")
    if chosen:
        detail["selected"] = chosen
    words = match.kwargs.get("action") or request.POST.get("action") or (match.url_name or "").replace("_", " ")
    record(request.user, words, target_of(match), **detail)


def target_of(match: ResolverMatch) -> Model | None:
    model = MODELS.get(match.namespace)
    if model is None or "public_id" not in match.kwargs:
        return None
    return model._base_manager.filter(public_id=match.kwargs["public_id"]).first()
