"""What a participant does before the rounds and after them: the practice trial, the check, the debriefing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_POST

from webapp.base.http import HtmxHttpRequest
from webapp.studies import comprehension, enrolment
from webapp.studies.models import Participant
from webapp.studio import check_page, practice
from webapp.studio.pages import Page, page_of
from webapp.studio.personal import personal

OUT_OF_DATE = "That page was out of date, so nothing was taken from it. This is where you are now."


def in_this_browser(page: Page, participant: Participant, session: Mapping[str, Any]) -> Page:
    """The page, with what only this browser knows: the practice choice, and the answers of the last try."""
    if page.name == "practice":
        said = practice.said_in(session, participant)
        if said is not None:
            context = practice.feedback_context(participant, page.context["k"], said, page.context["presentation"])
            context["action"] = page.context["action"]
            return Page("practised", context, str(sorted(said.items())))
    if page.name == "check":
        return Page("check", check_page.page_context(participant, session), page.key)
    return page


@require_POST
@personal
def practise(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Take the practice choice; or, by `then`, go on to the study or practise once more."""
    page, experiment = page_of(participant), participant.experiment
    if page.name != "practice" or experiment is None:
        return redirect(participant)
    then = request.POST.get("then", "")
    if then == "again":
        practice.remember(request.session, participant, None)
    elif then and practice.said_in(request.session, participant) is not None:
        practice.done(participant)
    elif not then:
        chosen = practice.choice_of(request.POST, [tile.letter for tile in page.context["tiles"]])
        if isinstance(chosen, str):
            messages.warning(request, chosen.replace("video", experiment.medium.one))
        else:
            practice.remember(request.session, participant, chosen)
    return redirect(participant)


@require_POST
@personal
def check(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Take one try. The page says which try it is, so that one sent twice counts once, and which
    questions were read, so that nobody answers others.
    """
    if page_of(participant).name != "check":
        return redirect(participant)
    questions = list(participant.study.questions.all())
    given = comprehension.read_answers(request.POST, participant, questions)
    if request.POST.get("attempt") != str(participant.attempts):
        messages.info(request, OUT_OF_DATE)
    elif request.POST.get("version") != comprehension.hash_questions(questions):
        messages.warning(request, "The questions were changed while you were reading. Please answer these.")
    elif len(given) < len(questions):
        messages.warning(request, "Please answer every question.")
    elif comprehension.record_attempt(participant, questions, given):
        comprehension.save_answers(request.session, participant, given)
    return redirect(participant)


@require_POST
@personal
def debriefed(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    if page_of(participant).name == "debriefing":
        enrolment.mark_debriefed(participant)
    return redirect(participant)


@require_POST
@personal
def stop(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Instead of waiting until a failure is mended."""
    if page_of(participant).name == "failed":
        enrolment.stop(participant)
    return redirect(participant)


urlpatterns = [
    path("s/<str:token>/practice/", practise, name="practice"),
    path("s/<str:token>/check/", check, name="check"),
    path("s/<str:token>/debriefed/", debriefed, name="debriefed"),
    path("s/<str:token>/stop/", stop, name="stop"),
]
