"""Opening and closing a study from a page, and what the page then says."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib import messages
from django.http import HttpRequest

from webapp.audit import record
from webapp.base.http import get_site_address
from webapp.studies import opening, preflight
from webapp.studies.models import Study


def set_status(request: HttpRequest, study: Study, status: str, confirmed: Collection[str] = ()) -> bool:
    """Open the study, or say why it cannot be opened; or close it. Returns whether it was done.

    confirmed: the names of the cautions that were confirmed.
    """
    if status == Study.Status.OPEN:
        unconfirmed = preflight.find_unconfirmed(study, get_site_address(request), confirmed)
        asked = [f"Confirm this on its page first: {text}" for text in unconfirmed]
        found = opening.find_problems(study) or asked or opening.open_study(study)
    else:
        found = opening.close_study(study)
    for words in found:
        messages.error(request, f"{study} was not opened. {words}")
    if not found:
        action = "opened study" if status == Study.Status.OPEN else "closed study"
        record(request.user, action, study, **({"confirmed": list(confirmed)} if confirmed else {}))
        messages.success(request, _describe_status(study, status))
    return not found


def _describe_status(study: Study, status: str) -> str:
    if status == Study.Status.OPEN:
        return f"{study} is open: its links work."
    inside, waiting = opening.count_active(study), opening.count_stranded(study)
    go_on = {0: "nobody is inside", 1: "one person is inside and goes on"}
    text = f"{study} is closed: nobody new can begin; {go_on.get(inside, f'{inside} people are inside and go on')}."
    return (
        f"{text} Panels that still wait for people: {waiting}; start or cancel them on the bench." if waiting else text
    )
