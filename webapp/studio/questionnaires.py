"""Views of questionnaires: a participant's answers, and how an item looks while an experimenter writes it."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from webapp.base.http import HtmxHttpRequest
from webapp.studies.models import Participant
from webapp.studies.models.questionnaires import Response
from webapp.studies.questionnaires import answering
from webapp.studio.pages import find_page
from webapp.studio.personal_links import require_participant
from webapp.studio.questionnaire_page import make_page_context
from webapp.studio.views import render_page


@require_POST
@require_participant
def answer_questionnaire(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Store the answers, or show the page again with a message at each item that is missing.

    The form names its response, so that one sent twice counts once, and a hash of the questions, so that nobody answers
    questions that were changed.
    """
    page = find_page(participant)
    if page.name != "questionnaire" or request.POST.get("response") != str(page.context["response"]):
        return redirect(participant)
    if request.POST.get("version") != page.context["version"]:
        messages.warning(request, gettext("The questions were changed while you were reading. Please answer these."))
        return redirect(participant)
    response = Response.objects.select_related("questionnaire", "participant__study").get(pk=page.context["response"])
    items = answering.list_items(response.questionnaire)
    reading = answering.read_form(items, request.POST, answering.find_earlier_values(participant, items))
    if reading.complete:
        answering.send(response, reading.values, page.context["version"])
        return redirect(participant)
    context = make_page_context(participant, response, request.POST, reading)
    return render_page(request, participant, replace(page, context=context))


urlpatterns = [
    path("s/<str:token>/answers/", answer_questionnaire, name="questionnaire"),
]
