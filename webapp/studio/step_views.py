"""Views of the steps before and after the rounds: practice trial, comprehension check, debriefing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST

from webapp.base.http import HtmxHttpRequest
from webapp.studies import comprehension, enrolment
from webapp.studies.models import Participant
from webapp.studio import check_page, practice
from webapp.studio.pages import Page, find_page
from webapp.studio.personal_links import require_participant

OUT_OF_DATE = gettext_noop("That page was out of date, so nothing was taken from it. This is where you are now.")


def add_session_state(page: Page, participant: Participant, session: Mapping[str, Any]) -> Page:
    """The page with what the browser's session holds: the practice choice and the answers of the last attempt."""
    if page.name == "practice":
        choice = practice.read_choice(session, participant)
        if choice is not None:
            context = practice.make_feedback_context(
                participant, page.context["k"], choice, page.context["presentation"]
            )
            context["action"] = page.context["action"]
            return Page("practised", context, str(sorted(choice.items())))
    if page.name == "check":
        return Page(
            "check",
            check_page.make_page_context(participant, comprehension.list_questions(participant), session),
            page.key,
        )
    return page


@require_POST
@require_participant
def choose_in_practice(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Save the practice choice; with `then`, go on to the study or practise once more."""
    page, experiment = find_page(participant), participant.experiment
    if page.name != "practice" or experiment is None:
        return redirect(participant)
    then = request.POST.get("then", "")
    if then == "again":
        practice.save_choice(request.session, participant, None)
    elif then and practice.read_choice(request.session, participant) is not None:
        practice.mark_practised(participant)
    elif not then:
        chosen = practice.parse_choice(request.POST, [tile.letter for tile in page.context["tiles"]], experiment.medium)
        if isinstance(chosen, str):
            messages.warning(request, chosen)
        else:
            practice.save_choice(request.session, participant, chosen)
    return redirect(participant)


@require_POST
@require_participant
def answer_check(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Count one attempt. The form has the attempt's number, so that one sent twice counts once, and a hash of the
    questions, so that nobody answers questions that were changed.
    """
    if find_page(participant).name != "check":
        return redirect(participant)
    questions = comprehension.list_questions(participant)
    given = comprehension.read_answers(request.POST, participant, questions)
    if request.POST.get("attempt") != str(participant.attempts):
        messages.info(request, _(OUT_OF_DATE))
    elif request.POST.get("version") != comprehension.hash_questions(questions):
        messages.warning(request, _("The questions were changed while you were reading. Please answer these."))
    elif len(given) < len(questions):
        messages.warning(request, _("Please answer every question."))
    elif comprehension.record_attempt(participant, questions, given):
        comprehension.save_answers(request.session, participant, given)
    return redirect(participant)


@require_POST
@require_participant
def confirm_debriefing(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    if find_page(participant).name == "debriefing":
        enrolment.mark_debriefed(participant)
    return redirect(participant)


@require_POST
@require_participant
def stop_participation(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """End the person's part, so that they need not wait until a failure is mended."""
    if find_page(participant).name == "failed":
        enrolment.stop(participant)
    return redirect(participant)


urlpatterns = [
    path("s/<str:token>/practice/", choose_in_practice, name="practice"),
    path("s/<str:token>/check/", answer_check, name="check"),
    path("s/<str:token>/debriefed/", confirm_debriefing, name="debriefed"),
    path("s/<str:token>/stop/", stop_participation, name="stop"),
]
