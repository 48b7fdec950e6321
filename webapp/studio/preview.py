"""The preview for staff: every page of a study with sample content. It reads the study's rows and writes none."""

from __future__ import annotations

from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from csp.constants import NONE, SELF
from csp.decorators import csp_replace, csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import translation
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST, require_safe

from webapp.audit.request_scope import leave_unrecorded
from webapp.studies.models import Arm, Study
from webapp.studies.models.languages import Spoken
from webapp.studies.models.questionnaires import Questionnaire
from webapp.studies.questionnaires.drafts import build_item
from webapp.studies.texts.localizing import localize_study
from webapp.studio import preview_samples
from webapp.studio.pages import Page
from webapp.studio.words import describe_plan

WIDTHS = (("desktop", "Wide"), ("phone", "Phone"))


@require_safe
def redirect_to_first(request: HttpRequest, study_id: int) -> HttpResponse:
    return redirect("preview", study_id, next(iter(preview_samples.STATES)))


@require_safe
@never_cache
@csp_update({"frame-src": [SELF]})  # type: ignore[arg-type]
def show_preview(request: HttpRequest, study_id: int, name: str) -> HttpResponse:
    """The list of pages, and one of them in a frame."""
    study, plan, state = _find_study_and_arm(request, study_id, name)
    width = request.GET.get("width", "")
    language = find_language(request, study)
    query = urlencode({"language": language} | ({"arm": plan.pk} if plan.pk else {}))
    address = f"{reverse('preview_page', args=[study.pk, name])}?{query}"
    context = {
        "study": study,
        "arm": plan,
        "arms": study.arms.all(),
        "state": state,
        "groups": _group_states(study, plan),
        "language": language,
        "languages": list_languages(study),
        "widths": WIDTHS,
        "width": width if width in dict(WIDTHS) else WIDTHS[0][0],
        "address": address,
    }
    return render(request, "bench/preview.html", context)


@require_safe
@never_cache
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF], "form-action": [NONE]})  # type: ignore[arg-type]
def show_page(request: HttpRequest, study_id: int, name: str) -> HttpResponse:
    """One page as a participant sees it, in the language of the parameter; its forms send nothing."""
    study, plan, _ = _find_study_and_arm(request, study_id, name)
    if missing := preview_samples.find_missing_reason(name, study, plan):
        raise Http404(missing)
    language = find_language(request, study)
    with translation.override(language):
        localize_study(study, language)
        return render_sample(request, study, plan, preview_samples.make_page(name, study, plan))


def find_language(request: HttpRequest, owner: Spoken) -> str:
    wanted = request.GET.get("language", "")
    return wanted if wanted in owner.offered_languages else owner.language


def list_languages(owner: Spoken) -> list[tuple[str, str]]:
    return [(code, title) for code, title in settings.LANGUAGES if code in owner.offered_languages]


@require_POST
@never_cache
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF], "form-action": [NONE]})  # type: ignore[arg-type]
def show_item(request: HttpRequest, study_id: int, number: int) -> HttpResponse:
    """An item that an experimenter is writing, as a participant would see it. Nothing is saved or recorded."""
    leave_unrecorded("previewed")
    row = get_object_or_404(Questionnaire, pk=number, study=study_id)
    item = build_item(request.POST, row)
    row.intro = ""
    page = preview_samples.make_questionnaire_page(row.study, row, [item])
    return render_sample(request, row.study, row.study.arms.first() or Arm(study=row.study), page)


def render_sample(request: HttpRequest, study: Study, plan: Arm, shown: Page) -> HttpResponse:
    context = {
        "preview": True,
        "participant": preview_samples.make_participant(study),
        "study": study,
        "plan": plan,
        "words": describe_plan(plan),
        "connected": False,
        "page": shown,
        "round": 1,
        **shown.context,
    }
    return render(request, "studio/leave.html" if shown.name == "leave" else "studio/preview.html", context)


def _find_study_and_arm(request: HttpRequest, study_id: int, name: str) -> tuple[Study, Arm, preview_samples.State]:
    """The study, arm (an unsaved one if the study has none yet) and page that the address names."""
    study = get_object_or_404(Study, pk=study_id)
    states = preview_samples.list_states(study)
    if name not in states:
        raise Http404("there is no such page")
    wanted = request.GET.get("arm", "")
    arms = list(study.arms.all())
    arm = next((one for one in arms if str(one.pk) == wanted), arms[0] if arms else Arm(study=study))
    return study, arm, states[name]


def _group_states(study: Study, plan: Arm) -> list[tuple[str, list[tuple[str, preview_samples.State, str]]]]:
    rows: list[Any] = [
        (name, state, preview_samples.find_missing_reason(name, study, plan))
        for name, state in preview_samples.list_states(study).items()
    ]
    return [(group, list(states)) for group, states in groupby(rows, key=lambda row: row[1].group)]


urlpatterns = [
    path("bench/studies/<int:study_id>/preview/", redirect_to_first, name="preview_first"),
    path("bench/studies/<int:study_id>/preview/<slug:name>/", show_preview, name="preview"),
    path("bench/studies/<int:study_id>/preview/item/<int:number>/", show_item, name="preview_item"),
    path("bench/studies/<int:study_id>/preview/<slug:name>/page/", show_page, name="preview_page"),
]
