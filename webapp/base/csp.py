"""The content security policy: strict, with two exceptions in the admin that its theme needs."""

from __future__ import annotations

from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from webapp.base import stylesheets

ADMIN = {"script-src": [SELF, UNSAFE_EVAL], "style-src": [SELF, UNSAFE_INLINE]}
"""unfold uses Alpine, which evaluates attributes, and an inline style sheet for colours."""


class PolicyMiddleware(CSPMiddleware):
    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        inside = request.path.startswith(reverse("admin:index"))
        ours = ADMIN if inside else {"style-src": [SELF, *stylesheets.list_hashes()]}
        parts.replace = {**(parts.replace or {}), **ours}
        return parts
