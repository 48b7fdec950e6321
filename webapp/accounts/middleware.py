"""Checks second factor and rights before every view of staff."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import ResolverMatch, reverse
from django.utils.deprecation import MiddlewareMixin

from webapp.accounts import sessions, twofactor
from webapp.accounts.twofactor import MissingFactor
from webapp.base.http import SAFE_METHODS

LOGIN_VIEWS = {"admin:login", "admin:logout", "admin:jsi18n"}
"""Views that are open to everybody: to sign in and out."""
HIDDEN_VIEWS = {"archive:download", "bench:clip", "bench:poster", "bench:test_model"}
"""Views of the bench that do not exist for others than staff, where all other views lead to the sign-in."""
ACCOUNT_NAMESPACE = "account"
"""Each person's own account: open before the second factor is set up."""
NAMESPACE_RIGHTS = {"votes": "votes.change_poll", "problems": "problems.change_problem"}
DEFAULT_RIGHT = "experiments.change_experiment"
VIEW_RIGHTS = dict.fromkeys(
    ("bench:model_new", "bench:model_edit", "bench:test_model"), "experiments.change_languagemodel"
)
"""Rights to change something there; all staff may read the bench."""
SELF_CHECKED = {"archive"}
"""Namespaces whose views check rights themselves."""


class StaffMiddleware(MiddlewareMixin):
    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or not is_staff_path(request.path) or match.view_name in LOGIN_VIEWS:
            return None
        user = request.user
        if not isinstance(user, User) or not (user.is_active and user.is_staff):
            if match.namespace == "admin":
                return None  # it leads to the sign-in itself
            if match.view_name in HIDDEN_VIEWS:
                return HttpResponse(status=404)
            return _redirect_page(request, redirect_to_login(request.get_full_path(), reverse("admin:login")))
        missing = twofactor.find_missing(user, request.session)
        if missing == MissingFactor.CODE or sessions.is_idle(request.session):
            logout(request)
            return _redirect_page(request, redirect_to_login(request.get_full_path(), reverse("admin:login")))
        if request.method not in SAFE_METHODS or "HX-Request" not in request.headers:  # not a page that looks for news
            sessions.note_use(request.session)
        if match.namespace == ACCOUNT_NAMESPACE:
            return None
        if missing == MissingFactor.SETUP:
            return _redirect_page(request, redirect("account:account"))
        if not is_permitted(user, match, request):
            raise PermissionDenied("Your role does not include this.")
        return None

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Staff's pages stay in no cache, so that the next person at this browser does not find them."""
        if is_staff_path(request.path) and "Cache-Control" not in response:
            response["Cache-Control"] = "no-store, private"
        return response


def is_staff_path(path: str) -> bool:
    """Whether a request's whole path (`request.path`) is one of staff's, below any root that a server adds."""
    return path.startswith((reverse("admin:index"), reverse("bench:index")))


def _redirect_page(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The response; for an HTMX request, a reload of the whole page."""
    if getattr(request, "htmx", False) or "HX-Request" in request.headers:
        return HttpResponse(status=401, headers={"HX-Refresh": "true"})
    return response


def is_permitted(user: User, match: ResolverMatch, request: HttpRequest) -> bool:
    """In the admin: any right on the model. On the bench: the right to change."""
    if match.namespace == "admin":
        parts = request.path.removeprefix(reverse("admin:index")).split("/")
        if len(parts) < 3:  # the index, an app's list, one's own password
            return True
        app, model = parts[:2]
        kinds = (
            ("add", "change", "delete") if request.method not in SAFE_METHODS else ("add", "change", "delete", "view")
        )
        return any(user.has_perm(f"{app}.{kind}_{model}") for kind in kinds)
    if request.method in SAFE_METHODS or match.namespace in SELF_CHECKED:
        return True
    right = VIEW_RIGHTS.get(match.view_name) or NAMESPACE_RIGHTS.get(match.namespace) or DEFAULT_RIGHT
    return user.has_perm(right)
