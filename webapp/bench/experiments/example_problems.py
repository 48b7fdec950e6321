"""Make the example problems by one click. Staff who may add problems only."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from webapp.base.http import HtmxHttpRequest
from webapp.problems import problem_sets

FOLDER = settings.BASE_DIR / "examples" / "problems"


@require_POST
def make_examples(request: HtmxHttpRequest) -> HttpResponse:
    if not request.user.has_perm("problems.add_problem"):
        raise PermissionDenied("Your role does not include this.")
    try:
        made = problem_sets.import_examples(FOLDER)
    except (problem_sets.BadSet, FileNotFoundError) as error:
        messages.error(request, f"No example was made: {error}")
        return redirect("bench:tasks")
    if made:
        messages.success(request, f"Made: {', '.join(problem.title for problem in made)}.")
    else:
        messages.info(request, "All example problems exist.")
    return redirect("admin:problems_problem_changelist")
