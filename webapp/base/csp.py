"""The content security policy: that of the settings, with the hashes of the studio's style sheets."""

from __future__ import annotations

from csp.constants import SELF
from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.base import stylesheets


class PolicyMiddleware(CSPMiddleware):
    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        parts.replace = {**(parts.replace or {}), "style-src": [SELF, *stylesheets.list_hashes()]}
        return parts
