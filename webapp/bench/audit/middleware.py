"""Records every change that staff make and every file that they download, unless the view has recorded it."""

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

from webapp.archive.models import Export
from webapp.audit import record
from webapp.audit.request_scope import Scope, current_scope
from webapp.base.http import SAFE_METHODS
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Clip, Experiment, LanguageModel
from webapp.studies.models import Study
from webapp.votes.models import Poll

PUBLIC: dict[str, type[Model]] = {**{"bench": Experiment, "votes": Poll, "comparisons": Comparison, "archive": Export}}
"""The model that `public_id` in an address of this namespace refers to."""
KEYS: dict[str, type[Model]] = {
    "bench:model_edit": LanguageModel,
    "bench:test_model": LanguageModel,
    "bench:refilm": Clip,
}
"""The model that the key in the address of this view refers to; in other views it is a study."""
DOWNLOAD_ACTIONS = ("downloaded", "exported")
"""How the actions begin with which a view itself records a download."""
Response = HttpResponseBase


@sync_and_async_middleware
def audit_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Response | Awaitable[Any]]:
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> Response:
            token = current_scope.set(scope := Scope(request))
            response: Response = await get_response(request)
            current_scope.reset(token)
            if must_record(request, response, scope.recorded):
                await sync_to_async(record_request)(request, response)
            return response

        return answer_async

    def answer(request: HttpRequest) -> Response:
        token = current_scope.set(scope := Scope(request))
        response: Response = get_response(request)
        current_scope.reset(token)
        if must_record(request, response, scope.recorded):
            record_request(request, response)
        return response

    return answer


def must_record(request: HttpRequest, response: Response, recorded: list[str]) -> bool:
    """Whether a request to staff's pages changed something, was refused or returned a file, and is not recorded yet."""
    admin = request.path.startswith(reverse("admin:index"))
    if not admin and not request.path.startswith(reverse("bench:index")):
        return False
    if "attachment" in response.headers.get("Content-Disposition", ""):
        return response.status_code == 200 and not any(action.startswith(DOWNLOAD_ACTIONS) for action in recorded)
    if request.method in SAFE_METHODS or recorded:
        return False
    return not admin or response.status_code != 200  # the admin answers 200 to a form with errors


def record_request(request: HttpRequest, response: Response) -> None:
    match = request.resolver_match
    if match is None or not request.user.is_staff:
        return
    detail: dict[str, Any] = {"view": match.view_name}
    if response.status_code >= 400:
        detail["refused"] = response.status_code
    if request.method in SAFE_METHODS:
        found = re.search(r'filename="([^"]*)"', response.headers["Content-Disposition"])
        record(request.user, "downloaded", find_target(match), file=found[1] if found else "", **detail)
        return
    chosen, admin = request.POST.getlist("_selected_action"), getattr(match.func, "model_admin", None)
    target = find_target(match)
    if chosen and admin is not None:
        detail |= {"selected": chosen, "of": admin.model._meta.label_lower}
        target = admin.get_object(request, chosen[0]) if len(chosen) == 1 else None
    words = match.kwargs.get("action") or request.POST.get("action") or (match.url_name or "").replace("_", " ")
    record(request.user, words, target, **detail)


def find_target(match: ResolverMatch) -> Model | None:
    """The row that the address names; for a clip its experiment, for an export its study."""
    if "public_id" in match.kwargs:
        model = PUBLIC.get(match.namespace)
        found = model._base_manager.filter(public_id=match.kwargs["public_id"]).first() if model else None
    else:
        key = match.kwargs.get("pk", match.kwargs.get("study_id"))
        found = KEYS.get(match.view_name, Study)._base_manager.filter(pk=key).first() if key is not None else None
    if isinstance(found, Clip):
        return found.candidate.iteration.experiment
    return found.study if isinstance(found, Export) else found
