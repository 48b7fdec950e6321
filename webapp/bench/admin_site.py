"""The site below /admin/: Django's, with our sign-in and links to all lists. `admin/` registers its forms with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from webapp.accounts.forms import LoginForm

LISTS = {
    "Set up": (
        ("Experiments", "experiments", "experiment"),
        ("Studies", "studies", "study"),
        ("Problems", "problems", "problem"),
        ("Votes", "votes", "poll"),
        ("Language models", "experiments", "languagemodel"),
        ("Endpoints", "endpoints", "endpoint"),
        ("Staff", "auth", "user"),
    ),
    "Look up": (
        ("Rounds", "experiments", "iteration"),
        ("Candidates", "experiments", "candidate"),
        ("Requests", "experiments", "request"),
        ("Jobs", "experiments", "job"),
        ("Runs", "experiments", "run"),
        ("Model calls", "experiments", "modelcall"),
        ("Events", "experiments", "event"),
        ("Clips", "experiments", "clip"),
        ("Comparison plans", "comparisons", "comparison"),
        ("Participants", "studies", "participant"),
        ("Screenings", "review", "screening"),
        ("Votes of participants", "review", "vote"),
        ("Judged trials", "review", "trial"),
        ("Notices", "notices", "notice"),
    ),
}
"""Lists by group: title, app, model."""


@dataclass(frozen=True)
class Link:
    title: str
    address: str
    here: bool
    """Whether this is the page, or one below it."""


def group_links(site: admin.AdminSite, request: HttpRequest) -> dict[str, list[Link]]:
    """The lists that this person may see, by group."""
    found = {
        group: [_make_link(request, *one) for one in lists if _may_see(site, request, *one[1:])]
        for group, lists in LISTS.items()
    }
    return {group: links for group, links in found.items() if links}


def _may_see(site: admin.AdminSite, request: HttpRequest, app: str, model: str) -> bool:
    known = site.is_registered(apps.get_model(app, model))
    return known and any(request.user.has_perm(f"{app}.{kind}_{model}") for kind in ("view", "change"))


def _make_link(request: HttpRequest, title: str, app: str, model: str) -> Link:
    address = reverse(f"admin:{app}_{model}_changelist")
    return Link(title, address, request.path.startswith(address))


class SetUpSite(admin.AdminSite):
    site_header = site_title = "Prefine"
    site_url = "/bench/"
    login_form = LoginForm

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), "groups": group_links(self, request)}
